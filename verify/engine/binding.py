"""Binds what is derived to what is measured, on the draws that the statistic reduces.

A prediction is called derived only where some theorem of the claim says it, under a law that what is drawn
has, and where that theorem's start is, on the statistic's own draws, what the estimand makes of the
statistic's own output. A claim is refused where theorems say the prediction, but all of them of something
else than what is measured. Other predictions were computed, however rightly: nothing holds them to what is
measured but their author's word.

What a theorem calls its variables does not matter: whatever independent draws of its laws they stand for, it
says of them what it says. So every such choice is tried, and the draws tell which of them is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize
from sympy import (
    Indexed,
    IndexedBase,
    Integral,
    Limit,
    MatrixSymbol,
    Ne,
    S,
    Symbol,
    sympify,
)  # fmt: skip

from verify.engine.on_draws import Draws, OtherLawError, UnknownError, evaluated, in_floats, numbers
from verify.errors import ClaimError
from verify.montecarlo.blocks import Outputs
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Bounded, Smooth
from verify.montecarlo.experiment import Fit, Quantity
from verify.montecarlo.inputs import Input
from verify.montecarlo.sources import KEYS, Traced
from verify.montecarlo.statistics import Reduced
from verify.symbolic.arithmetics import Undefined, Unknown
from verify.symbolic.kernel.core import FLIPPED, Population, Refused, Vectors, free_symbols
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.words import E, Var, n
from verify.symbolic.scores import NORMAL_MOMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from verify.montecarlo.distributions import Array, Distribution
    from verify.montecarlo.experiment import Comparison
    from verify.montecarlo.sources import Source
    from verify.symbolic.kernel.core import Theorem

_SEED, _BLOCKS, _FEW = 7, 3, 6
"""Of the draws, how many blocks there are, and how many queries or keys where any number will do."""
_CLOSE = 2e-5
"""How far both may lie apart, relative: the draws are in single precision."""
_REACH = 10.0 ** np.linspace(-6, 6, 240)
_GRID = np.concatenate([-_REACH[::-1], [0.0], _REACH])
"""Between which numbers an unknown is looked for."""
_MANY = {"m", "n", "side", "rows"}
"""What samplers and inputs call how many vectors of a kind a block has."""

_UNTOLD = (UnknownError, Unknown, Undefined, Refused, ArithmeticError, LookupError, TypeError, ValueError)
"""What is raised where a theorem cannot be evaluated on draws."""

Given = dict[Any, tuple["Source", int]]


class Told(IntEnum):
    """What theorems tell of a check; that of several is the greatest."""

    NOTHING = 0
    """None says what is predicted, under a law that the draws have."""
    OF_OTHER = 1
    """One says it, of what is on the draws something else than what is measured."""
    OPEN = 2
    """One may say it, but cannot be evaluated on the draws."""
    BOUND = 3
    """One says it, and of what is measured."""


def bound(claim: str, theorems: Iterable[Theorem], checks: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the ids of a claim's checks whose predictions a theorem says of just what they measure.

    A fit is bound where all the quantities that it goes through are.

    Raises:
        ClaimError: a prediction is called derived, and theorems say it of something else only.
    """
    laws = _Laws()
    known = tuple(_Written(one, laws) for one in theorems)
    found: dict[str, Told] = {}
    drawn: dict[Any, _Drawn] = {}

    def is_bound(check: Quantity) -> bool:
        if check.id not in found:
            # What has no number on the draws is a NaN, which nothing is near.
            with np.errstate(all="ignore"):
                found[check.id] = _greatest(_told(one, check, drawn) for one in known)
        if found[check.id] is Told.OF_OTHER and check.prediction.origin == "derived":
            raise ClaimError(
                f"claim {claim}, check {check.id}: its prediction is derived, but of something else: "
                "on the same draws the start of the derivation is not what the check measures; measure "
                "what is derived, derive what is measured, or call the prediction a threshold"
            )
        return found[check.id] is Told.BOUND

    return tuple(
        check.id
        for check in checks
        if (isinstance(check, Quantity) and is_bound(check))
        or (isinstance(check, Fit) and all(map(is_bound, check.members)))
    )


