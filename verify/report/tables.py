"""Tables of checks, their numbers aligned on the decimal point."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from verify.report import numbers
from verify.report.latex import Prose
from verify.report.words import Badge, badge, cell_text, tolerance_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.evidence import Check, Control

# Advances of Source Sans in em; its figures all have the same.
_FIGURE, _POINT, _GAP, _TIMES, _SUPERSCRIPT = 0.497, 0.249, 0.2, 0.497, 0.36


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in a right-aligned column; ``pad`` (em) keeps its decimal point under the others'."""

    text: str
    pad: float


@dataclass(frozen=True, slots=True)
class Title:
    """What a check or several of them are about: quantity, prediction in symbols, method and tolerance."""

    quantity: Prose
    formula: Prose
    note: Prose


@dataclass(frozen=True, slots=True)
class RowView:
    """One check as a row; ``title`` is None where its group has one for all its rows."""

    anchor: str
    title: Title | None
    label: Prose
    predicted: Cell
    estimate: Cell
    error: Cell
    low: Cell
    high: Cell
    sample: str
    verdict: Badge


@dataclass(frozen=True, slots=True)
class GroupView:
    """Checks of one quantity, or of one fit, under a common title; or single checks each with its own."""

    title: Title | None
    rows: tuple[RowView, ...]


def groups(claim: str, checks: Sequence[Check]) -> tuple[GroupView, ...]:
    """Return a claim's checks in groups, in their order; ``claim`` is its id."""
    found: list[GroupView] = []
    for _, members in groupby(checks, key=_kinship):
        group = _group(claim, tuple(members))
        if group.title is None and found and found[-1].title is None:
            found[-1] = replace(found[-1], rows=found[-1].rows + group.rows)
        else:
            found.append(group)
    return tuple(found)


def _kinship(check: Check) -> tuple[object, ...]:
    if check.method == "fit":
        return check.method, tuple(check.cell.items())
    return check.method, check.quantity, check.relation, check.tolerance_of


def sample(of: Check | Control) -> str:
    """Return blocks and draws, such as ``4096 / 16.8 M``; nothing for an exact value."""
    if of.blocks == 0:
        return ""
    draws = numbers.count(of.draws) if of.draws < 1_000_000 else numbers.exact(of.draws / 1e6, 3) + " M"
    return f"{numbers.count(of.blocks)} / {draws}"


def as_predicted(of: Check | Control, error: float) -> str:
    """Return the prediction beside a measurement with this standard error, a bound with its sign."""
    value = numbers.beside(of.prediction, error)
    return value if of.relation == "=" else f"{of.relation}{numbers.GAP}{value}"


def aligned(texts: Sequence[str]) -> tuple[Cell, ...]:
    """Return the texts of a column as cells whose decimal points line up.

    Where some have a power of ten and some have none, those without line up among themselves.
    """
    mixed = len({"×" in text for text in texts if text}) > 1
    tails = [0.0 if mixed and "×" in text else _tail(text) for text in texts]
    longest = max(tails, default=0.0)
    return tuple(
        Cell(text, 0.0 if not text or (mixed and "×" in text) else round(longest - tail, 3))
        for text, tail in zip(texts, tails, strict=True)
    )


def _tail(text: str) -> float:
    whole, _, power = text.partition("×")
    _, point, fraction = whole.partition(".")
    width = _POINT + len(fraction) * _FIGURE if point else 0.0
    if power:
        width += _TIMES + 2 * _FIGURE + (len(power) - 2) * _SUPERSCRIPT
    return width


def _group(claim: str, checks: tuple[Check, ...]) -> GroupView:
    first = checks[0]
    common = [
        key for key, value in first.cell.items() if all(check.cell.get(key) == value for check in checks)
    ]
    shared = cell_text({key: first.cell[key] for key in common})
    if first.method == "fit":
        titles = [Title(Prose(check.quantity), Prose(""), tolerance_text(check)) for check in checks]
        return GroupView(
            Title(Prose("Weighted fit"), Prose(""), shared), _rows(claim, checks, common, titles)
        )
    formulas = {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    title = Title(
        quantity=Prose(first.quantity),
        # A bare number stands in the column of predictions already.
        formula=Prose(f"predicted ${formula}$" if _has_symbol(formula) else ""),
        note=Prose("; ".join(filter(None, [shared, tolerance_text(first)]))),
    )
    if len(checks) == 1:
        return GroupView(None, _rows(claim, checks, common, [title]))
    return GroupView(title, _rows(claim, checks, common, [None] * len(checks)))


def _has_symbol(latex: str) -> bool:
    return re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", latex)) is not None


def _rows(
    claim: str, checks: tuple[Check, ...], common: Sequence[str], titles: Sequence[Title | None]
) -> tuple[RowView, ...]:
    found = [numbers.estimate(check.estimate, check.standard_error, check.interval) for check in checks]
    measured = [check.method != "exact" for check in checks]
    predicted = aligned([as_predicted(check, check.standard_error) for check in checks])
    estimates = aligned([one.value + one.times for one in found])
    errors = aligned([one.error + one.times if one.error else "" for one in found])
    lows = aligned([one.low + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    highs = aligned([one.high + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    return tuple(
        RowView(
            anchor=f"{claim}.{check.id}",
            title=titles[place],
            label=cell_text(check.cell, without=common),
            predicted=predicted[place],
            estimate=estimates[place],
            error=errors[place],
            low=lows[place],
            high=highs[place],
            sample=sample(check),
            verdict=badge(check.verdict),
        )
        for place, check in enumerate(checks)
    )
