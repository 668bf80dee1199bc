"""Checks: comparisons of what is measured or computed with predictions, and their negative controls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from sympy import Basic, Rational, S, sympify

from verify.errors import ClaimError
from verify.evidence import PROFILES, Fact
from verify.evidence.words import cell_text
from verify.former.cells import ScoreCell, named_by, scaled, setting_of
from verify.montecarlo.blocks import Cell, Settings
from verify.montecarlo.estimands import Estimand, times
from verify.montecarlo.experiment import (
    EXACTLY,
    Allowance,
    Comparison,
    Control,
    Exact,
    Fit,
    Prediction,
    Quantity,
    Relation,
    Tolerance,
)
from verify.symbolic.printing import latex
from verify.symbolic.row_integrals import Approximation, over_lengths

_Key = TypeVar("_Key")
_Given = TypeVar("_Given")

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
    """Refuse an expression that is not a number yet."""
    left = sorted(str(one) for one in sympify(expression).free_symbols)
    if left:
        raise ClaimError(
            f"{expression} depends on {', '.join(left)}, so it is not a number; put numbers in place of "
            f"{'it' if len(left) == 1 else 'them'}, as in .subs({left[0]}, 64)"
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
    """Return a number that was integrated numerically as a prediction, shown to ``digits`` digits."""
    return Prediction(value, f"{value:.{digits}g}")


def fact(name: str, what: str, expression: Any) -> Fact:
    """Return an exact value as a fact of a claim.

    Raises:
        ClaimError: symbols are left in it.
    """
    _refuse_symbols(expression)
    return Fact(id=name, what=what, latex=latex(expression), value=float(expression))


def over_cells(
    name: str,
    label: str,
    cells: Mapping[_Key, Cell],
    estimand: Estimand | Callable[..., Estimand],
    law: Any,
    tolerance: Tolerance | Callable[..., Tolerance] = EVEN,
    relation: Relation = "=",
) -> dict[_Key, Quantity]:
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


def in_turn(*families: Mapping[_Key, Quantity]) -> tuple[Quantity, ...]:
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


def wrong(
    check: Comparison,
    name: str,
    what: str,
    value: Any = None,
    *,
    truth: float | Literal["predicted"] | None = "predicted",
    **changes: Any,
) -> Control:
    """Return the control that holds ``check`` against a wrong ``value``, in ``what``'s words.

    All else stays as it is in the check: cell, estimand, label, tolerance, relation, unless ``changes`` of
    its fields say otherwise.

    Args:
        check: The comparison that is right.
        name: The control's id.
        what: What is wrongly claimed, in words.
        value: What is compared with instead: a ``Prediction``, an expression without symbols, a float that
            was integrated, or another comparison, whose prediction is taken. Without one, the check's own
            stays, and it is the ``changes`` that are wrong.
        truth: The derived value of what is measured; None where nothing is derived for it. "predicted" takes
            the check's own prediction, where that is derived as equal and what is measured stays the same.
        **changes: Other fields of the comparison, such as ``relation`` or ``cell``.
    """
    if isinstance(value, Comparison):
        value = value.prediction
    if value is not None:
        changes["prediction"] = predicted(value)
    if truth == "predicted":
        truth = None if changes.keys() - _CLAIMED else _derived(check)
    return Control(what, replace(check, id=name, **changes), truth)


_CLAIMED = {"prediction", "relation", "tolerance", "allowance"}
"""The fields of a comparison that say what is claimed; the others say what is measured."""


def _derived(check: Comparison) -> float | None:
    """Return the value that is derived for what ``check`` measures, if it is one and not a bound."""
    known = check.relation == "=" and check.prediction.origin == "derived" and not isinstance(check, Exact)
    return check.prediction.value if known else None


def biased(check: Quantity, tolerance: float, name: str = "biased-prediction", at: str = "d_k") -> Control:
    """Return the control that every measured value needs: the prediction off by twice the tolerance.

    ``at`` is the setting of the check's cell that tells the words which value it is.
    """
    where = setting_of(check.id, dict(check.cell.settings), at)
    return _off(check, name, f"the value at {cell_text({at: where})}", tolerance)


def _off(check: Quantity | Fit, name: str, subject: str, tolerance: float) -> Control:
    value = check.prediction.value
    value += 2 * check.tolerance.width(value, tolerance)
    return wrong(check, name, f"{subject} is larger by twice the tolerance", _shown(value, ".6g"))


def _shown(value: float, digits: str) -> Prediction:
    return Prediction(value, f"{value:{digits}}")


def sharper(
    check: Quantity | Exact, factor: float, truth: float | None = None, name: str | None = None
) -> Control:
    """Return the control that every bound needs: the same with its constant times ``factor``, which is false.

    ``truth`` is the derived value of what is measured, ``name`` the control's id where that is not the
    check's and "-sharper". A check whose bound is made looser by as much makes this control true, and so is
    seen.
    """
    what = f"{check.label} respects {factor:.4g} times its bound"
    bound = replace(_shown(factor * check.prediction.value, ".4g"), origin=check.prediction.origin)
    return wrong(check, name or f"{check.id}-sharper", what, bound, truth=truth)


def wrong_fits(lines: Sequence[Fit], tolerance: float) -> tuple[Control, ...]:
    """Return what each fit must refute, through the same points and the same code.

    A coefficient off by twice its tolerance, and for a lack of fit the same points bent upwards.
    """
    return tuple(
        _bent(one) if one.target == "misfit" else _off(one, f"biased-{one.id}", f"the {one.label}", tolerance)
        for one in lines
    )


def _bent(line: Fit) -> Control:
    """Multiply each point by 1 + x²: no straight line stays one, and no power of x."""
    bent = tuple(
        replace(member, id=f"bent-{member.id}", estimand=times(member.estimand, 1 + x * x))
        for member, x in zip(line.members, line.fit.x, strict=True)
    )
    shown = f"$1 + x^2$ at its $x$, show no {line.label}"
    what = f"points bent upwards, each times {shown}"
    return wrong(line, f"bent-{line.id}", what, members=bent)
