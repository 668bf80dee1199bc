"""Comparisons over the dimensions, each with what a derived law gives there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sympy import sympify

from verify.montecarlo.experiment import Quantity
from verify.spec.designs import EVEN, prediction
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from verify.montecarlo.blocks import Cell
    from verify.montecarlo.estimands import Estimand
    from verify.montecarlo.experiment import Tolerance
    from verify.spec.designs import ScoreCell


def over_dimensions(
    name: str,
    label: str,
    cells: Mapping[int, Cell],
    estimand: Estimand | Callable[[int], Estimand],
    law: Any,
    tolerance: Tolerance | Callable[[int], Tolerance] = EVEN,
) -> tuple[Quantity, ...]:
    """Return one comparison a cell with ``law``, an expression in the dimension: ``name``-d8 in 8 of them.

    ``cells`` are by dimension; ``estimand`` and ``tolerance`` are one for all, or give that of a dimension.
    """
    return tuple(
        Quantity(
            f"{name}-d{n}",
            label,
            cell,
            estimand(n) if callable(estimand) else estimand,
            prediction(sympify(law).subs(d, n)),
            tolerance(n) if callable(tolerance) else tolerance,
        )
        for n, cell in cells.items()
    )


def variances(
    cells: Sequence[ScoreCell],
    label: str,
    law: Any,
    tolerance: Tolerance | Callable[[int], Tolerance] = EVEN,
) -> tuple[Quantity, ...]:
    """Return ``over_dimensions`` the comparisons of the scores' variances with ``law``."""
    return _each(cells, "variance", label, law, tolerance)


def means(
    cells: Sequence[ScoreCell],
    label: str,
    law: Any,
    tolerance: Callable[[int], Tolerance],
) -> tuple[Quantity, ...]:
    """Return ``over_dimensions`` the comparisons of the scores' means with ``law``.

    ``tolerance`` gives that of a dimension: a mean of 0 has no size of its own to take it from.
    """
    return _each(cells, "mean", label, law, tolerance)


def _each(
    cells: Sequence[ScoreCell],
    what: Literal["mean", "variance"],
    label: str,
    law: Any,
    tolerance: Tolerance | Callable[[int], Tolerance],
) -> tuple[Quantity, ...]:
    return tuple(
        check
        for one in cells
        for check in over_dimensions(
            f"{one.prefix}{what}", label, {one.d: one.cell}, getattr(one, what), law, tolerance
        )
    )
