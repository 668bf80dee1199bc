"""Measures expressions: which blocks are drawn, which means are taken of them, and how these are combined.

A quantity is a smooth function of means, such as ``Var(score)``, the mean square less the squared mean.
Each mean is a column of the blocks' statistics; all quantities of a setting share a cell, and with it its
draws. Where a quantity is made of means of polynomials of one score, and the laws have the moments, the
variance of a block's estimate is derived.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from verify.errors import ClaimError
from verify.montecarlo.blocks import PIECE, Cell, Settings
from verify.montecarlo.compiling import Column, Compiler
from verify.montecarlo.distributions import Distribution, stream
from verify.montecarlo.estimands import Bounded, Crossing, DistanceToLaw, Estimand, Smooth
from verify.montecarlo.shapes import block_variance, lengths_of
from verify.symbolic.vocabulary import (
    Cov,
    Dot,
    E,
    Entropy,
    Family,
    Index,
    Indicator,
    Largest,
    LargestGap,
    Named,
    Quantile,
    Softmax,
    Var,
    d,
    free_indices,
    m,
    n,
    range_of,
    s,
)


def is_nonnegative(expression: sp.Expr) -> bool:
    """Return whether it can be seen that an expression in means is never below 0."""
    if isinstance(expression, E | Quantile | Largest | sp.Sum):
        return is_nonnegative(expression.args[0])
    if isinstance(expression, sp.Pow):
        return bool(expression.exp.is_even) or is_nonnegative(expression.base)
    if isinstance(expression, sp.Add):
        whole = sp.factor_terms(expression)
        if not isinstance(whole, sp.Add):
            return is_nonnegative(whole)
        # What is left of a bound, as in 1 - E p, log n - E H and E x² - (E x)².
        if any(_is_at_most(part - expression, part) for part in expression.args):
            return True
    if isinstance(expression, sp.Add | sp.Mul):
        return all(map(is_nonnegative, expression.args))
    always = isinstance(expression, Var | Softmax | Entropy | Indicator | sp.Abs | sp.exp)
    return always or bool(expression.is_nonnegative)


def _is_at_most(expression: sp.Expr, bound: sp.Expr) -> bool:
    """Return whether a mean is of weights or events, at most 1, or of an entropy, at most log n.

    And whether it is a squared mean, which is at most the mean square.
    """
    if isinstance(expression, sp.Pow) and isinstance(expression.base, E) and expression.exp == 2:
        return bool(bound == E(expression.base.args[0] ** 2))
    if not isinstance(expression, E):
        return False
    (x,) = expression.args
    if isinstance(x, Entropy):
        return bound == sp.log(range_of(*x.args))
    x = x.args[0] if isinstance(x, Largest | sp.Sum) else x
    x = x.base if isinstance(x, sp.Pow) and x.exp.is_even else x
    return bound == 1 and isinstance(x, Softmax | Indicator)


_text = lru_cache(maxsize=4096)(str)
"""An expression as text, which names outputs; it takes longer than to sort them."""


def _symbol(x: sp.Expr) -> sp.Symbol:
    # A name that Python takes, for SymPy would put other names in, in every expression that it compiles.
    return sp.Symbol(f"mean_{hashlib.blake2b(_text(x).encode(), digest_size=8).hexdigest()}")


def _renamed(x: sp.Expr) -> sp.Expr:
    """Return an expression with the first index of a range in the place of the second, where that is free."""
    taken = x.atoms(Index)
    for first, second in (("a", "b"), ("j", "l")):
        if Index(second) in free_indices(x) and Index(first) not in taken:
            x = x.xreplace({Index(second): Index(first)})
    return x


_ROLES = {"q": "query", "k": "key", "v": "value", "u": "upstream"}


def measurement(
    name: str,
    quantities: Mapping[str, sp.Expr],
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    *,
    tolerance: float,
    shape: Mapping[Any, int] | None = None,
) -> tuple[Cell, dict[str, Estimand]]:
    """Return the cell in which quantities of one setting are measured, and the estimand of each.

    Args:
        name: The cell's id, which seeds its streams.
        quantities: Expressions in means, variances, covariances and quantiles, by name.
        laws: The law of each family.
        at: Values of sizes and symbols. Numbers of queries or keys of which any is meant are chosen, if none
            are given, so that ``tolerance`` is reached soonest.
        tolerance: The relative half-width that is wanted.
        shape: Lengths of ranges in a block, where they are not the values of their sizes.

    Raises:
        ClaimError: a size or a symbol has no value, or an expression cannot be compiled.
    """
    if not laws:
        raise ClaimError(f"{', '.join(quantities)}: nothing is drawn; give laws, such as laws={{q: NORMAL}}")
    # In means and quantiles alone.
    written = {
        key: sp.sympify(quantity).replace(
            lambda part: isinstance(part, Var | Cov | Named), lambda part: part.definition
        )
        for key, quantity in quantities.items()
    }
    arguments = {mean.args[0] for quantity in written.values() for mean in quantity.atoms(E, Quantile)}
    if nested := next((x for x in sorted(arguments, key=_text) if x.has(E, Quantile)), None):
        raise ClaimError(f"{nested}: a mean inside of a mean; means are taken over everything that is drawn")
    sizes, chosen = lengths_of(sorted(arguments, key=_text), laws, at, shape or {}, tolerance)
    values = {**{extent: size for extent, size in sizes.items() if isinstance(extent, sp.Symbol)}, **at}
    cell = Cell(name, (), (), tuple(laws.items()), tuple(sizes.items()), tuple(values.items()))
    # Each quantity becomes a function of means; means that several have in common are one output.
    outputs: dict[str, sp.Expr] = {}
    estimands: dict[str, Estimand] = {}
    for key, quantity in written.items():
        estimands[key], averaged = _estimand(key, quantities[key], quantity, cell, at)
        for x in averaged:
            if outputs.setdefault(_text(x), x) != x:
                raise ClaimError(f"{x}: two programs of one setting have a column of this name; rename one")
    recorded = _settings(laws, at, sizes, chosen)
    # The first sentence of a program's docstring says what connects it to the chain.
    sentences = set()
    for program in {column.program for x in arguments for column in x.atoms(Column)}:
        sentence = " ".join((inspect.getdoc(program) or "").partition("\n\n")[0].split())
        if not sentence:
            says = "has no docstring; say in a sentence what connects it to the derivation"
            raise ClaimError(f"{getattr(program, '__name__', 'program')} {says}")
        sentences.add(sentence)
    if sentences:
        recorded = (*recorded, ("program", " ".join(sorted(sentences))))
    return replace(cell, settings=recorded, outputs=tuple(outputs.items())), estimands


def _estimand(
    key: str, given: sp.Expr, quantity: sp.Expr, cell: Cell, at: Mapping[Any, Any]
) -> tuple[Estimand, tuple[sp.Expr, ...]]:
    """Return the estimand of a quantity, as it is ``given`` and in means alone, and what these average."""
    means = {mean: _renamed(mean.args[0]) for mean in sorted(quantity.atoms(E), key=_text)}
    in_symbols = {mean: _symbol(x) for mean, x in means.items()}
    # Means over any query and over any other query are the same output, whose slope counts once.
    outputs = {in_symbols[mean]: x for mean, x in means.items()}
    for part in sorted(quantity.atoms(Quantile), key=_text):
        in_symbols[part], shares = _interpolated(part, cell)
        outputs |= {_symbol(share): share for share in shares}
    expression = quantity.xreplace(in_symbols).subs(at)
    if unknown := sorted(map(str, expression.free_symbols - outputs.keys())):
        raise ClaimError(f"{key}: no value is given for {', '.join(unknown)}; put it into at={{…}}")
    averaged = tuple(outputs.values())
    is_share = isinstance(quantity, E) and isinstance(quantity.args[0], Indicator)
    share = _text(_renamed(quantity.args[0])) if is_share else ""
    # Of a program's columns a block is one event, and dear: its interval holds for any number of them.
    if is_share and quantity.has(Column) and not quantity.has(sp.Indexed, Dot):
        return Bounded(share), averaged
    sizes, positive, derived = dict(cell.sizes), is_nonnegative(given), None
    # Where arrays are of other lengths than their symbols say, what is derived is of other blocks.
    if all(sizes.get(extent, value) == value for extent, value in at.items()):
        derived = block_variance(expression, tuple(outputs.items()), cell.laws, tuple(at.items()))
    of_block = derived.of(sizes[m], sizes[n], relative=positive) if derived else None
    named = tuple((symbol, _text(x)) for symbol, x in outputs.items())
    return Smooth(expression, named, positive, of_block, share), averaged


PAIRS = 64
"""Independent scores of a block in which shares are compared with a law."""


def of_pairs(
    name: str, gaps: Mapping[str, LargestGap], laws: Mapping[Family, Distribution], at: Mapping[Any, Any]
) -> tuple[Cell, dict[str, Estimand]]:
    """Return the cell in which shares of independent scores are counted, and the estimand of each gap.

    Each query has a key of its own, for the interval of a distance to a law is for independent values.
    """
    own: dict[Any, Any] = {
        family: Family(family.label, *(m if extent == n else extent for extent in family.ranges))
        for family in laws
    }
    outputs: dict[str, sp.Expr] = {}
    estimands: dict[str, Estimand] = {}
    for key, gap in gaps.items():
        share, x, points, values = gap.args
        places: dict[Any, Any] = dict.fromkeys(free_indices(share), Index("a"))
        event = share.args[0].xreplace({**own, **places})
        events = [event.xreplace({x: point}) for point in points]
        outputs |= {_text(event): event for event in events}
        estimands[key] = DistanceToLaw(tuple(map(float, values)), tuple(map(_text, events)))
    sizes = {
        extent: PAIRS if extent == m else int(extent.subs(at))
        for family in own.values()
        for extent in family.ranges
    }
    recorded = (*_settings(laws, at, {}, ()), ("block", f"{PAIRS} pairs"))
    cell = Cell(
        name,
        recorded,
        tuple(outputs.items()),
        tuple((own[family], law) for family, law in laws.items()),
        tuple(sizes.items()),
        tuple({**sizes, **at}.items()),
        order=1,
    )
    return cell, estimands


def _settings(
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    sizes: Mapping[Any, int],
    chosen: Sequence[Any],
) -> Settings:
    """Return the settings that a cell records: the dimension, laws, other values, and a block's shape."""
    values: dict[str, int | float | str] = {}
    for symbol, value in at.items():
        number = sp.sympify(value)
        exact = int(number) if number.is_Integer else f"${sp.latex(number)}$"
        values[str(symbol)] = float(number) if number.is_Float else exact
    drawn = {str(family.label): law.name for family, law in laws.items() if family != s}
    # Tables of the report have these in their columns, in this order.
    dimension = {name: values.pop(name) for name in (str(d),) if name in values}
    recorded = dimension | {_ROLES.get(name, name): law for name, law in drawn.items()} | values
    if s in laws:
        recorded["scores"] = f"independent {laws[s].name}"
    elif {m, n} <= set(chosen):
        recorded["block"] = f"{sizes[m]}×{sizes[n]}"
    elif {m, n} <= set(sizes):
        recorded["block"] = f"{sizes[m]} queries, {sizes[n]} keys"
    return tuple(recorded.items())


