"""Faster functions for what occurs often, each with the result that the compiler's own operations have.

A shortcut sees all terms of a cell whose means are wanted, and returns the means of those that it takes over.
``tests/montecarlo/test_compiling.py`` compares each with the compiler's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sympy import Expr, Indexed

from verify.montecarlo.blocks import double
from verify.montecarlo.compiling import BLOCK, COMPONENT, RANDOM, Column, Compiler, Node
from verify.montecarlo.distributions import NORMAL, Array, Distribution
from verify.symbolic.vocabulary import BINDERS, Dot, Family, Index, Indicator, free_indices, m, n, s

Shortcut = Callable[[Compiler, Sequence[Expr]], Mapping[Expr, Node]]


def score_moments(compiler: Compiler, terms: Sequence[Expr]) -> dict[Expr, Node]:
    """Take the means of scores and of their squares, from Gram matrices where vectors have few components."""
    taken: dict[Expr, Node] = {}
    for dot in sorted(set().union(*(term.atoms(Dot) for term in terms)), key=str):
        left, first, right, second = dot.args
        mine = [term for term in terms if term.has(left) or term.has(right)]
        places = isinstance(first, Index) and isinstance(second, Index) and first != second
        if left == right or not places or not set(mine) <= {dot, dot**2}:
            continue
        x, y = compiler.entry(left, (first, COMPONENT)), compiler.entry(right, (second, COMPONENT))
        compiler.columns |= {str(left.label), str(right.label)}
        size = min(x.shape[2] ** 2, x.shape[1] * y.shape[1])
        both = compiler.emit("score moments", moments_of_scores, [x, y], (BLOCK, COMPONENT), (0, size))
        for place, term in enumerate((dot, dot**2)):
            column = partial(np.take, indices=place, axis=1)
            taken[term] = compiler.emit(("column", place), column, [both])
    return taken


def moments_of_scores(queries: Array, keys: Array) -> Array:
    """Return mean S and mean S² of the scores QKᵀ of each block, shape (blocks, 2)."""
    m, d, n = *queries.shape[1:], keys.shape[1]
    if d < min(m, n):
        # The squared Frobenius norm of QKᵀ is tr(QᵀQ·KᵀK), and the d×d matrices are smaller.
        grams = (double(vectors.swapaxes(1, 2) @ vectors) for vectors in (queries, keys))
        squares = np.einsum("bij,bij->b", *grams)
        totals = (double(np.einsum("bmd->bd", vectors)) for vectors in (queries, keys))
        total = np.einsum("bd,bd->b", *totals)
    else:
        scores = double(queries @ keys.swapaxes(1, 2))
        squares = np.einsum("bij,bij->b", scores, scores)
        total = np.einsum("bij->b", scores)
    return np.stack([total, squares], axis=1) / (m * n)


_MANY_POINTS = 4
"""Points from which on numbers are dealt to the gaps between them, not compared with each."""


def shares(compiler: Compiler, terms: Sequence[Expr]) -> dict[Expr, Node]:
    """Take the shares of numbers that lie above many points, from the gap between points that each is in."""
    points: dict[Expr, dict[Expr, float]] = {}
    for term in terms:
        if isinstance(term, Indicator) and all(len(same) == 1 for same in compiler.groups(term).values()):
            point, x = term.args[0].as_independent(*RANDOM, as_Add=True)
            points.setdefault(x, {})[term] = -compiler.value(point)
    taken: dict[Expr, Node] = {}
    for x, events in points.items():
        numbers = compiler.node(x)
        # Of a sum, a point is taken from its first term, which rounds otherwise.
        if len(events) < _MANY_POINTS or numbers.axes[0] != BLOCK or x.is_Add:
            continue
        ordered = sorted(events, key=lambda event: events[event])
        above = partial(shares_above, points=[events[event] for event in ordered])
        key = "shares above", *(events[event] for event in ordered)
        all_shares = compiler.emit(key, above, [numbers], (BLOCK, COMPONENT), (0, len(ordered)))
        for place, event in enumerate(ordered):
            column = partial(np.take, indices=place, axis=1)
            taken[event] = compiler.emit(("column", place), column, [all_shares])
    return taken


def shares_above(numbers: Array, points: Sequence[float]) -> Array:
    """Return the share of each block's numbers above each of ascending points, shape (blocks, points)."""
    blocks, gaps = len(numbers), len(points) + 1
    rows = numbers.reshape(blocks, -1)
    below = np.searchsorted(np.array(points, numbers.dtype), rows, side="left")
    below += gaps * np.arange(blocks)[:, None]
    counts = np.bincount(below.ravel(), minlength=blocks * gaps).reshape(blocks, gaps)
    return np.asarray((rows.shape[1] - counts.cumsum(axis=1)[:, :-1]) / rows.shape[1])


SHORTCUTS: tuple[Shortcut, ...] = (score_moments, shares)

MIRRORED = 16
"""Keys from which on a row and the one of the other sign are nearly uncorrelated: within 0.1, measured."""


def is_mirrored(
    outputs: Iterable[Expr], laws: Mapping[Family, Distribution], sizes: Mapping[Any, int]
) -> bool:
    """Return whether every second row of normal scores may be the one before it with the other sign.

    That is a row of the same law, whose large weights are those of other keys: of many keys nearly
    uncorrelated, and without a random number drawn. Nothing else may be drawn, and every output must be a
    mean over single rows, for products of the two do not have the mean of independent ones.
    """
    if set(laws) != {s} or laws[s] != NORMAL or sizes[n] < MIRRORED or sizes[m] % 2:
        return False
    for output in outputs:
        rows = {entry.indices[0] for entry in output.atoms(Indexed)}
        if (
            output.atoms(Column)
            or len(rows) != 1
            or not rows <= free_indices(output)
            or not output.has(*BINDERS)
        ):
            return False
    return True