def _greatest(each: Iterable[Told]) -> Told:
    """Return the greatest, and look no further than to one that is bound."""
    most = Told.NOTHING
    for one in each:
        most = max(most, one)
        if most is Told.BOUND:
            break
    return most


@dataclass(frozen=True)
class _Laws:
    """Numbers the laws of sources, which take long to compare."""

    _numbers: dict[Any, int] = field(default_factory=dict)
    _of: dict[int, tuple[Source, int]] = field(default_factory=dict)

    def number(self, source: Source) -> int:
        """Return the number of a source's law, and of where and how long its vectors are."""
        if id(source) not in self._of:
            parts = _raw(source.factor), _raw(source.mean), source.place, source.vectors.shape[2]
            number = self._numbers.setdefault((source.law, *parts), len(self._numbers))
            self._of[id(source)] = source, number  # kept, for another might get its id
        return self._of[id(source)][1]


def _raw(array: Array | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.shape, array.tobytes())


@dataclass(frozen=True, eq=False)
class _Written:
    """A theorem with what its names stand for in their places, and what of it is asked for every check."""

    theorem: Theorem
    laws: _Laws
    _known: dict[Any, Any] = field(default_factory=dict)

    def at(self, given: Given, settings: Mapping[str, Any]) -> _At:
        """Return the end at the values that settings and drawn laws tell, found once for each laws.

        Raises:
            OtherLawError: what is drawn does not have the law of the hypotheses.
            UnknownError: a moment of what is drawn is not known.
        """
        each = [id(source) for source, _ in given.values()]
        laws = ((name, self.laws.number(source), other) for name, (source, other) in given.items())
        names = sorted(one.name for one in self.symbols if one.name in settings)
        named = ((name, _raw(np.asarray(settings[name]))) for name in names)
        key = *named, *laws, *map(each.index, each)
        if key not in self._known:
            try:
                self._known[key] = _at(self, given, settings)
            except (OtherLawError, *_UNTOLD) as error:
                self._known[key] = error
        if isinstance(self._known[key], Exception):
            raise self._known[key]
        found: _At = self._known[key]
        return found

    @cached_property
    def start(self) -> Any:
        """The left side."""
        return _written_out(self.theorem.lhs, self.theorem)

    @cached_property
    def end(self) -> Any:
        """The right side."""
        return _written_out(self.theorem.rhs, self.theorem)

    @cached_property
    def symbols(self) -> set[Any]:
        """What stands for a number or a matrix."""
        free = self.start.free_symbols | self.end.free_symbols
        return {one for one in free if isinstance(one, Symbol | MatrixSymbol)}

    @cached_property
    def is_open(self) -> bool:
        """Whether it cannot be evaluated on draws."""
        of_families = {kind for kind, *_ in self.theorem.hypotheses.entries}
        hopeless = self.end.has(Integral, Limit) or bool(of_families - {"runs", "constant"})
        return hopeless or not self.start.has(E, Var)

    @cached_property
    def counts(self) -> str:
        """What samplers call the vectors whose number it counts, if it does."""
        counted = any(len(one.indices) > 1 for one in self.start.atoms(Indexed))
        return "n" if self.start.has(n) or self.end.has(n) else "m" if counted else ""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A few blocks of a sampler."""

    sampler: Any

    @cached_property
    def output(self) -> Outputs:
        """The mean of what the statistic makes of them."""
        mean = self.sampler.sample(np.random.default_rng(_SEED), _BLOCKS).mean(axis=0)
        return Outputs(zip(self.sampler.names, mean, strict=True))

    @cached_property
    def readings(self) -> tuple[tuple[Source, ...], ...]:
        """What they are made of."""
        found: tuple[tuple[Source, ...], ...] = self.sampler.readings(np.random.default_rng(_SEED), _BLOCKS)
        return found


def _told(written: _Written, check: Quantity, drawn: dict[Any, _Drawn]) -> Told:
    """Return what a theorem tells of a check, by the blocks ``drawn`` for others of its sampler."""
    relation = {"<": "≤", ">": "≥"}.get(written.theorem.relation, written.theorem.relation)
    sign = 1 if relation in {check.relation, "="} else -1 if FLIPPED.get(relation) == check.relation else 0
    if not sign:
        return Told.NOTHING
    sampler: Any = check.cell.sampler
    if not (_is_traced(sampler) and isinstance(check.estimand, Smooth | Bounded)) or written.is_open:
        return Told.OPEN
    key = id(sampler), written.counts
    if key not in drawn:
        drawn[key] = _Drawn(_with_few(sampler, written.counts))
    try:
        measured = check.estimand.value(drawn[key].output)
    except (ArithmeticError, LookupError, ValueError):
        return Told.OPEN
    said = _Said(written, sign, relation == check.relation, check.prediction.value, measured)
    return _greatest(
        _compared(said, given, _settings(check, reading), len(reading))
        for reading in drawn[key].readings
        for given in _choices(said, reading)
    )


def _is_traced(sampler: Any) -> bool:
    known = isinstance(sampler, Traced)
    return known and not (isinstance(sampler, Reduced) and type(sampler.input).sources is Input.sources)


@dataclass(frozen=True)
class _Said:
    """A theorem, and what a check predicts and measures.

    With a ``sign`` of -1 the check's are a constant less what the theorem says, as of a complement.
    """

    written: _Written
    sign: int
    is_same_relation: bool
    predicted: float
    measured: float


def _compared(said: _Said, given: Given, settings: Mapping[str, Any], sources: int) -> Told:
    """Return whether the end is what is predicted, and the start what is measured.

    That the start is something else is told only of a theorem that has the check's relation, is about all
    that is drawn, and has no symbol whose value was chosen after the prediction.
    """
    told, whole = Told.NOTHING, len({id(source) for source, _ in given.values()}) == sources
    try:
        for values, ends, is_chosen in _saying(said, said.written.at(given, settings)):
            constant = said.predicted - ends if said.sign == -1 else 0.0
            draws, told = Draws(given, values), Told.OPEN
            for start in draws.both(said.written.start):
                if _near(constant + said.sign * start, said.measured):
                    return Told.BOUND
            if said.is_same_relation and said.sign == 1 and whole and not is_chosen:
                told = Told.OF_OTHER
    except OtherLawError:
        return told
    except _UNTOLD:
        return max(told, Told.OPEN)
    return told


def _saying(said: _Said, at: _At) -> Iterator[tuple[dict[Any, Any], float, bool]]:
    """Yield the values at which a theorem says what is predicted, its end, and whether one was chosen so.

    One symbol that is left has each value that makes the end the prediction.
    """
    every: list[tuple[dict[Any, Any], bool]] = [(at.values, False)]
    if len(at.left) == 1 and said.sign != -1:
        (one,) = at.left
        domain = said.written.theorem.hypotheses.domain(one)
        roots = (root for root in _solutions(at.end, said.predicted, one, at.values) if _may_be(domain, root))
        every = [(at.values | {one: root}, True) for root in roots]
    for values, is_chosen in every:
        ends = said.sign * (evaluated(at.end, values) if is_chosen else at.number)
        if (said.sign == -1 or _near(ends, said.predicted)) and _speaks_of(said.written.theorem, values):
            yield values, ends, is_chosen


def _near(one: Any, other: Any) -> bool:
    return bool(
        np.all(np.abs(one - other) <= _CLOSE * np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-6))
    )


def _written_out(side: Any, theorem: Theorem) -> Any:
    """Return a side with what its names stand for in their places."""
    definitions = theorem.hypotheses.definitions
    for _ in definitions:
        for name, meaning in definitions:
            if isinstance(name, IndexedBase):
                indices, entry = meaning
                side = side.replace(
                    lambda part, name=name: isinstance(part, Indexed) and part.base == name,
                    lambda part, of=indices, entry=entry: entry.xreplace(
                        dict(zip(of, part.indices, strict=True))
                    ),
                )
            else:
                side = side.xreplace({name: meaning})
    return side


def _with_few(sampler: Any, kept: str) -> Any:
    """Return a sampler of few queries and keys, but as many as it has of those that a theorem counts."""
    drawn: Any = sampler.input if isinstance(sampler, Reduced) else sampler
    names = {one.name for one in fields(drawn)} & _MANY - {kept}
    few = replace(drawn, **{name: min(_FEW, getattr(drawn, name)) for name in names})
    return replace(sampler, input=few) if isinstance(sampler, Reduced) else few


def _settings(check: Quantity, reading: tuple[Source, ...]) -> dict[str, Any]:
    """Return values of symbols by their names: of the cell, of its statistic, and the number of keys."""
    sampler: Any = check.cell.sampler
    own = sampler.statistic.symbols(sampler.input.shape) if isinstance(sampler, Reduced) else {}
    said = {name: one for name, one in check.cell.settings if isinstance(one, int | float)}
    many = [one.vectors.shape[1] for one in reading if one.place == KEYS]
    return said | ({n.name: many[0]} if many else {}) | own


def _choices(said: _Said, reading: tuple[Source, ...]) -> Iterator[Given]:
    """Yield what the random names of a theorem may stand for: sources, and others of them if few."""
    law, start = said.written.theorem.hypotheses.law, said.written.start
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
class _At:
    """A theorem's end and the ``values`` of its symbols, as far as settings and drawn laws tell them."""

    end: Any
    values: dict[Any, Any]

    @cached_property
    def left(self) -> set[Any]:
        """The symbols that have no value."""
        return {one for one in free_symbols(self.end) if isinstance(one, Symbol)} - self.values.keys()

    @cached_property
    def number(self) -> float:
        """The end's value."""
        return evaluated(self.end, self.values)