# Values from which the points of a quantile are chosen, and components, at most, that are drawn for them.
_PILOT, _MOST_DRAWN = 1 << 15, 1 << 22


def _scale(cell: Cell, x: sp.Expr, level: float) -> tuple[sp.Rational, sp.Rational, bool]:
    """Return a point near a quantile, a step to either side, and whether that is a factor.

    They come from a pilot of the cell's own stream, and are rounded, so that they are the same on all
    machines. Numbers that are nowhere negative may spread over powers of ten: steps are factors there.
    """
    compiler = Compiler(dict(cell.sizes), dict(cell.values), dict(cell.laws))
    compiler.learn(x)
    node = compiler.node(x)
    compiled, rng = compiler.compiled([node]), stream(0, "quantile", cell.id, 0)
    step = max(1, PIECE // compiled.peak)
    count = max(64, min(_PILOT // max(1, node.size), _MOST_DRAWN // cell.coordinates))
    drawn = (cell.draws(rng, min(step, count - first)) for first in range(0, count, step))
    values = np.concatenate([np.ravel(compiled.run(draws, rng)) for draws in drawn])
    # Far enough for shares that differ, near enough for a parabola.
    around = level * (1 - level) / 8
    low, middle, high = np.quantile(values, [level - around, level, level + around])
    is_factor = bool(values.min() >= 0 < low)
    half = math.sqrt(high / low) - 1 if is_factor else (high - low) / 2
    if not 0 < half < math.inf:
        raise ClaimError(f"{x}: has no density at its quantile {level:g}, so that no interval can be given")
    fine = middle * half if is_factor else half
    point, half = _rounded(middle, fine), _rounded(half, half)
    return point, 1 + half if is_factor else half, is_factor


def _rounded(value: float, fine: float) -> sp.Rational:
    """Return a number rounded to the second digit of ``fine``."""
    digit = sp.Rational(10) ** (math.floor(math.log10(fine)) - 1)
    return digit * round(value / float(digit))


def _interpolated(quantile: Quantile, cell: Cell) -> tuple[sp.Expr, list[sp.Expr]]:
    """Return a quantile as a smooth function of shares, by their symbols, and what they are the means of.

    The shares lie at a point and a step to either side; the quantile is where the parabola through the
    three, over the steps, reaches the level.
    """
    x, level = quantile.args
    point, step, is_factor = _scale(cell, x, float(level))

    def place(steps: sp.Expr) -> sp.Expr:
        return point * step**steps if is_factor else point + step * steps

    shares = [Indicator(place(sp.Integer(side)) - x) for side in (-1, 0, 1)]
    below, here, above = map(_symbol, shares)
    return place(Crossing(below, here, above, level)), shares
