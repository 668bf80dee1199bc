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

from verify.montecarlo.compiling import BLOCK, COMPONENT, Column, Compiler, Node
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.statistics import ScoreMoments
from verify.symbolic.vocabulary import BINDERS, Dot, Family, Index, free_indices, m, n, s

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
        both = compiler.emit("score moments", ScoreMoments().reduce, [x, y], (BLOCK, COMPONENT), (0, size))
        for place, term in enumerate((dot, dot**2)):
            column = partial(np.take, indices=place, axis=1)
            taken[term] = compiler.emit(("column", place), column, [both])
    return taken


SHORTCUTS: tuple[Shortcut, ...] = (score_moments,)

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
