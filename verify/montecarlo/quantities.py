"""Measures expressions: which blocks are drawn, which means are taken of them, and what is estimated.

A quantity is a smooth function of means, such as ``Var(score)``, the mean square less the squared mean. Each
mean is a column of the blocks' statistics; all quantities of a setting share a cell, and with it its draws. Where
a quantity is made of means of polynomials of one score, and the laws have the moments, the variance of a block's
estimate is derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from sympy import Abs, Add, Dummy, Expr, Indexed, Mul, Poly, Pow, S, Sum, Symbol, exp, lambdify, sqrt, sympify
from sympy import log as logarithm

from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell, Outputs, Sample, Settings
from verify.montecarlo.compiling import Column, Compiled, Compiler, Draws
from verify.montecarlo.distributions import NORMAL, Array, Distribution, stream
from verify.montecarlo.estimands import ALL_AGREE, Bounded, Estimand, Goal, Measured, Smooth
from verify.montecarlo.experiment import best_queries, best_side
from verify.montecarlo.shortcuts import SHORTCUTS, mirrored
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
    Quantile,
    Softmax,
    Var,
    d,
    free_indices,
    m,
    n,
    range_of,
    score,
)

_PIECE = 1 << 19
"""Numbers that are in memory while blocks are reduced, as many blocks at a time: they stay in the cache."""


# ---- drawing ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Simulation:
    """Blocks of families of random numbers, of which the means of expressions are kept.

    ``outputs`` are the expressions by name, ``sizes`` the lengths of the families' ranges in a block, ``values``
    those of symbols. Of a family among ``mirrored`` every second row is the one before with the other sign.
    It is compiled in each process that draws, once.
    """

    outputs: tuple[tuple[str, Expr], ...]
    laws: tuple[tuple[Family, Distribution], ...]
    sizes: tuple[tuple[Expr, int], ...]
    values: tuple[tuple[Symbol, float], ...]
    settings: Settings
    mirrored: tuple[Family, ...] = ()

    order: ClassVar[int] = 3
    univariate: ClassVar[int] = 0

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def coordinates(self) -> int:
        return sum(math.prod(self._shape(family, drawn=True)) for family, _ in self.laws)

    @property
    def scores(self) -> int:
        """Scores that one block holds: as many as queries times keys."""
        sizes = dict(self.sizes)
        return sizes.get(m, 1) * sizes.get(n, 1)

    @property
    def held(self) -> int:
        return 2 * sum(math.prod(self._shape(family)) for family, _ in self.laws) + self.compiled.peak

    def _shape(self, family: Family, *, drawn: bool = False) -> tuple[int, ...]:
        sizes = dict(self.sizes)
        first, *others = (sizes.get(extent) or int(sympify(extent).subs(sizes)) for extent in family.ranges)
        return (first // 2 if drawn and family in self.mirrored else first, *others)

    @cached_property
    def compiled(self) -> Compiled:
        """The operations that compute the outputs, with the shortcuts that there are for them."""
        return self.compiled_with(shortcuts=True)

    def compiled_with(self, *, shortcuts: bool) -> Compiled:
        """Return the operations that compute the outputs, with or without shortcuts."""
        compiler = Compiler(dict(self.sizes), dict(self.values), [family for family, _ in self.laws])
        for _, expression in self.outputs:
            compiler.learn(expression)
        written = [compiler.terms(expression) for _, expression in self.outputs]
        terms = list(dict.fromkeys(term for parts in written for _, term in parts))
        means = {}
        for shortcut in SHORTCUTS if shortcuts else ():
            means |= shortcut(compiler, [term for term in terms if term not in means])
        means |= {term: compiler.mean(term) for term in terms if term not in means}
        return compiler.compiled(
            [compiler.combined([(factor, means[term]) for factor, term in parts]) for parts in written]
        )

    def draws(self, rng: np.random.Generator, count: int) -> dict[str, Array]:
        """Return what is drawn of each family for ``count`` blocks, in single precision."""
        drawn: dict[str, Array] = {}
        for family, law in self.laws:
            name, shape = str(family.label), self._shape(family, drawn=True)
            if name in self.compiled.by_key:
                values = law.draw(rng, (shape[-1], count, *shape[:-1]), single=True)
                if family in self.mirrored:
                    values = np.concatenate([values, -values], axis=2)
                values = np.moveaxis(values, 0, -1)
            elif name in self.compiled.columns:
                values = law.draw(rng, (count, *shape[:-2], *shape[:-3:-1]), single=True).swapaxes(-1, -2)
            else:
                values = law.draw(rng, (count, *shape), single=True)
            drawn[name] = values
        return drawn

    def reduced(self, compiled: Compiled, xp: Any, draws: Draws, rng: np.random.Generator, count: int) -> Any:
        """Return the statistics of ``count`` blocks from what is drawn of them, shape (count, outputs)."""
        columns = compiled.run(xp, draws, rng)
        whole = [column if getattr(column, "ndim", 0) else column + xp.zeros(count) for column in columns]
        return xp.stack(whole, axis=1)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the means of all outputs in ``count`` independent blocks, shape (count, outputs)."""
        drawn, step = self.draws(rng, count), max(1, _PIECE // self.compiled.peak)
        pieces = []
        for first in range(0, count, step):
            part = {name: values[first : first + step] for name, values in drawn.items()}
            blocks = min(step, count - first)
            pieces.append(self.reduced(self.compiled, np, part, rng, blocks))
        return np.concatenate(pieces)


# ---- estimating ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OfMeans:
    """An expression in symbols that stand for the means of outputs, as a function of these means."""

    expression: Expr
    outputs: tuple[tuple[Symbol, str], ...]

    def __call__(self, mean: Outputs) -> float:
        """Return its value."""
        value, _ = _lambdified(self.expression, tuple(symbol for symbol, _ in self.outputs))
        return float(value(*(mean[name] for _, name in self.outputs)))

    def gradient(self, mean: Outputs) -> Array:
        """Return its derivatives by each output, in their order, shape (outputs,)."""
        _, slopes = _lambdified(self.expression, tuple(symbol for symbol, _ in self.outputs))
        by_name = dict.fromkeys(mean, 0.0)
        for (_, name), slope in zip(self.outputs, slopes(*(mean[name] for _, name in self.outputs)), strict=True):
            by_name[name] += float(slope)
        return np.array([*by_name.values()])


@lru_cache(maxsize=1024)
def _lambdified(expression: Expr, symbols: tuple[Symbol, ...]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    slopes = [expression.diff(symbol) for symbol in symbols]
    return lambdify(symbols, expression, "scipy"), lambdify(symbols, slopes, "scipy")


@dataclass(frozen=True)
class Expressed(Smooth):
    """A smooth function of means, with SymPy's gradient; ``share`` is the output that it is, if that is a share.

    A share of which every block says the same has the interval that holds for all means of bounded numbers: that
    no event was seen does not mean that there are none.
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
        return Bounded(self.share).measure(sample, alpha) if self.share and measured.doubt == ALL_AGREE else measured

    def blocks_needed(self, goal: Goal, pilot: Sample | None) -> int | None:
        if self.share and pilot is not None and self._varies(pilot) == 0:
            return Bounded(self.share).blocks_needed(goal, pilot)
        return super().blocks_needed(goal, pilot)

    def _varies(self, pilot: Sample) -> float:
        place = pilot.place(self.share)
        return float(pilot.covariance[place, place])


def is_nonnegative(expression: Expr) -> bool:
    """Return whether it can be seen that an expression in means is never below 0."""
    if isinstance(expression, E | Quantile | Largest):
        return is_nonnegative(expression.args[0])
    if isinstance(expression, Var | Softmax | Entropy | Indicator | Abs | exp):
        return True
    if isinstance(expression, Pow):
        base, power = expression.args
        return is_nonnegative(base) or bool(power.is_even)
    if isinstance(expression, Sum):
        return is_nonnegative(expression.function)
    if isinstance(expression, Add):
        return all(map(is_nonnegative, expression.args)) or _is_share(1 - expression)
    if isinstance(expression, Mul):
        return all(map(is_nonnegative, expression.args))
    return bool(expression.is_nonnegative)


def _is_share(expression: Expr) -> bool:
    """Return whether an expression is a mean of weights or events, which are never above 1."""
    if isinstance(expression, E | Largest):
        return _is_share(expression.args[0])
    if isinstance(expression, Sum):
        is_square = isinstance(expression.function, Pow) and expression.function.exp.is_even
        return isinstance(expression.function, Softmax) or (is_square and isinstance(expression.function.base, Softmax))
    return isinstance(expression, Softmax | Indicator)


def _written(quantity: Expr) -> Expr:
    """Return a quantity in means and quantiles alone."""
    return sympify(quantity).replace(lambda part: isinstance(part, Var | Cov), lambda part: part.definition)


def _renamed(x: Expr) -> Expr:
    """Return an expression with the first index of a range in the place of the second, where that is free."""
    taken = x.atoms(Index)
    for first, second in (("a", "b"), ("j", "l")):
        if Index(second) in free_indices(x) and Index(first) not in taken:
            x = x.xreplace({Index(second): Index(first)})
    return x


# ---- derived variances of blocks -------------------------------------------------------------------------------
def block_variance(
    expression: Expr, means: Mapping[Symbol, Expr], laws: Mapping[Family, Distribution], at: Mapping[Any, Any]
) -> Callable[[int, int], float] | None:
    """Return the derived variance of a block's estimate as a function of its queries and keys.

    ``expression`` is in symbols that stand for ``means``. It is linearised at the derived means: with a mean of
    f(S) over the m×n scores of a block, two scores count that share the query, or the key, or all. None where
    the means are not all of polynomials of one score, or a moment of the laws does not exist.
    """
    dots = set().union(*(mean.atoms(Dot) for mean in means.values()))
    if len(dots) != 1:
        return None
    (dot,) = dots
    left, first, right, second = dot.args
    if left == right or first == second or not {first, second} <= {*free_indices(dot)}:
        return None
    x = Dummy("x", real=True)
    polynomials = {}
    for symbol, mean in means.items():
        inner = mean.xreplace({dot: x}).subs(at)
        if inner.free_symbols - {x} or not inner.is_polynomial(x):
            return None
        polynomials[symbol] = [Fraction(float(c)) for c in reversed(Poly(inner, x).all_coeffs())]
    highest = max(map(len, polynomials.values())) - 1
    try:
        moments = [laws[family].moments(2 * highest) for family in (left, right)]
    except (KeyError, ValueError):
        return None
    size = int(dot.size.subs(at))
    own = _powers(moments[0], moments[1], size, highest)
    shared = [_powers(one, other, size, highest, joint=True) for one, other in (moments, reversed(moments))]
    derived = {symbol: sum(c * own[p] for p, c in enumerate(cs)) for symbol, cs in polynomials.items()}
    put = {symbol: sympify(float(value)) for symbol, value in derived.items()}
    linear = [Fraction(0)] * (highest + 1)
    for symbol, coefficients in polynomials.items():
        slope = Fraction(float(expression.diff(symbol).subs(put)))
        for power, coefficient in enumerate(coefficients):
            linear[power] += slope * coefficient

    def covariance(joint: Callable[[int, int], Fraction]) -> Fraction:
        terms = (
            linear[r] * linear[s] * (joint(r, s) - own[r] * own[s])
            for r in range(highest + 1)
            for s in range(highest + 1)
        )
        return sum(terms, Fraction(0))

    same = covariance(lambda r, s: own[r + s])
    of_query, of_key = (covariance(lambda r, s, joint=joint: joint[r][s]) for joint in shared)
    return lambda queries, keys: float(
        (same + (queries - 1) * of_key + (keys - 1) * of_query) / (queries * keys)
    )
