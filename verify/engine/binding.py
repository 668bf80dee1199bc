"""Binds each prediction to a theorem, by evaluating the theorem on the draws of the measured statistic.

A check is bound where a theorem of its claim has the check's relation and predicted value, its hypotheses
hold for the sampled law, and its left side, evaluated on the sampler's own blocks, equals the check's
estimand of the same blocks. A claim is refused where a prediction is called derived and every theorem that
gives its value is about another quantity than the measured one. All other predictions are thresholds: only
their author's word connects them to what is measured.

What a theorem without means says of all entries of a family holds of its mean over the rows that are drawn.

The names of a theorem's variables do not matter. Each assignment of sampled vectors to its random names is
tried, and the draws decide which of them is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
from scipy import optimize
from sympy import (
    Indexed,
    IndexedBase,
    Integral,
    Interval,
    Limit,
    MatrixSymbol,
    Ne,
    S,
    Symbol,
    sympify,
)  # fmt: skip
from sympy.polys.polyerrors import PolynomialError

from verify.engine.on_draws import Draws, OtherLawError, UnknownError, evaluated, in_floats, numbers
from verify.errors import ClaimError
from verify.montecarlo.blocks import Outputs
from verify.montecarlo.distributions import KEYS, NORMAL, Array, Distribution, Traced, VectorSource
from verify.montecarlo.estimands import Bounded, Smooth
from verify.montecarlo.experiment import Comparison, Fit, Quantity
from verify.montecarlo.inputs import Input
from verify.montecarlo.statistics import Reduced
from verify.symbolic.arithmetics import Undefined, Unknown
from verify.symbolic.kernel.core import FLIPPED, Theorem
from verify.symbolic.kernel.hypotheses import Population, Refused, Vectors, assumed, free_symbols
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.words import E, Var, n
from verify.symbolic.scores import NORMAL_MOMENTS

_SEEDS, _BLOCKS, _FEW = (7, 8), 3, 6
"""Seeds and number of the blocks, and the number of queries or keys where the theorem does not count them.

On one seed's draws an author's number could make two quantities equal; what is bound agrees on both seeds'.
"""
_RTOL = 2e-5  # relative tolerance of a comparison: the draws are in single precision
_MAGNITUDES = 10.0 ** np.linspace(-6, 6, 240)
_GRID = np.concatenate([-_MAGNITUDES[::-1], [0.0], _MAGNITUDES])  # the grid on which roots are bracketed
_COUNTS = {"m", "n", "side", "rows"}
"""Names of the fields of samplers and inputs that count vectors in a block."""

_NOT_EVALUATED = (
    UnknownError,
    Unknown,
    Undefined,
    Refused,
    ArithmeticError,
    LookupError,
    PolynomialError,
    TypeError,
    ValueError,
)
"""Raised where a theorem cannot be evaluated on draws."""

Assignment = dict[Any, tuple["VectorSource", int]]


class Match(IntEnum):
    """How a theorem matches a check; of several theorems the greatest counts."""

    NONE = 0
    """Another value, or a law that the draws do not have."""
    OTHER = 1
    """The predicted value, of another quantity than the measured one."""
    UNDECIDED = 2
    """Possibly the predicted value, but it cannot be evaluated on the draws."""
    BOUND = 3
    """The predicted value of the measured quantity."""


def bound(claim: str, theorems: Iterable[Theorem], checks: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the ids of a claim's checks that are bound to one of its theorems.

    A fit is bound where all its quantities are, and their predictions have its coefficient.

    Raises:
        ClaimError: a prediction is called derived, but its theorems are about another quantity.
    """
    laws = _Laws()
    known = tuple(_Expanded(one, laws) for one in theorems)
    found: dict[str, Match] = {}
    drawn: dict[Any, _Blocks] = {}
    told: dict[str, str] = {}

    def is_bound(check: Quantity) -> bool:
        if check.id not in found:
            # What has no value on the draws is NaN, which is close to nothing.
            with np.errstate(all="ignore"):
                found[check.id] = _best(_match(one, check, drawn, told) for one in known)
        if found[check.id] is Match.OTHER and check.prediction.origin == "derived":
            raise ClaimError(
                f"claim {claim}, check {check.id}: its prediction {check.prediction.value:.6g} is derived, "
                f"but of another quantity{told.get(check.id, '')}; measure what is derived, derive what is "
                "measured, or call the prediction a threshold"
            )
        return found[check.id] is Match.BOUND

    return tuple(
        check.id
        for check in checks
        if (isinstance(check, Quantity) and is_bound(check))
        or (isinstance(check, Fit) and all(map(is_bound, check.members)) and _is_coefficient(check))
    )


