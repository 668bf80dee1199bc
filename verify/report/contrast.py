"""The number that stands for a claim where there is room for one, and the wrong version it speaks against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence import Verdict
from verify.evidence.words import at_settings, predicted, rounding_error
from verify.report.views import ContrastView
from verify.text import numbers
from verify.text.latex import Prose

if TYPE_CHECKING:
    from verify.evidence import Check, ClaimRecord, Control

_EXACT = 7  # digits of an exact value


def contrast(claim: ClaimRecord) -> ContrastView | None:
    """Return a claim's number with the wrong version that the number refutes, or None without a check.

    The wrong version is the first that the claim lists, but for those that only move a number: one that
    could be believed. The number is the check of the same value; where the wrong version has a sample of
    its own, the last of the first quantity that the claim checks.
    """
    if not claim.checks:
        return None
    wrong = _wrong_version(claim)
    refuting = wrong and _refuting(claim, wrong)
    check = refuting or _leading(claim)
    return ContrastView(
        basis="Computed" if check.method == "exact" else "Measured",
        found=Prose(_found(check)),
        wrong=Prose(_refuted(wrong, own_sample=refuting is None) if wrong else ""),
    )


def _wrong_version(claim: ClaimRecord) -> Control | None:
    refuted = [control for control in claim.controls if control.verdict is Verdict.REFUTED]
    return min(refuted, key=lambda control: control.is_near_miss, default=None)


def _refuting(claim: ClaimRecord, wrong: Control) -> Check | None:
    """Return the check whose value a control is held against, None where the control has one of its own."""
    own = (wrong.estimate, wrong.interval, wrong.cell)
    return next((one for one in claim.checks if (one.estimate, one.interval, one.cell) == own), None)


def _leading(claim: ClaimRecord) -> Check:
    """Return the last check of the first quantity: sizes are listed from small to large."""
    first = claim.checks[0]
    return next(
        one
        for one in reversed(claim.checks)
        if (one.quantity, one.method, one.relation) == (first.quantity, first.method, first.relation)
    )


def _found(check: Check) -> str:
    what = f"{check.quantity}{at_settings(check)}"
    if error := rounding_error(check):
        return f"{what}: {error}, zero but for rounding"
    wanted = predicted(check, check.standard_error)
    if check.method == "exact":
        value = numbers.exact(check.estimate, _EXACT)
        same = value == numbers.exact(check.prediction, _EXACT)
        return f"{what}: {value}, as predicted" if same else f"{what}: {value}, predicted {wanted}"
    found = numbers.estimate(check.estimate, check.standard_error, check.interval)
    return f"{what}: {found.alone} in {found.interval}, predicted {wanted}"


def _refuted(control: Control, *, own_sample: bool) -> str:
    error = (control.interval[1] - control.interval[0]) / 10
    wanted = predicted(control, error)
    text = f"{control.what}, which predicts {wanted}"
    if not own_sample:
        return text
    found = numbers.estimate(control.estimate, error, control.interval)
    value = found.alone if error else numbers.exact(control.estimate, _EXACT)
    return f"{text}; found: {value}"