def _at(written: _Written, given: Given, settings: Mapping[str, Any]) -> _At:
    """Return a theorem's end at the values that settings and drawn laws tell.

    Raises:
        OtherLawError: what is drawn does not have the law of the hypotheses.
        UnknownError: a moment of what is drawn is not known.
    """
    values = {one: settings[one.name] for one in written.symbols - given.keys() if one.name in settings}
    law, end = written.theorem.hypotheses.law, written.end
    if isinstance(law, Vectors):
        _of_vectors(law, given, values)
    elif law:
        for component, moments in law.laws:
            if component in given:
                _of_component(component in law.normal, moments, given[component][0].law, values)
        if end.has(E, Var):
            drawn = {one: _moments(source.law) for one, (source, _) in given.items()}
            end = evaluate(end, Population(drawn, law.dimension))
    return _At(end, values)


def _solutions(expression: Any, value: float, symbol: Any, known: Mapping[Any, Any]) -> tuple[float, ...]:
    """Return where an expression of a symbol has a value, whole numbers if it stands for such."""
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


def _speaks_of(theorem: Theorem, values: Mapping[Any, Any]) -> bool:
    """Return whether all values are in their domains, and every condition holds, or is that one is not 0."""
    under, known = theorem.hypotheses, numbers(values)
    inside = all(_may_be(under.domain(one), value) for one, value in known.items())
    kept = ((condition, condition.subs(known)) for condition in under.conditions)
    return inside and all(
        now is not S.false if isinstance(condition, Ne) else now is S.true for condition, now in kept
    )