def _is_coefficient(fit: Fit) -> bool:
    """Return whether a fit predicts what its members' predictions have, against a setting of theirs."""
    settings = [dict(one.cell.settings) for one in fit.members]
    against = (tuple(one.get(name) for one in settings) for name in settings[0])
    y = np.array([one.prediction.value for one in fit.members])
    if fit.fit.model == "power":
        y = np.log(np.where(y > 0, y, np.nan))
    if not np.isfinite(y).all():
        return False
    row = 0 * y if fit.target == "misfit" else fit.fit.influence(fit.target)
    error, size = abs(row @ y - fit.prediction.value), np.abs(row) @ np.abs(y)
    return fit.fit.x in against and bool(error <= _RTOL * max(size, abs(fit.prediction.value)))


def _best(each: Iterable[Match]) -> Match:
    """Return the greatest match; stop at one that is bound."""
    most = Match.NONE
    for one in each:
        most = max(most, one)
        if most is Match.BOUND:
            break
    return most


@dataclass(frozen=True)
class _Laws:
    """Numbers the laws of sources, since comparing laws is slow."""

    _numbers: dict[Any, int] = field(default_factory=dict)
    _of: dict[int, tuple[VectorSource, int]] = field(default_factory=dict)

    def number(self, source: VectorSource) -> int:
        """Return the number of a source's law, place and vector length."""
        if id(source) not in self._of:
            parts = _raw(source.factor), _raw(source.mean), source.place, source.vectors.shape[2]
            number = self._numbers.setdefault((source.law, *parts), len(self._numbers))
            self._of[id(source)] = source, number  # kept alive, so that its id is not reused
        return self._of[id(source)][1]


def _raw(array: Array | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.tobytes())


@dataclass(frozen=True, eq=False)
class _Expanded:
    """A theorem with its definitions expanded, and what every check needs of it, computed once."""

    theorem: Theorem
    laws: _Laws
    likely: set[int] = field(default_factory=set)
    """Which assignments were bound before, on another seed's draws or for another check: tried first."""
    _known: dict[Any, Any] = field(default_factory=dict)

    def at(self, assigned: Assignment, settings: Mapping[str, Any]) -> _End:
        """Return the right side at the values given by settings and sampled laws, cached by these.

        Raises:
            OtherLawError: the sampled law is not that of the hypotheses.
            UnknownError: a moment of the sampled law is not known.
        """
        each = [id(source) for source, _ in assigned.values()]
        laws = ((name, self.laws.number(source), other) for name, (source, other) in assigned.items())
        names = sorted(one.name for one in self.symbols if one.name in settings)
        named = ((name, _raw(np.asarray(settings[name]))) for name in names)
        key = *named, *laws, *map(each.index, each)
        if key not in self._known:
            try:
                self._known[key] = _end_at(self, assigned, settings)
            except (OtherLawError, *_NOT_EVALUATED) as error:
                self._known[key] = error
        if isinstance(self._known[key], Exception):
            raise self._known[key]
        found: _End = self._known[key]
        return found

    @cached_property
    def start(self) -> Any:
        """The left side, or its mean where it is about all entries: free indices are at their first value."""
        found = _expanded(self.theorem.lhs, self.theorem)
        return (
            E(found.xreplace(dict.fromkeys(self.theorem.hypotheses.ranges, S.One)))
            if self.is_pointwise
            else found
        )

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether it has no means, and is about all entries of a family."""
        start = _expanded(self.theorem.lhs, self.theorem)
        return not (start.has(E, Var) or self.theorem.hypotheses.law) and start.has(Indexed)

    @cached_property
    def end(self) -> Any:
        """The right side."""
        return _expanded(self.theorem.rhs, self.theorem)

    @cached_property
    def symbols(self) -> set[Any]:
        """Symbols of numbers and matrices."""
        free = self.start.free_symbols | self.end.free_symbols
        return {one for one in free if isinstance(one, Symbol | MatrixSymbol)}

    @cached_property
    def is_open(self) -> bool:
        """Whether it cannot be evaluated on draws at all."""
        of_families = {kind for kind, *_ in self.theorem.hypotheses.entries}
        known = {"runs", "bounded"} if self.is_pointwise else {"runs", "constant"}
        hopeless = self.end.has(Integral, Limit) or bool(of_families - known)
        return hopeless or not self.start.has(E, Var)

    @cached_property
    def counts(self) -> str:
        """The sampler's name of the number of vectors that the theorem depends on, or ""."""
        counted = any(len(one.indices) > 1 for one in self.start.atoms(Indexed))
        return "n" if self.start.has(n) or self.end.has(n) else "m" if counted else ""


