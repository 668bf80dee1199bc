"""Comparisons in several cells, each with what a derived law gives at the settings of its cell."""

from __future__ import annotations

import re
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sympy import Basic, Rational, sympify

from verify.montecarlo.experiment import Prediction, Quantity
from verify.spec.designs import EVEN, cell_of, predicted, prediction
from verify.spec.settings import named_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verify.montecarlo.blocks import Cell
    from verify.montecarlo.estimands import Estimand
    from verify.montecarlo.experiment import Relation, Tolerance
    from verify.spec.designs import ScoreCell

Key = TypeVar("Key")
_Given = TypeVar("_Given")


def cells_of(
    name: str, keys: Iterable[Key], make: Callable[..., tuple[Any, ...]], *, scale: Any = None, **more: Any
) -> dict[Key, Cell]:
    """Return a cell for each of the ``keys``: what ``make`` makes of it, an input and a statistic.

    A sampler that does both stands alone. Where each cell has a scale of its own, it is the third; ``scale``
    and ``more`` are as in ``cell_of``. The parameters of ``make`` have the names of settings, and a key that
    is a tuple is several of them. They are recorded with the cell, and stand in braces in its id, of which
    only letters, digits and hyphens stay: "m{m}-n{n}" makes m05-n64.
    """
    settings, cells = tuple(signature(make).parameters), {}
    for key in keys:
        given = dict(zip(settings, key if isinstance(key, tuple) else (key,), strict=True))
        made = make(**given)
        parts, own = (made[:-1], made[-1]) if len(made) == 3 else (made, scale)
        short = re.sub(r"[^a-z0-9-]", "", name.format(**given).lower())
        cells[key] = cell_of(short, *parts, scale=own, **given, **more)
    return cells


def over_cells(
    name: str,
    label: str,
    cells: Mapping[Key, Cell],
    estimand: Estimand | Callable[..., Estimand],
    law: Any,
    tolerance: Tolerance | Callable[..., Tolerance] = EVEN,
    relation: Relation = "=",
) -> dict[Key, Quantity]:
    """Return one comparison a cell with what ``law`` gives there, by the keys of ``cells``.

    Args:
        name: The ids, with settings of the cell in braces: "variance-d{d_k}" makes variance-d8 in 8
            dimensions; {cell} is the cell's own id.
        label: What is estimated.
        cells: The cells, by whatever the claim tells them apart by.
        estimand: One for all cells, or a function of the key.
        law: A ``Prediction``, an expression whose symbols are settings of the cells, or a function of the
            key that returns either, or a float, which was integrated. A key that is a tuple is several
            arguments.
        tolerance: One for all cells, or a function of the key.
        relation: What is said of the quantity.

    Raises:
        ClaimError: an id names a setting that a cell does not have, or symbols are left in the law.
    """
    return {
        key: Quantity(
            named_by(name, cell.id, dict(cell.settings)),
            label,
            cell,
            _of(estimand, key),
            _predicted(_of(law, key), cell),
            _of(tolerance, key),
            relation,
        )
        for key, cell in cells.items()
    }


def in_turn(*families: Mapping[Key, Quantity]) -> tuple[Quantity, ...]:
    """Return comparisons that ``over_cells`` made in the same cells, those of one cell next to each other."""
    return tuple(family[key] for key in families[0] for family in families)


def _predicted(law: Any, cell: Cell) -> Prediction:
    """Return what a ``law`` gives at the settings of a cell, which are the values of its symbols.

    A setting that is a decimal counts as it is written: 0.1 is a tenth.
    """
    if isinstance(law, Prediction | float):
        return predicted(law)
    expression, settings = sympify(law), dict(cell.settings)
    numbers = {name: Rational(str(one)) for name, one in settings.items() if not isinstance(one, str)}
    symbols = (one for one in expression.free_symbols if str(one) in numbers)
    return prediction(expression.subs({one: numbers[str(one)] for one in symbols}))


def _of(given: _Given | Callable[..., _Given], key: Any) -> Any:
    """Return what is given for all cells, or for the one with this key; SymPy's symbols can be called."""
    if isinstance(given, Basic) or not callable(given):
        return given
    return given(*key) if isinstance(key, tuple) else given(key)


def variances(
    cells: Sequence[ScoreCell],
    label: str,
    law: Any,
    tolerance: Tolerance | Callable[[int], Tolerance] = EVEN,
    name: str = "{prefix}variance-d{d_k}",
) -> tuple[Quantity, ...]:
    """Return the comparisons of the scores' variances with ``law``: variance-d8 after the cell's prefix.

    Under another ``name`` they are called by other settings of the cells.
    """
    return _each(cells, "variance", name, label, law, tolerance)


def means(
    cells: Sequence[ScoreCell],
    label: str,
    law: Any,
    tolerance: Callable[[int], Tolerance],
) -> tuple[Quantity, ...]:
    """Return the comparisons of the scores' means with ``law``: mean-d8 after the cell's prefix.

    ``tolerance`` gives that of a dimension: a mean of 0 has no size of its own to take it from.
    """
    return _each(cells, "mean", "{prefix}mean-d{d_k}", label, law, tolerance)


def _each(
    cells: Sequence[ScoreCell],
    what: Literal["mean", "variance"],
    name: str,
    label: str,
    law: Any,
    tolerance: Tolerance | Callable[[int], Tolerance],
) -> tuple[Quantity, ...]:
    return tuple(
        check
        for one in cells
        for check in over_cells(
            name.replace("{prefix}", one.prefix),
            label,
            {one.d: one.cell},
            getattr(one, what),
            law,
            tolerance,
        ).values()
    )
