"""Cells that several claims measure, with the block variances derived for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from sympy import S, sympify

from verify.errors import ClaimError
from verify.evidence import PROFILES, Fact
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import Smooth, component, variance
from verify.montecarlo.experiment import EXACTLY, Allowance, Exact, Prediction, Tolerance
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.planning import best_side
from verify.montecarlo.statistics import Reduced, ScoreMoments
from verify.symbolic.blocks import mean_variance, square_variance
from verify.symbolic.printing import latex
from verify.symbolic.row_integrals import over_lengths
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verify.montecarlo.blocks import BlockSampler, Settings
    from verify.montecarlo.distributions import Distribution
    from verify.montecarlo.experiment import Relation
    from verify.montecarlo.inputs import Input
    from verify.montecarlo.statistics import Statistic
    from verify.symbolic.row_integrals import Approximation


_Moments = tuple[tuple[float, ...], tuple[float, ...]]

EVEN = Tolerance()
"""The run's tolerance, of the prediction."""

ROUNDING = Allowance(1e-12)
"""What array code of numbers near 1 may lose to rounding."""


def of_probability(factor: float = 1.0, because: str = "") -> Tolerance:
    """Return ``factor`` times the run's tolerance, of a probability of 1; ``because``, where that is wide."""
    return Tolerance(factor, 1.0, "a probability of 1", because)


def of_deviation(variance: Any, factor: float = 1.0, because: str = "") -> Tolerance:
    """Return ``factor`` times the run's tolerance, of the standard deviation that a ``variance`` gives.

    ``because`` says why, where that is wide beside the prediction.
    """
    return Tolerance(factor, float(variance) ** 0.5, "the standard deviation", because)


def capped(factor: float, tolerance: float, because: str = "") -> Tolerance:
    """Return ``factor`` times the run's tolerance, in coarse profiles no more than in the standard one.

    For quantities so skewed that a coarser band would not take fewer blocks. ``because`` says why the factor
    is above 2, if it is.
    """
    return Tolerance(factor * min(1.0, PROFILES["standard"] / tolerance), because=because)


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


def prediction(expression: Any) -> Prediction:
    """Return a number of SymPy's as a prediction, printed exactly.

    Raises:
        ClaimError: symbols are left in it.
    """
    _refuse_symbols(expression)
    return Prediction(float(expression), latex(expression))


def predicted(value: Any) -> Prediction:
    """Return what is given as a prediction: one already, a float that was integrated, or an expression.

    Raises:
        ClaimError: symbols are left in it.
    """
    if isinstance(value, Prediction):
        return value
    return integrated(value) if isinstance(value, float) else prediction(value)


def _refuse_symbols(expression: Any) -> None:
    """Refuse an expression that is no number yet."""
    left = sorted(str(one) for one in sympify(expression).free_symbols)
    if left:
        raise ClaimError(
            f"{expression} is no number: {', '.join(left)} {'is' if len(left) == 1 else 'are'} left in it; "
            "put numbers in their place with subs"
        )


def threshold(value: Any) -> Prediction:
    """Return a number that is set before the draws, not derived: what "most", "few" or "more" shall mean."""
    return replace(prediction(value), origin="set")


def no_distance(
    name: str,
    label: str,
    settings: Settings,
    found: float,
    code: Callable[..., object],
    allowance: Allowance = ROUNDING,
) -> Exact:
    """Return the comparison of the largest distance that ``code`` has ``found`` with none at all."""
    return Exact(name, label, settings, prediction(S.Zero), found, allowance, code=code)


def computed(
    name: str,
    label: str,
    settings: Mapping[str, int | float | str],
    expected: Any,
    code: Callable[..., float],
    *arguments: Any,
    allowance: Allowance = EXACTLY,
    relation: Relation = "=",
) -> Exact:
    """Return the comparison of what ``code`` makes of its ``arguments`` with what is ``expected``.

    That is a ``Prediction``, an expression, or a float that was integrated.
    """
    found, right = float(code(*arguments)), predicted(expected)
    return Exact(name, label, tuple(settings.items()), right, found, allowance, relation, code)


def mean_of_rows(
    mean: Callable[..., Approximation], keys: int, *more: float, dimension: int, scale: Any
) -> float:
    """Return the mean over rows of scores ``scale``·q·k from what it is at a standard deviation of them.

    Components are standard normal, ``scale`` is a number or an expression in the dimension. ``mean`` takes
    the number of keys, the standard deviation and what is given ``more``.
    """
    of_one = (lambda many, deviation: mean(many, deviation, *more)) if more else mean
    return over_lengths(of_one, keys, dimension, scaled(scale, dimension)).value


def integrated(value: float, digits: int = 6) -> Prediction:
    """Return a number that was integrated numerically as a prediction, shown to so many ``digits``."""
    return Prediction(value, f"{value:.{digits}g}")


def fact(name: str, what: str, expression: Any) -> Fact:
    """Return an exact value as a fact of a claim.

    Raises:
        ClaimError: symbols are left in it.
    """
    _refuse_symbols(expression)
    return Fact(id=name, what=what, latex=latex(expression), value=float(expression))