@dataclass(frozen=True, eq=False)
class _Blocks:
    """A few blocks of a sampler."""

    sampler: Any
    seed: int

    @cached_property
    def output(self) -> Outputs:
        """The mean of the statistic over them."""
        mean = self.sampler.sample(np.random.default_rng(self.seed), _BLOCKS).mean(axis=0)
        return Outputs(zip(self.sampler.names, mean, strict=True))

    @cached_property
    def readings(self) -> tuple[tuple[VectorSource, ...], ...]:
        """The sources that they are made of."""
        found: tuple[tuple[VectorSource, ...], ...] = self.sampler.readings(
            np.random.default_rng(self.seed), _BLOCKS
        )
        return found


def _match(expanded: _Expanded, check: Quantity, drawn: dict[Any, _Blocks], told: dict[str, str]) -> Match:
    """Return how a theorem matches a check; ``drawn`` caches blocks by sampler.

    Of another quantity, ``told`` gets both values on the same draws, in words, by the check's id.
    """
    relation = {"<": "≤", ">": "≥"}.get(expanded.theorem.relation, expanded.theorem.relation)
    sign = 1 if relation in {check.relation, "="} else -1 if FLIPPED.get(relation) == check.relation else 0
    if not sign:
        return Match.NONE
    sampler: Any = check.cell.sampler
    estimand: Any = check.estimand
    if not (_is_traced(sampler) and type(estimand) in {Smooth, Bounded}) or expanded.is_open:
        return Match.UNDECIDED
    found = Match.BOUND
    for seed in _SEEDS:
        key = id(sampler), expanded.counts, seed
        if key not in drawn:
            drawn[key] = _Blocks(_smaller(sampler, expanded.counts), seed)
        try:
            measured = estimand.value(drawn[key].output)
        except (ArithmeticError, LookupError, ValueError):
            return Match.UNDECIDED
        pairing = _Pairing(expanded, sign, relation == check.relation, check.prediction.value, measured)
        found = _of_all(pairing, check, drawn[key].readings)
        if found is Match.OTHER:
            start = float(np.mean(pairing.starts[-1]))
            values = f"the check measures {measured:.6g}, the derivation {start:.6g}"
            told[check.id] = f": on the same draws {values}"
        if found is not Match.BOUND:
            break
    return found


def _of_all(pairing: _Pairing, check: Quantity, readings: tuple[tuple[VectorSource, ...], ...]) -> Match:
    """Return the greatest match of all assignments."""
    every = [(reading, assigned) for reading in readings for assigned in _assignments(pairing, reading)]
    found, likely = Match.NONE, pairing.expanded.likely
    for place in sorted(range(len(every)), key=lambda one: one not in likely):
        reading, assigned = every[place]
        found = max(found, _match_on_draws(pairing, assigned, _settings(check, reading), len(reading)))
        if found is Match.BOUND:
            likely.add(place)
            break
    return found


def _is_traced(sampler: Any) -> bool:
    known = isinstance(sampler, Traced)
    return known and not (isinstance(sampler, Reduced) and type(sampler.input).sources is Input.sources)


@dataclass(frozen=True)
class _Pairing:
    """A theorem beside a check's predicted and measured values.

    With a ``sign`` of -1 the check's are a constant minus the theorem's, as of a complement.
    """

    expanded: _Expanded
    sign: int
    is_same_relation: bool
    predicted: float
    measured: float
    starts: list[Any] = field(default_factory=list)
    """Values of the left side on the draws."""