@lru_cache(maxsize=1024)
def _may_be(domain: Any, value: float) -> bool:
    return domain.contains(sympify(value)) is not S.false


def _of_component(normal: bool, assumed: Any, drawn: Distribution, values: dict[Any, Any]) -> None:
    """Add the values of the symbols in the law of a component, which has to be that of what is drawn.

    Raises:
        OtherLawError: it is not.
        UnknownError: a moment of what is drawn is not known.
    """
    if normal and not _is_normal(drawn):
        raise OtherLawError("not normal")
    exact = _moments(drawn)
    if len(assumed or ()) > len(exact):
        raise UnknownError(f"of order {len(exact)} no moment is known")
    for moment, true in zip(assumed or (), exact, strict=False):
        _read_off(moment, float(true), values)


@lru_cache(maxsize=64)
def _moments(drawn: Distribution) -> tuple[Fraction, ...]:
    """Return the exact moments of a law as far as they are known."""
    if _is_normal(drawn):
        drawn = replace(drawn, base_moments=tuple(Fraction(int(one)) for one in NORMAL_MOMENTS))
    return drawn.moments(len(drawn.base_moments) - 1)


def _is_normal(drawn: Distribution) -> bool:
    return replace(drawn, loc=NORMAL.loc, scale=NORMAL.scale) == NORMAL


