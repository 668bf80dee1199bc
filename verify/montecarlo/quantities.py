"""Measures expressions: which blocks are drawn, which means are taken of them, and what is estimated.

A quantity is a smooth function of means, such as ``Var(score)``, the mean square less the squared mean.
Each mean is a column of the blocks' statistics; all quantities of a setting share a cell, and with it its
draws. Where a quantity is made of means of polynomials of one score, and the laws have the moments, the
variance of a block's estimate is derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell, Outputs, Sample, Settings
from verify.montecarlo.compiling import Column, Compiled, Compiler, Node
from verify.montecarlo.distributions import NORMAL, Array, Distribution, stream
from verify.montecarlo.estimands import ALL_AGREE, Bounded, Estimand, Goal, Measured, Smooth
from verify.montecarlo.experiment import best_queries, best_side
from verify.montecarlo.shortcuts import SHORTCUTS, Shortcut, is_mirrored
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.vocabulary import (
    BINDERS,
    Cov,
    Dot,
    E,
    Entropy,
    Family,
    Index,
    Indicator,
    Largest,
    Law,
    Quantile,
    Softmax,
    Var,
    d,
    free_indices,
    k,
    m,
    n,
    q,
    range_of,
    s,
    score,
)

_PIECE = 1 << 18
"""Numbers that are in memory while blocks are reduced, as many blocks at a time: they stay in the cache."""


@dataclass(frozen=True)
class Simulation:
    """Blocks of families of random numbers, of which the means of expressions are kept.

    ``outputs`` are the expressions by name, ``sizes`` the lengths of the families' ranges in a block,
    ``values`` those of symbols. With ``mirrored``, each row counts with the other sign as well. It is
    compiled in each process that draws, once.
    """

    outputs: tuple[tuple[str, sp.Expr], ...]
    laws: tuple[tuple[Family, Distribution], ...]
    sizes: tuple[tuple[sp.Expr, int], ...]
    values: tuple[tuple[sp.Symbol, float], ...]
    settings: Settings
    mirrored: bool = False

    order: ClassVar[int] = 3
    univariate: ClassVar[int] = 0

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = dict(self.sizes)
        return {
            str(family.label): tuple(sizes[extent] for extent in family.ranges) for family, _ in self.laws
        }

    @property
    def coordinates(self) -> int:
        return sum(map(math.prod, self._shapes.values()))

    @cached_property
    def scores(self) -> int:
        """Scores that one block holds: as many as queries times keys."""
        sizes = dict(self.sizes)
        return (2 if self.mirrored else 1) * sizes.get(m, 1) * sizes.get(n, 1)

    @property
    def held(self) -> int:
        return 2 * self.coordinates + self.compiled.peak

    @cached_property
    def compiled(self) -> Compiled:
        """The operations that compute the outputs, with the shortcuts that there are for them."""
        return self.compiled_with(SHORTCUTS)

    def compiled_with(self, shortcuts: Sequence[Shortcut], xp: Any = np) -> Compiled:
        """Return the operations that compute the outputs with arrays of ``xp``, and these shortcuts."""
        compiler = Compiler(dict(self.sizes), dict(self.values), [family for family, _ in self.laws], xp)
        written = [compiler.terms(expression) for _, expression in self.outputs]
        terms = list(dict.fromkeys(term for parts in written for _, term in parts))
        means: dict[sp.Expr, Node] = {}
        for shortcut in shortcuts:
            means |= shortcut(compiler, [term for term in terms if term not in means])
        means |= {term: compiler.mean(term) for term in terms if term not in means}
        return compiler.compiled(
            [compiler.combined([(factor, means[term]) for factor, term in parts]) for parts in written]
        )

    def draws(self, rng: np.random.Generator, count: int) -> dict[str, Array]:
        """Return what is drawn of each family for ``count`` blocks, in single precision."""
        drawn: dict[str, Array] = {}
        for (name, shape), (_, law) in zip(self._shapes.items(), self.laws, strict=True):
            if name in self.compiled.by_key:
                drawn[name] = np.moveaxis(law.draw(rng, (shape[-1], count, *shape[:-1]), single=True), 0, -1)
            elif name in self.compiled.columns:
                *first, many, size = shape
                drawn[name] = law.draw(rng, (count, *first, size, many), single=True).swapaxes(-1, -2)
            else:
                drawn[name] = law.draw(rng, (count, *shape), single=True)
        return drawn

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the means of all outputs in ``count`` independent blocks, shape (count, outputs)."""
        drawn, step = self.draws(rng, count), max(1, _PIECE // self.compiled.peak)
        pieces = []
        for first in range(0, count, step):
            part = {name: values[first : first + step] for name, values in drawn.items()}
            means = self.compiled.run(part, rng)
            if self.mirrored:
                for values in part.values():
                    np.negative(values, out=values)
                means = (means + self.compiled.run(part, rng)) / 2
            pieces.append(means)
        return np.concatenate(pieces)


@dataclass(frozen=True)
class OfMeans:
    """An expression in symbols that stand for the means of outputs, as a function of these means."""

    expression: sp.Expr
    outputs: tuple[tuple[sp.Symbol, str], ...]

    def __call__(self, mean: Outputs) -> float:
        """Return its value."""
        value, _ = _lambdified(self.expression, tuple(symbol for symbol, _ in self.outputs))
        return float(value(*(mean[name] for _, name in self.outputs)))

    def gradient(self, mean: Outputs) -> Array:
        """Return its derivatives by each output, in their order, shape (outputs,)."""
        _, slopes = _lambdified(self.expression, tuple(symbol for symbol, _ in self.outputs))
        by_name = dict.fromkeys(mean, 0.0)
        for (_, name), slope in zip(
            self.outputs, slopes(*(mean[name] for _, name in self.outputs)), strict=True
        ):
            by_name[name] += float(slope)
        return np.array([*by_name.values()])


@lru_cache(maxsize=1024)
def _lambdified(
    expression: sp.Expr, symbols: tuple[sp.Symbol, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    slopes = [expression.diff(symbol) for symbol in symbols]
    return sp.lambdify(symbols, expression, "scipy"), sp.lambdify(symbols, slopes, "scipy")


@dataclass(frozen=True)
class Expressed(Smooth):
    """A smooth function of means, with SymPy's gradient; ``share`` is its output, if it is a share of events.

    A share of which every block says the same has the interval that holds for all means of bounded numbers:
    that no event was seen does not mean that there are none.
    """

    function: OfMeans
    share: str = ""

    @property
    def kind(self) -> str:
        """That it is a function of means: all go through the same code."""
        return "function of means"

    def gradient(self, mean: Outputs) -> Array:
        return self.function.gradient(mean)

    def measure(self, sample: Sample, alpha: float) -> Measured:
        measured = super().measure(sample, alpha)
        return (
            Bounded(self.share).measure(sample, alpha)
            if self.share and measured.doubt == ALL_AGREE
            else measured
        )

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        if self.share and pilot is not None and self._varies(pilot) == 0:
            return Bounded(self.share).blocks_needed(goal, pilot)
        return super().blocks_needed(goal, pilot)

    def _varies(self, pilot: Sample) -> float:
        place = pilot.place(self.share)
        return float(pilot.covariance[place, place])


def is_nonnegative(expression: sp.Expr) -> bool:
    """Return whether it can be seen that an expression in means is never below 0."""
    if isinstance(expression, E | Quantile | Largest):
        return is_nonnegative(expression.args[0])
    if isinstance(expression, Var | Softmax | Entropy | Indicator | sp.Abs | sp.exp):
        return True
    if isinstance(expression, sp.Pow):
        base, power = expression.args
        return is_nonnegative(base) or bool(power.is_even)
    if isinstance(expression, sp.Sum):
        return is_nonnegative(expression.function)
    if isinstance(expression, sp.Add):
        return all(map(is_nonnegative, expression.args)) or _is_share(1 - expression)
    if isinstance(expression, sp.Mul):
        return all(map(is_nonnegative, expression.args))
    return bool(expression.is_nonnegative)


def _is_share(expression: sp.Expr) -> bool:
    """Return whether an expression is a mean of weights or events, which are never above 1."""
    if isinstance(expression, E | Largest):
        return _is_share(expression.args[0])
    if isinstance(expression, sp.Sum):
        is_square = isinstance(expression.function, sp.Pow) and expression.function.exp.is_even
        return isinstance(expression.function, Softmax) or (
            is_square and isinstance(expression.function.base, Softmax)
        )
    return isinstance(expression, Softmax | Indicator)


def _written(quantity: sp.Expr) -> sp.Expr:
    """Return a quantity in means and quantiles alone."""
    return sp.sympify(quantity).replace(
        lambda part: isinstance(part, Var | Cov), lambda part: part.definition
    )


def _renamed(x: sp.Expr) -> sp.Expr:
    """Return an expression with the first index of a range in the place of the second, where that is free."""
    taken = x.atoms(Index)
    for first, second in (("a", "b"), ("j", "l")):
        if Index(second) in free_indices(x) and Index(first) not in taken:
            x = x.xreplace({Index(second): Index(first)})
    return x


@dataclass(frozen=True)
class BlockVariance:
    """The variance of a mean of f(S) over a block's scores, by the covariances of pairs of them.

    A pair is the same score twice, or shares the query, or the key; ``value`` is what is estimated.
    """

    value: float
    same: float
    of_query: float
    of_key: float

    def of(self, queries: int, keys: int, *, relative: bool = False) -> float:
        """Return it for a block of so many queries and keys, or relative to the squared value."""
        variance = (self.same + (keys - 1) * self.of_query + (queries - 1) * self.of_key) / (queries * keys)
        return variance / self.value**2 if relative else variance


def block_variance(
    expression: sp.Expr,
    means: Mapping[sp.Symbol, sp.Expr],
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
) -> BlockVariance | None:
    """Derive the variance of a block's estimate of an expression in symbols that stand for ``means``.

    It is linearised at the derived means. None where the means are not all of polynomials of one score, or
    the laws lack a moment.
    """
    dots = sorted(set().union(*(mean.atoms(Dot) for mean in means.values())), key=str)
    if len(dots) != 1 or any(mean.atoms(sp.Indexed, Column) for mean in means.values()):
        return None
    dot = dots[0]
    left, first, right, second = dot.args
    if left == right or len({first, second} & free_indices(dot)) < 2 or not {left, right} <= set(laws):
        return None
    given = {family: _assumed(laws[family]) for family in (left, right)}
    exact = {symbol: sp.nsimplify(value, rational=True) for symbol, value in at.items()}
    try:
        values = {symbol: expected(E(mean), given).subs(exact) for symbol, mean in means.items()}
        slopes = {
            symbol: sp.Rational(float(expression.diff(symbol).subs(values).subs(exact))) for symbol in means
        }
        linear = sp.Add(*(slopes[symbol] * (mean - values[symbol]) for symbol, mean in means.items())).subs(
            exact
        )
        places = ((first, second), (first, Index("j_2")), (Index("a_2"), second))
        pairs = (linear * linear.xreplace({dot: Dot(left, x, right, y)}) for x, y in places)
        same, of_query, of_key = (float(expected(E(pair.expand()), given).subs(exact)) for pair in pairs)
    except NotDerived:
        return None
    return BlockVariance(float(expression.subs(values).subs(exact)), same, of_query, of_key)


@lru_cache
def _assumed(law: Distribution) -> Law:
    """Return the moments of a distribution as what is assumed of components."""
    return Law(law.name, tuple(map(sp.Rational, law.moments(len(law.base_moments) - 1))))


_ROW_NUMBERS = 1 << 12
"""Scores of a block of independent rows, in at most 64 rows and at least 8."""

_MOST_SIDE = 64
"""Queries and keys, at most, of a block of which all scores are made, not only the mean of their squares."""

_ROLES = {"q": "query", "k": "key", "v": "value", "u": "upstream"}


def measurement(
    name: str,
    quantities: Mapping[str, sp.Expr],
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    *,
    tolerance: float,
    shape: Mapping[Any, int] | None = None,
    settings: Settings = (),
) -> tuple[Cell, dict[str, Estimand]]:
    """Return the cell in which quantities of one setting are measured, and what estimates each from it.

    Args:
        name: The cell's id, which seeds its streams.
        quantities: Expressions in means, variances, covariances and quantiles, by name.
        laws: What is drawn: the law of each family.
        at: Values of sizes and symbols. Numbers of queries or keys of which any is meant are chosen, if none
            are given, so that ``tolerance`` is reached soonest.
        tolerance: The relative half-width that is wanted.
        shape: Lengths of ranges in a block, where they are not the values of their sizes.
        settings: What else the cell records.

    Raises:
        ClaimError: a size or a symbol has no value, or an expression cannot be compiled.
    """
    written = {key: _written(quantity) for key, quantity in quantities.items()}
    arguments = {mean.args[0] for quantity in written.values() for mean in quantity.atoms(E, Quantile)}
    if nested := next((x for x in sorted(arguments, key=str) if x.has(E, Quantile)), None):
        raise ClaimError(f"{nested}: a mean inside of a mean; means are taken over everything that is drawn")
    sizes, chosen = _sizes(sorted(arguments, key=str), laws, at, shape or {}, tolerance)
    values = {**{extent: size for extent, size in sizes.items() if isinstance(extent, sp.Symbol)}, **at}
    simulation = Simulation((), tuple(laws.items()), tuple(sizes.items()), tuple(values.items()), ())
    points = {
        part: _points(replace(simulation, outputs=(("x", part.args[0]),)), name, float(part.args[1]))
        for part in sorted(set().union(*(x.atoms(Quantile) for x in written.values())), key=str)
    }
    outputs: dict[str, sp.Expr] = {}
    estimands: dict[str, Estimand] = {}
    for key, quantity in written.items():
        in_means = quantity.xreplace(
            {part: _interpolated(part, *at_points) for part, at_points in points.items()}
        )
        means = {mean: _renamed(mean.args[0]) for mean in sorted(in_means.atoms(E), key=str)}
        symbols_of = {mean: sp.Dummy(str(x)) for mean, x in means.items()}
        expression = in_means.xreplace(symbols_of).subs(at)
        if expression.free_symbols - set(symbols_of.values()):
            Compiler(sizes, at, laws).value(in_means.xreplace(dict.fromkeys(means, sp.S.Zero)))
        outputs |= {str(x): x for x in means.values()}
        function = OfMeans(expression, tuple((symbols_of[mean], str(x)) for mean, x in means.items()))
        positive, of_block = is_nonnegative(quantities[key]), None
        if not points and all(sizes.get(extent, value) == value for extent, value in at.items()):
            of_means = {symbols_of[mean]: x for mean, x in means.items()}
            if derived := block_variance(expression, of_means, laws, at):
                of_block = derived.of(sizes[m], sizes[n], relative=positive)
        is_share = isinstance(quantity, E) and isinstance(quantity.args[0], Indicator)
        share = str(means[quantity]) if is_share else ""
        estimands[key] = Expressed(function, positive, of_block, share)
    by_half = is_mirrored(outputs.values(), laws, sizes)
    recorded = (*_settings(laws, at, sizes, chosen, by_half=by_half), *settings)
    if by_half:
        sizes[m] //= 2
    simulation = replace(
        simulation,
        outputs=tuple(outputs.items()),
        sizes=tuple(sizes.items()),
        settings=recorded,
        mirrored=by_half,
    )
    return Cell(name, recorded, simulation), estimands


def _sizes(
    expressions: Sequence[sp.Expr],
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    shape: Mapping[Any, int],
    tolerance: float,
) -> tuple[dict[Any, int], tuple[Any, ...]]:
    """Return the length of every range, and which were chosen."""
    extents = list(dict.fromkeys(extent for family in laws for extent in family.ranges))
    sizes = {extent: sp.sympify(shape.get(extent, sp.sympify(extent).subs(at))) for extent in extents}
    missing = tuple(extent for extent, size in sizes.items() if not size.is_Integer)
    bound = {str(high) for x in expressions for part in x.atoms(sp.Sum) for _, _, high in part.limits}
    bound |= {str(range_of(*part.args)) for x in expressions for part in x.atoms(*BINDERS)}
    for extent in missing:
        if extent not in (m, n) or str(extent) in bound:
            raise ClaimError(f"how many are drawn is not said: give {extent} a value in at={{…}}")
    lengths = {extent: int(size) for extent, size in sizes.items() if extent not in missing}
    if {m, n} <= set(missing):
        dimension = lengths.get(d, 1)
        variance = _variance_of_score(laws.get(q, NORMAL), laws.get(k, NORMAL), dimension)
        side = best_side(dimension, lambda side: variance.of(side, side, relative=True), tolerance)
        side = max(side, *(len(free_indices(x)) for x in expressions))
        scores = (part.as_independent(Dot)[1] for x in expressions for part in sp.Add.make_args(x.expand()))
        if not {part.as_base_exp()[1] for part in scores} <= {1, 2}:
            side = min(side, _MOST_SIDE)
        lengths |= {m: side, n: side}
    elif n in missing:
        lengths[n] = lengths.get(m, 1)
    elif m in missing and n in lengths:
        keys = lengths[n]
        rows = 2 * max(4, min(32, _ROW_NUMBERS // (2 * keys)))
        lengths[m] = best_queries(keys, lengths[d]) if q in laws and d in lengths else rows
    elif m in missing:
        lengths[m] = 64
    return lengths, missing


@lru_cache
def _variance_of_score(query: Distribution, key: Distribution, dimension: int) -> BlockVariance:
    """Return the variance of a block's estimate of a score's variance, by which blocks are shaped.

    Where the laws do not have it, that of normal components stands in.
    """
    first, second = sp.Dummy("first"), sp.Dummy("second")
    means = {first: score, second: score**2}
    for laws in ({q: query, k: key}, {q: NORMAL, k: NORMAL}):
        derived = block_variance(second - first**2, means, laws, {d: dimension})
        if derived is not None:
            return derived
    raise AssertionError("the normal law has all moments")


def _settings(
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    sizes: Mapping[Any, int],
    chosen: Sequence[Any],
    *,
    by_half: bool,
) -> Settings:
    """Return what is drawn as a cell records it: the dimension, laws, other values, and a block's shape."""
    of_laws, rows = [], []
    for family, law in laws.items():
        name = str(family.label)
        if family == s:
            rows = [("scores", f"independent {law.name}")]
        else:
            of_laws.append((_ROLES.get(name, name), law.name))
    values = [(str(symbol), _plain(value)) for symbol, value in at.items()]
    dimension = [pair for pair in values if pair[0] == str(d)]
    others = [pair for pair in values if pair[0] != str(d)]
    other_sign = [("rows", "each also with the other sign")] if by_half else []
    block = []
    if {m, n} <= set(chosen):
        block = [("block", f"{sizes[m]}×{sizes[n]}")]
    elif m in sizes and n in sizes and s not in laws:
        block = [("block", f"{sizes[m]} queries, {sizes[n]} keys")]
    return (*dimension, *of_laws, *others, *rows, *other_sign, *block)


def _plain(value: Any) -> int | float | str:
    number = sp.sympify(value)
    if number.is_Integer:
        return int(number)
    return float(number) if number.is_Float else f"${sp.latex(number)}$"


_PILOT = 1 << 16
"""Values, at least, from which the points of a quantile are chosen."""


def _points(simulation: Simulation, name: str, level: float) -> tuple[sp.Rational, sp.Rational]:
    """Return a point near a quantile and a step to either side, from a pilot of the setting's own stream.

    They are rounded, so that they are the same on all machines.
    """
    (_, x), *_ = simulation.outputs
    compiler = Compiler(
        dict(simulation.sizes), dict(simulation.values), [family for family, _ in simulation.laws]
    )
    compiler.learn(x)
    node = compiler.node(x)
    pilot = replace(simulation, outputs=())
    compiled = compiler.compiled([node])
    count = max(64, -(-_PILOT // node.size))
    rng, step, values = stream(0, "quantile", name, 0), max(1, _PIECE // compiled.peak), []
    for first in range(0, count, step):
        draws = pilot.draws(rng, min(step, count - first))
        values.append(np.ravel(compiled.run(draws, rng)[0]))
    around = level * (1 - level) / 4
    low, middle, high = np.quantile(np.concatenate(values), [level - around, level, level + around])
    half = (high - low) / 2
    if not 0 < half < math.inf:
        raise ClaimError(f"{x}: has no density at its quantile {level:g}, so that no interval can be given")
    digit = sp.Rational(10) ** (math.floor(math.log10(half)) - 1)
    return digit * round(middle / float(digit)), digit * round(half / float(digit))


def _interpolated(quantile: Quantile, point: sp.Rational, half: sp.Rational) -> sp.Expr:
    """Return a quantile as a smooth function of the shares at a point and at ``half`` to either side.

    It is where the parabola through the three shares reaches the level.
    """
    x, level = quantile.args
    below, here, above = (E(Indicator(point + side * half - x)) for side in (-1, 0, 1))
    slope, bend = (above - below) / 2, (above - 2 * here + below) / 2
    short = level - here
    return point + half * 2 * short / (slope + sp.sqrt(slope**2 + 4 * bend * short))