def _match_on_draws(
    pairing: _Pairing, assigned: Assignment, settings: Mapping[str, Any], sources: int
) -> Match:
    """Return whether the right side is the prediction, and the left side the measured value.

    ``OTHER`` is returned only of a theorem that has the check's relation, involves every sampled source, and
    has no symbol whose value was solved for from the prediction.
    """
    told, whole = Match.NONE, len({id(source) for source, _ in assigned.values()}) == sources
    try:
        expanded = pairing.expanded
        for values, ends, is_chosen in _predicting(pairing, expanded.at(assigned, settings)):
            if expanded.is_pointwise and not _entries_may_be(expanded.theorem, assigned, values):
                continue
            constant = pairing.predicted - ends if pairing.sign == -1 else 0.0
            draws, told = Draws(assigned, values), Match.UNDECIDED
            for start in draws.both(expanded.start):
                pairing.starts.append(start)
                if _close(constant + pairing.sign * start, pairing.measured):
                    return Match.BOUND
            is_other = pairing.is_same_relation and pairing.sign == 1 and whole and not is_chosen
            if is_other and not expanded.is_pointwise:
                told = Match.OTHER
    except OtherLawError:
        return told
    except _NOT_EVALUATED:
        return max(told, Match.UNDECIDED)
    return told


def _predicting(pairing: _Pairing, at: _End) -> Iterator[tuple[dict[Any, Any], float, bool]]:
    """Yield the values at which a theorem gives the prediction, its right side, and if one was solved.

    A single symbol without a value takes each value that makes the right side the prediction.
    """
    every: list[tuple[dict[Any, Any], bool]] = [(at.values, False)]
    if len(at.left) == 1 and pairing.sign != -1:
        (one,) = at.left
        domain = pairing.expanded.theorem.hypotheses.domain(one)
        roots = (
            root
            for root in _solutions(at.end, pairing.predicted, one, at.values)
            if _may_contain(domain, root)
        )
        every = [(at.values | {one: root}, True) for root in roots]
    for values, is_chosen in every:
        ends = pairing.sign * (evaluated(at.end, values) if is_chosen else at.number)
        if (pairing.sign == -1 or _close(ends, pairing.predicted)) and _holds_at(
            pairing.expanded.theorem, values
        ):
            yield values, ends, is_chosen


def _close(one: Any, other: Any) -> bool:
    return bool(
        np.all(np.abs(one - other) <= _RTOL * np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-6))
    )


def _expanded(side: Any, theorem: Theorem) -> Any:
    """Return a side with the definitions of its names expanded."""
    definitions = theorem.hypotheses.definitions
    for _ in definitions:
        for name, meaning in definitions:
            if isinstance(name, IndexedBase):
                indices, entry = meaning
                parts = (one for one in side.atoms(Indexed) if one.base == name)
                side = side.xreplace(
                    {one: entry.xreplace(dict(zip(indices, one.indices, strict=True))) for one in parts}
                )
            else:
                side = side.xreplace({name: meaning})
    return side


def _smaller(sampler: Any, kept: str) -> Any:
    """Return the sampler with few queries and keys, except those whose number the theorem depends on."""
    drawn: Any = sampler.input if isinstance(sampler, Reduced) else sampler
    names = {one.name for one in fields(drawn)} & _COUNTS - {kept}
    few = replace(drawn, **{name: min(_FEW, getattr(drawn, name)) for name in names})
    return replace(sampler, input=few) if isinstance(sampler, Reduced) else few


def _settings(check: Quantity, reading: tuple[VectorSource, ...]) -> dict[str, Any]:
    """Return values of symbols by name: settings of the cell and the statistic, number of keys."""
    sampler: Any = check.cell.sampler
    if isinstance(sampler, Reduced):
        own = sampler.statistic.symbols(sampler.input.shape)
    else:
        own = getattr(sampler, "symbols", {})
    pairing = {name: one for name, one in check.cell.settings if isinstance(one, int | float)}
    many = [one.vectors.shape[1] for one in reading if one.place == KEYS]
    return pairing | ({n.name: many[0]} if many else {}) | own


def _assignments(pairing: _Pairing, reading: tuple[VectorSource, ...]) -> Iterator[Assignment]:
    """Yield the assignments of sources, or second copies of them if they are few, to the random names."""
    law, start = pairing.expanded.theorem.hypotheses.law, pairing.expanded.start
    known = law.moments if law else sorted(start.atoms(IndexedBase), key=str)
    names = [one for one in known if start.has(one)]
    for whole in (False, True) if isinstance(law, Vectors) else (False,):
        pool = [one for one in reading if (one.factor is not None) == whole]
        places = [(place, 0) for place in range(len(pool))]
        if len(names) > len(pool):
            places += [(place, 1) for place in range(len(pool))]
        for chosen in permutations(places, len(names)):
            if all((place, 0) in chosen[:at] for at, (place, other) in enumerate(chosen) if other):
                yield {name: (pool[place], other) for name, (place, other) in zip(names, chosen, strict=True)}


