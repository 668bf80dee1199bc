"""Controls: wrong versions of a claim's comparisons, through the same code, that must come out refuted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from verify.montecarlo.estimands import times
from verify.montecarlo.experiment import Comparison, Control, Exact, Prediction
from verify.spec.designs import predicted
from verify.spec.settings import setting_of
from verify.spec.slots import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.montecarlo.experiment import Fit, Quantity


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
        value: What is compared with instead: a ``Prediction``, an expression, a float that was integrated,
            or another comparison, whose prediction is taken. Without one, the check's own stays, and it is
            the ``changes`` that are wrong.
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
    return _off(check, name, f"the value at {printed(f'${at} = {where}$')}", tolerance)


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
    what = f"{printed(check.label)} keeps to {printed(f'{factor:.4g}')} times its bound"
    bound = replace(_shown(factor * check.prediction.value, ".4g"), origin=check.prediction.origin)
    return wrong(check, name or f"{check.id}-sharper", what, bound, truth=truth)


def wrong_fits(lines: Sequence[Fit], tolerance: float) -> tuple[Control, ...]:
    """Return what each fit must refute, through the same points and the same code.

    A coefficient off by twice its tolerance, and for a lack of fit the same points bent upwards.
    """
    return tuple(
        _bent(one)
        if one.target == "misfit"
        else _off(one, f"biased-{one.id}", f"the {printed(one.label)}", tolerance)
        for one in lines
    )


def _bent(line: Fit) -> Control:
    """Multiply each point by 1 + x²: no straight line stays one, and no power of x."""
    bent = tuple(
        replace(member, id=f"bent-{member.id}", estimand=times(member.estimand, 1 + x * x))
        for member, x in zip(line.members, line.fit.x, strict=True)
    )
    shown = f"{printed('$1 + x^2$')} at its {printed('$x$')}, show no {printed(line.label)}"
    what = f"points bent upwards, each times {shown}"
    return wrong(line, f"bent-{line.id}", what, members=bent)
