"""Faster functions for what occurs often, each with the result that the compiler's own operations have.

A shortcut sees all terms of a cell whose means are wanted, and returns the means of those that it takes over.
``tests/montecarlo/test_compiling.py`` compares each with the compiler's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sympy import Expr, Indexed

from verify.montecarlo.compiling import BLOCK, COMPONENT, Column, Compiler, Node
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.statistics import ScoreMoments
from verify.symbolic.vocabulary import BINDERS, Dot, Family, Index, free_indices

Shortcut = Callable[[Compiler, Sequence[Expr]], Mapping[Expr, Node]]


def score_moments(compiler: Compiler, terms: Sequence[Expr]) -> dict[Expr, Node]:
    """Take the means of scores and of their squares from Gram matrices, where vectors have few components."""
    taken: dict[Expr, Node] = {}
    for dot in sorted(set().union(*(term.atoms(Dot) for term in terms)), key=str):
        left, first, right, second = dot.args
        mine = [term for term in terms if term.has(left) or term.has(right)]
        places = isinstance(first, Index) and isinstance(second, Index) and first != second
        if left == right or not places or not set(mine) <= {dot, dot**2}:
            continue
        x, y = compiler.vectors(left, first), compiler.vectors(right, second)
        if x.shape[-1] >= min(x.shape[1], y.shape[1]):
            continue
        compiler.columns |= {str(left.label), str(right.label)}
        moments = compiler.emit(
            ("score moments",),
            ScoreMoments().reduce,
            [x, y],
            (BLOCK, COMPONENT),
            (0, min(x.shape[-1] ** 2, x.shape[1] * y.shape[1])),
        )
        for place, term in enumerate((dot, dot**2)):
            taken[term] = compiler.emit(
                ("column", place),
                lambda both, place=place: both[:, place],
                [moments],
                (BLOCK,),
                (0,),
            )
    return taken


SHORTCUTS: tuple[Shortcut, ...] = (score_moments,)

MIRRORED = 16
"""Keys from which on a row and the one of the other sign are nearly uncorrelated: within 0.1, measured."""


def mirrored(
    outputs: Iterable[Expr], laws: Mapping[Family, Distribution], sizes: Mapping[Any, int]
) -> tuple[Family, ...]:
    """Return the families of normal rows of which every second may be the one before with the other sign.

    That is a row of the same law, whose large weights are those of other keys: of many keys nearly
    uncorrelated, and without a random number drawn. Nothing else may be drawn, and every output must be a
    mean over single rows, for products of the two do not have the mean of independent ones.
    """
    if len(laws) != 1:
        return ()
    ((family, law),) = laws.items()
    if law != NORMAL or len(family.ranges) != 2:
        return ()
    rows, keys = (sizes[extent] for extent in family.ranges)
    if keys < MIRRORED or rows % 2:
        return ()
    for output in outputs:
        of_rows = {entry.indices[0] for entry in output.atoms(Indexed)}
        is_row = len(of_rows) == 1 and of_rows <= free_indices(output)
        if output.atoms(Column) or not is_row or not output.has(*BINDERS):
            return ()
    return (family,)