@dataclass(frozen=True)
class _End:
    """A theorem's right side and the ``values`` of its symbols, as far as settings and laws give them."""

    end: Any
    values: dict[Any, Any]

    @cached_property
    def left(self) -> set[Any]:
        """Symbols without a value."""
        return {one for one in free_symbols(self.end) if isinstance(one, Symbol)} - self.values.keys()

    @cached_property
    def number(self) -> float:
        """The value of the right side."""
        return evaluated(self.end, self.values)


def _end_at(expanded: _Expanded, assigned: Assignment, settings: Mapping[str, Any]) -> _End:
    """Return a theorem's right side at the values given by settings and sampled laws.

    Raises:
        OtherLawError: the sampled law is not that of the hypotheses.
        UnknownError: a moment of the sampled law is not known.
    """
    values = {one: settings[one.name] for one in expanded.symbols - assigned.keys() if one.name in settings}
    law, end = expanded.theorem.hypotheses.law, expanded.end
    if isinstance(law, Vectors):
        _match_vectors(law, assigned, values)
    elif law:
        for component, moments in law.laws:
            if component in assigned:
                _match_component(component in law.normal, moments, assigned[component][0].law, values)
        if end.has(E, Var):
            drawn = {one: _moments(source.law) for one, (source, _) in assigned.items()}
            end = evaluate(end, Population(drawn, law.dimension))
    return _End(end, values)


def _solutions(expression: Any, value: float, symbol: Any, known: Mapping[Any, Any]) -> tuple[float, ...]:
    """Return the roots of expression = value in a symbol, rounded if the symbol is an integer."""
    others = {one: known[one] for one in free_symbols(expression) if one in known}
    if any(map(np.ndim, others.values())):
        return _roots(in_floats(expression, symbol, others), value, symbol)
    return _roots_among_numbers(expression, value, symbol, tuple(others.items()))


@lru_cache(maxsize=256)
def _roots_among_numbers(
    expression: Any, value: float, symbol: Any, others: tuple[tuple[Any, float], ...]
) -> tuple[float, ...]:
    return _roots(in_floats(expression, symbol, dict(others)), value, symbol)


def _roots(function: Callable[[Any], Any], value: float, symbol: Any) -> tuple[float, ...]:
    gaps = np.broadcast_to(function(_GRID) - value, _GRID.shape)
    found = [float(one) for one in _GRID[gaps == 0]]
    for place in np.flatnonzero(gaps[:-1] * gaps[1:] < 0):
        low, high = _GRID[place : place + 2]
        found.append(optimize.brentq(lambda x: function(np.float64(x)).item() - value, low, high, xtol=1e-13))
    return tuple(map(round, found)) if symbol.is_integer else tuple(found)


def _holds_at(theorem: Theorem, values: Mapping[Any, Any]) -> bool:
    """Return whether all values lie in their domains and all conditions hold; x ≠ 0 holds unless refuted."""
    under, known = theorem.hypotheses, numbers(values)
    inside = all(_may_contain(under.domain(one), value) for one, value in known.items())
    exact = {one: sympify(value) for one, value in known.items()}
    kept = ((condition, condition.xreplace(exact)) for condition in under.conditions)
    return inside and all(
        now is not S.false if isinstance(condition, Ne) else now is S.true for condition, now in kept
    )


def _entries_may_be(theorem: Theorem, assigned: Assignment, values: Mapping[Any, Any]) -> bool:
    """Return whether laws allow only such entries of a theorem's families as it is about."""
    bounds = {base: end for kind, base, end in theorem.hypotheses.entries if kind == "bounded"}
    for base, (source, _) in assigned.items():
        ends = source.law.ends
        most = evaluated(bounds[base], values) * (1 + _RTOL) if base in bounds else np.inf
        domain = Interval(*(sympify(end) for end in ends))
        if max(map(abs, ends)) > most or not domain.is_subset(assumed(base.label)):
            return False
    return True


@lru_cache(maxsize=1024)
def _may_contain(domain: Any, value: float) -> bool:
    return domain.contains(sympify(value)) is not S.false