def _read_off(assumed: Any, true: float, values: dict[Any, Any]) -> None:
    """Add the value of the one symbol that is left in what is assumed, or hold this against what is true.

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
    elif left or not _near(evaluated(assumed, values), true):
        raise OtherLawError(f"{assumed} is {true}")


def _of_vectors(law: Vectors, given: Given, values: dict[Any, Any]) -> None:
    """Add the values of means and covariances of vectors, which have to be those of what is drawn.

    Raises:
        OtherLawError: they are not.
    """
    if law.normal and not all(_is_normal(source.law) for source, _ in given.values()):
        raise OtherLawError("not normal")
    for name, mean in law.means:
        if name in given:
            _hold(mean, _mean(given[name][0])[:, None], values)
    listed = {(one, other): matrix for one, other, matrix in law.covariances}
    for one, other in combinations_with_replacement(given, 2):
        if (one, other) in listed:
            _hold(listed[one, other], _covariance(given[one], given[other]), values)
        elif (other, one) in listed:
            _hold(listed[other, one], _covariance(given[other], given[one]), values)
        elif _covariance(given[one], given[other], least=True).any():
            raise OtherLawError(f"{one} and {other} depend on each other")


def _hold(assumed: Any, true: Array, values: dict[Any, Any]) -> None:
    """Hold an assumed mean or covariance against the true one; a number is that of the unit matrix."""
    if isinstance(assumed, MatrixSymbol):
        if not _near(values.setdefault(assumed, true), true):
            raise OtherLawError(f"{assumed} is {true}")
    elif assumed == 0:
        _read_off(assumed, float(np.abs(true).max()), values)
    elif _near(true, true[0, 0] * np.eye(len(true))):
        _read_off(assumed, float(true[0, 0]), values)
    else:
        raise OtherLawError(f"{assumed} is {true}")


def _mean(source: Source) -> Array:
    size = source.vectors.shape[2]
    return np.full(size, float(_moments(source.law)[1])) if source.mean is None else source.mean


@lru_cache(maxsize=64)
def _variance(law: Distribution) -> float:
    return float(law.variance)


def _covariance(one: tuple[Source, int], other: tuple[Source, int], *, least: bool = False) -> Array:
    """Return the covariances of two vectors' components; for ``least``, of what depends at all any number."""
    (first, copy), (second, another) = one, other
    if first.factor is None or second.factor is None:
        same = first is second and copy == another
        return _variance(first.law) * np.eye(first.vectors.shape[2]) * same
    if (first.place, copy) != (second.place, another):
        return np.zeros((len(first.factor), len(second.factor)))
    factors = [np.abs(factor) if least else factor for factor in (first.factor, second.factor)]
    return factors[0] @ factors[1].T
