"""Cells: settings under which blocks are drawn, with the block variances derived for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, NamedTuple, TypeVar, overload

from sympy import Rational, sympify

from verify.errors import ClaimError, unknown
from verify.montecarlo.blocks import BlockSampler, Cell
from verify.montecarlo.distributions import NORMAL, UNIT_INTERVAL, Distribution
from verify.montecarlo.estimands import Smooth, component, times, variance
from verify.montecarlo.experiment import best_side
from verify.montecarlo.inputs import Input, Simulated
from verify.montecarlo.statistics import Reduced, ScoreMoments, Statistic
from verify.symbolic.blocks import mean_variance, square_variance
from verify.symbolic.printing import latex
from verify.symbolic.scores import d, with_moments

_Moments = tuple[tuple[float, ...], tuple[float, ...]]

_Key = TypeVar("_Key")


def setting_of(check: str, settings: Mapping[str, float | str], name: str) -> float | str:
    """Return one of the settings of a check's cell by its name; ``check`` is the check's id.

    Raises:
        ClaimError: there is none of this name.
    """
    if name not in settings:
        otherwise = f"its settings are {', '.join(settings)}"
        raise ClaimError(f"check {check} has {unknown('setting', name, settings, otherwise)}")
    return settings[name]


def place_of(check: str, settings: Mapping[str, float | str], against: str) -> float:
    """Return the place of a check ``against`` a setting of its cell.

    Raises:
        ClaimError: there is none of this name, or it is not a number.
    """
    found = setting_of(check, settings, against)
    try:
        return float(found)
    except ValueError:
        raise ClaimError(
            f"check {check}: its setting {against!r} is {found!r}; take one that is a number"
        ) from None


def named_by(template: str, cell: str, settings: Mapping[str, float | str]) -> str:
    """Return an id with a cell's settings in the place of their names in braces, {cell} being its own id.

    Raises:
        ClaimError: there is none of a name, or the braces do not fit.
    """
    try:
        return template.format(cell=cell, **settings)
    except KeyError as error:
        otherwise = f"its settings are {', '.join(settings)}"
        missing = unknown("setting", str(error.args[0]), settings, otherwise)
        raise ClaimError(f"id {template!r}: cell {cell} has {missing}") from None
    except (ValueError, IndexError):
        raise ClaimError(f"id {template!r}: write settings of the cell as {{name}}") from None


class Components(NamedTuple):
    """What is drawn, and its mean and variance written out: a prediction asks nothing of what is drawn."""

    distribution: Distribution
    mean: Any
    variance: Any


UNIFORM_COMPONENTS = Components(UNIT_INTERVAL, Rational(1, 2), Rational(1, 12))
"""Those of demonstrations: uniform between 0 and 1."""


def normal(queries: int, keys: int, dimension: int) -> Simulated:
    """Return the input of blocks of queries and keys with independent standard normal components."""
    return Simulated(NORMAL, NORMAL, queries, keys, dimension)


def for_components(expression: Any, query: Components, key: Components) -> Any:
    """Return an expression in the means and deviations of queries' and keys' components for these."""
    return with_moments(expression, query[1:], key[1:])


@dataclass(frozen=True)
class ScoreCell:
    """A cell of score matrices c·QKᵀ and the estimands of its scores' mean and variance.

    ``prefix`` stands before the ids of the cell and of what is compared in it.
    """

    prefix: str
    d: int
    cell: Cell
    mean: Smooth
    variance: Smooth

    def times(self, scale: Any, prefix: str) -> ScoreCell:
        """Return the variance of the same scores times ``scale``, an expression in the dimension."""
        return replace(self, prefix=prefix, variance=times(self.variance, scaled(scale, self.d) ** 2))


@overload
def cell_of(
    name: str, drawn: Input, statistic: Statistic, /, *, scale: Any = None, **more: float | str
) -> Cell: ...


@overload
def cell_of(name: str, drawn: BlockSampler, /, *, scale: Any = None, **more: float | str) -> Cell: ...


def cell_of(
    name: str, drawn: Any, statistic: Any = None, /, *, scale: Any = None, **more: float | str
) -> Cell:
    """Return the cell of a ``statistic`` of the queries and keys of an input, described by both themselves.

    Without a statistic, ``drawn`` is a sampler that does both. ``scale`` is the factor on the scores, an
    expression in the dimension, or several: it is recorded as it is written, and a statistic that has a
    ``scale`` gets its number. ``more`` are settings under which the claim speaks of the cell; ``d_k`` among
    them is the dimension, where that is not the drawn vectors'.

    Raises:
        ClaimError: the statistic has another scale already.
    """
    if scale is not None and hasattr(statistic, "scale"):
        number = scaled(scale, more.get("d_k", drawn.shape.d))
        if statistic.scale not in {1.0, number}:
            raise ClaimError(f"cell {name}: its statistic is at scale {statistic.scale:g}, and scale={scale} "
                             f"is {number:g}; give the scale to cell_of alone")  # fmt: skip
        statistic = replace(statistic, scale=number)
    sampler = Reduced(drawn, statistic) if statistic else drawn
    settings = dict(sampler.settings) | more
    if scale is not None:
        several = isinstance(scale, tuple)
        settings["scale"] = ", ".join(f"${latex(one)}$" for one in scale) if several else _written(scale)
    return Cell(name, tuple(settings.items()), sampler)


def scaled(scale: Any, n: int) -> float:
    """Return the number that ``scale``, an expression in the dimension, is in ``n`` dimensions."""
    return float(sympify(scale).subs(d, n))


def _written(scale: Any) -> int | float | str:
    """Return a scale as a setting: a whole number or a decimal as it is, all else as a formula."""
    expression = sympify(scale)
    if expression.is_Integer:
        return int(expression)
    return float(expression) if expression.is_Float else f"${latex(expression)}$"


def score_cell(
    d: int,
    query: Distribution,
    key: Distribution,
    tolerance: float,
    *,
    scale: Any = None,
    prefix: str = "",
    **more: float | str,
) -> ScoreCell:
    """Return the cell of scores ``scale``·q·k in ``d`` dimensions, its blocks shaped for ``tolerance``.

    ``scale`` is a number, or an expression in the dimension; the record's settings say it, and ``more``.
    """
    factor = 1.0 if scale is None else scaled(scale, d)
    moments = _moments(query, key)
    side = best_side(d, lambda side: _relative_variance(d, side, moments), tolerance)
    return ScoreCell(
        prefix,
        d,
        cell_of(f"{prefix}d{d}", Simulated(query, key, side, side, d), ScoreMoments(), scale=scale, **more),
        component("mean", block_variance=factor**2 * mean_variance(d, side, *moments)),
        variance(block_variance=_relative_variance(d, side, moments)),
    )


def variance_of_scores(d: int, side: int, query: Distribution, key: Distribution) -> Smooth:
    """Return the variance of scores as what is estimated from matrices of ``side``×``side`` of them."""
    return variance(block_variance=_relative_variance(d, side, _moments(query, key)))


def _relative_variance(d: int, side: int, moments: _Moments) -> float:
    """Return the variance of a matrix's mean squared deviation, relative to its square."""
    return square_variance(d, side, *moments) / mean_variance(d, 1, *moments) ** 2


def _moments(query: Distribution, key: Distribution) -> _Moments:
    """Return mean, variance, and third and fourth central moments of a query's and of a key's components."""
    of_query, of_key = ((float(law.mean), *map(float, law.central_moments(4)[2:])) for law in (query, key))
    return of_query, of_key


def cells_of(
    name: str, keys: Iterable[_Key], make: Callable[..., tuple[Any, ...]], *, scale: Any = None, **more: Any
) -> dict[_Key, Cell]:
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