def _match_component(normal: bool, assumed: Any, drawn: Distribution, values: dict[Any, Any]) -> None:
    """Add the values of the symbols in a component's law, which must be the sampled one.

    Raises:
        OtherLawError: it is not.
        UnknownError: a moment of the sampled law is not known.
    """
    if normal and not _is_normal(drawn):
        raise OtherLawError("not normal")
    exact = _moments(drawn)
    if len(assumed or ()) > len(exact):
        raise UnknownError(f"of order {len(exact)} no moment is known")
    for moment, true in zip(assumed or (), exact, strict=False):
        _solve_for(moment, float(true), values)


@lru_cache(maxsize=64)
def _moments(drawn: Distribution) -> tuple[Fraction, ...]:
    """Return the exact moments of a law, as many as are known."""
    if _is_normal(drawn):
        drawn = replace(drawn, base_moments=tuple(Fraction(int(one)) for one in NORMAL_MOMENTS))
    return drawn.moments(len(drawn.base_moments) - 1)


def _is_normal(drawn: Distribution) -> bool:
    return replace(drawn, loc=NORMAL.loc, scale=NORMAL.scale) == NORMAL


def _solve_for(assumed: Any, true: float, values: dict[Any, Any]) -> None:
    """Solve an assumed moment for its one unknown symbol, or compare it with the true one.

    Raises:
        OtherLawError: they differ.
    """
    left = free_symbols(assumed) - values.keys()
    if assumed in left:
        values[assumed] = true
    elif len(left) == 1:
        (one,) = left
        found = _solutions(assumed, true, one, values)
        values[one] = next(root for root in found if one.is_nonnegative is None or root >= 0)
    elif left or not _close(evaluated(assumed, values), true):
        raise OtherLawError(f"{assumed} is {true}")


def _match_vectors(law: Vectors, assigned: Assignment, values: dict[Any, Any]) -> None:
    """Add the values of means and covariances of vectors, which must be the sampled ones.

    Raises:
        OtherLawError: they are not.
    """
    if law.normal and not all(_is_normal(source.law) for source, _ in assigned.values()):
        raise OtherLawError("not normal")
    for name, mean in law.means:
        if name in assigned:
            _match_array(mean, _mean(assigned[name][0])[:, None], values)
    listed = {(one, other): matrix for one, other, matrix in law.covariances}
    for one, other in combinations_with_replacement(assigned, 2):
        if (one, other) in listed:
            _match_array(listed[one, other], _covariance(assigned[one], assigned[other]), values)
        elif (other, one) in listed:
            _match_array(listed[other, one], _covariance(assigned[other], assigned[one]), values)
        elif _covariance(assigned[one], assigned[other], least=True).any():
            raise OtherLawError(f"{one} and {other} depend on each other")


def _match_array(assumed: Any, true: Array, values: dict[Any, Any]) -> None:
    """Compare an assumed mean or covariance with the true one; a number is a multiple of the unit matrix."""
    if isinstance(assumed, MatrixSymbol):
        if not _close(values.setdefault(assumed, true), true):
            raise OtherLawError(f"{assumed} is {true}")
    elif assumed == 0:
        _solve_for(assumed, float(np.abs(true).max()), values)
    elif _close(true, true[0, 0] * np.eye(len(true))):
        _solve_for(assumed, float(true[0, 0]), values)
    else:
        raise OtherLawError(f"{assumed} is {true}")


def _mean(source: VectorSource) -> Array:
    size = source.vectors.shape[2]
    return np.full(size, float(_moments(source.law)[1])) if source.mean is None else source.mean


@lru_cache(maxsize=64)
def _variance(law: Distribution) -> float:
    return float(law.variance)


def _covariance(
    one: tuple[VectorSource, int], other: tuple[VectorSource, int], *, least: bool = False
) -> Array:
    """Return the covariances of two vectors' components; with ``least``, nonzero wherever they depend."""
    (first, copy), (second, another) = one, other
    if first.factor is None or second.factor is None:
        same = first is second and copy == another
        return _variance(first.law) * np.eye(first.vectors.shape[2]) * same
    if (first.place, copy) != (second.place, another):
        return np.zeros((len(first.factor), len(second.factor)))
    factors = [np.abs(factor) if least else factor for factor in (first.factor, second.factor)]
    return factors[0] @ factors[1].T
