"""Short ways to make the records of a claim up, and to read what is printed of them."""

from typing import Literal, TypeVar

from verify.evidence import Check, ControlRecord, Verdict
from verify.evidence.judging import share
from verify.text.numbers import GAP, NO_BREAK

LEVEL = 1 - share(1e-3, 1)
_Z = 4.99


def check(
    name: str,
    estimate: float,
    prediction: float,
    *,
    error: float | None = None,
    scale: float | None = None,
    quantity: str = r"$\operatorname{Var}(q \cdot k)$",
    method: str = "monte-carlo",
    cell: dict[str, int | float | str] | None = None,
    of: str = "the prediction",
    latex: str = "d_k",
    tolerance: float = 0.01,
    relation: Literal["=", "≤", "≥"] = "=",
    doubt: str = "",
) -> Check:
    """Return a check, undecided where there is a ``doubt``.

    ``scale`` is what the tolerance is a fraction of, the prediction if not given.
    """
    error = abs(prediction) * 0.0015 if error is None else error
    scale = abs(prediction) if scale is None else scale
    return Check.model_validate(
        {
            "id": name,
            "quantity": quantity,
            "method": method,
            "cell": cell or {},
            "prediction": prediction,
            "prediction_latex": latex,
            "estimate": estimate,
            "standard_error": error,
            "interval": (estimate - _Z * error, estimate + 1.04 * _Z * error),
            "level": LEVEL,
            "tolerance": tolerance,
            "tolerance_of": of,
            "relation": relation,
            "band": (
                None if relation == "≤" else prediction - tolerance * scale,
                None if relation == "≥" else prediction + tolerance * scale,
            ),
            "doubt": doubt,
            "looks": 1,
            "blocks": 4096 if method == "monte-carlo" else 36864,
            "draws": 16_777_216,
        }
    )


_Finding = TypeVar("_Finding", Check, ControlRecord)
_PLACES = {Verdict.CONFIRMED: 0.0, Verdict.APPROXIMATE: 0.5, Verdict.REFUTED: 3.0, Verdict.UNDECIDED: 0.0}
"""Where an estimate lies, in widths of its band from the prediction, and what is found then."""


def turned(finding: _Finding, verdict: Verdict) -> _Finding:
    """Return a check or a control with an estimate and an interval that make it come out so."""
    width = max(abs(end - finding.prediction) for end in finding.band if end is not None)
    side = -1.0 if finding.relation == "≥" else 1.0
    estimate = finding.prediction + side * _PLACES[verdict] * width
    interval = estimate - 0.1 * width, estimate + 0.1 * width
    doubt = "it is made up" if verdict is Verdict.UNDECIDED else ""
    return finding.model_copy(update={"estimate": estimate, "interval": interval, "doubt": doubt})


def check_that_is(verdict: Verdict, name: str) -> Check:
    """Return a check of the prediction 1 that comes out so."""
    return turned(check(name, 1, 1), verdict)


def control_that_is(verdict: Verdict, name: str) -> ControlRecord:
    """Return a control of the prediction 1 that comes out so."""
    return turned(control(name, "", 1, 1), verdict)


def exact_check(name: str, value: float, latex: str, quantity: str) -> Check:
    """Return a check of two exact values."""
    given = check(name, value, value, error=0, quantity=quantity, of="", latex=latex, tolerance=0)
    sampled = {"method": "exact", "level": 1, "looks": 0, "blocks": 0, "draws": 0}
    return given.model_copy(update=sampled)


def control(name: str, what: str, prediction: float, estimate: float, **more: object) -> ControlRecord:
    """Return a control, undecided where there is a ``doubt``."""
    spread = 0.0075 * abs(estimate)
    return ControlRecord.model_validate(
        {
            "id": name,
            "what": what,
            "cell": {"d_k": 64, "law": "normal"},
            "prediction": prediction,
            "estimate": estimate,
            "interval": (estimate - spread, estimate + spread),
            "band": (0.99 * prediction, 1.01 * prediction),
            "power": 0.99998,
            "blocks": 4096,
            "draws": 16_777_216,
            **more,
        }
    )


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours such as ``#0072b2``, as WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def spaced(text: str) -> str:
    """Return a text with plain spaces."""
    return text.replace(NO_BREAK, " ").replace(GAP, " ")
