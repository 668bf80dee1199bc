"""Tables of checks and controls: which rows stand together, and what is printed once."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from verify.evidence import Check, ControlRecord, Setting, Verdict
from verify.evidence.words import (
    Badge,
    badge,
    cell_text,
    control_badge,
    predicted,
    remark,
    rounding_error,
    tolerance_text,
)
from verify.text import numbers
from verify.text.latex import Prose

_EXACT = 7  # digits of an exact value, one more than of its prediction


class Title(NamedTuple):
    """What checks are about: quantity, prediction in symbols, and their settings and tolerance."""

    quantity: Prose
    formula: Prose
    note: Prose


class TableRow(NamedTuple):
    """One check as a row; ``title`` is None where its group has one for all its rows.

    ``cells`` are prediction, estimate, standard error and the ends of the interval; ``remark`` says how
    close a bound is and what is unusual about the check.
    """

    anchor: str
    title: Title | None
    label: Prose
    remark: Prose
    cells: tuple[str, ...]
    sample: str
    verdict: Badge


class Group(NamedTuple):
    """Checks of one quantity, or of one fit, under a common title; or single checks each with its own."""

    title: Title | None
    rows: tuple[TableRow, ...]


class CheckTable(NamedTuple):
    """A claim's checks; ``common`` is the line of the settings that all of them have."""

    groups: tuple[Group, ...]
    common: Prose


class ControlRow(NamedTuple):
    """A wrong version of the claim and what became of it."""

    anchor: str
    what: Prose
    predicted: str
    found: str
    power: str
    verdict: Badge


class ControlTable(NamedTuple):
    """A claim's controls; ``common`` is the line of the settings that all of them have."""

    rows: tuple[ControlRow, ...]
    common: Prose
    refuted: int


def check_table(claim: str, checks: Sequence[Check]) -> CheckTable:
    """Return a claim's checks in groups, in their order; ``claim`` is its id."""
    gathered = [tuple(members) for _, members in groupby(checks, key=_group_key)]
    common = shared_settings(checks) if len(gathered) > 1 else {}
    # Numbers of alike size in one column have alike many digits.
    measured = [check for check in checks if check.standard_error]
    shared = numbers.shared_places([(one.estimate, one.standard_error, one.interval) for one in measured])
    places = {check.id: place for check, place in zip(measured, shared, strict=True)}
    # What most exact checks allow for, mostly rounding, is said once.
    exact = Counter(str(tolerance_text(check)) for check in checks if check.method == "exact")
    usual = next((text for text, count in exact.most_common(1) if count > 2), "")
    groups: list[Group] = []
    for members in gathered:
        settings = shared_settings(members)
        own = cell_text(settings, without=tuple(common))
        is_fit, alone = members[0].method == "fit", len(members) == 1
        title = Title(Prose("Weighted fit"), Prose(""), own) if is_fit else _title(members, own, usual)
        rows = tuple(
            _row(
                claim,
                check,
                places.get(check.id),
                cell_text(check.cell, without=tuple(settings)),
                _title((check,), Prose(""), usual) if is_fit else title if alone else None,
            )
            for check in members
        )
        if is_fit or not alone:
            groups.append(Group(title, rows))
        elif groups and groups[-1].title is None:
            groups[-1] = Group(None, groups[-1].rows + rows)
        else:
            groups.append(Group(None, rows))
    line = _common_line("checks", common)
    if usual:
        line = Prose(f"{line} Exact checks: {usual}, unless stated otherwise.".strip())
    return CheckTable(tuple(groups), line)


def control_table(claim: str, controls: Sequence[ControlRecord]) -> ControlTable:
    """Return a claim's controls, in their order; ``claim`` is its id."""
    common = shared_settings(controls) if len(controls) > 1 else {}
    rows = []
    for control in controls:
        # A control has no standard error of its own; its interval's width shows which digits count.
        error = (control.interval[1] - control.interval[0]) / 10
        found = numbers.estimate(control.estimate, error, control.interval)
        where = cell_text(control.cell, without=tuple(common))
        rows.append(
            ControlRow(
                anchor=f"{claim}.{control.id}",
                what=Prose(f"{control.what} ({where})" if where else control.what),
                predicted=predicted(control, error),
                found=f"{found.alone} in {found.interval}"
                if error
                else numbers.exact(control.estimate, _EXACT),
                power=numbers.power(control.power) if control.blocks else "exact",
                verdict=control_badge(control.verdict),
            )
        )
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    return ControlTable(tuple(rows), _common_line("controls", common), refuted)


def shared_settings(of: Sequence[Check | ControlRecord]) -> dict[str, Setting]:
    """Return the settings that are the same for all: of a single one, all of them."""
    first = of[0].cell if of else {}
    return {
        key: value
        for key, value in first.items()
        if all(key in one.cell and one.cell[key] == value for one in of)
    }


def sample_size(check: Check) -> str:
    """Return blocks and draws, such as ``4096 / 16.8 M``; nothing for an exact value."""
    if check.blocks == 0:
        return ""
    millions = numbers.exact(check.draws / 1e6, 3) + " M"
    return f"{numbers.count(check.blocks)} / {millions if check.draws >= 1e6 else numbers.count(check.draws)}"


def _group_key(check: Check) -> tuple[object, ...]:
    """Return what neighbouring checks have in common if they stand under one title."""
    if check.method == "fit":
        return check.method, tuple(check.cell.items())
    said = check.tolerance, check.tolerance_of, check.tolerance_because
    return check.method, check.quantity, check.relation, check.origin, *said


def _common_line(owners: str, settings: dict[str, Setting]) -> Prose:
    """Return the line above a table, such as ``In all checks: points 3; from 1.``, or nothing."""
    # With semicolons: some settings are descriptions that hold commas.
    listed = "; ".join(cell_text({key: value}) for key, value in settings.items())
    return Prose(f"In all {owners}: {listed}." if settings else "")


def _title(checks: Sequence[Check], settings: Prose, usual: str) -> Title:
    """Return what checks are about."""
    formulas = {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    tolerance = tolerance_text(checks[0])
    word = "threshold" if checks[0].is_threshold else "predicted"
    # A bare number stands in the column of predictions already.
    symbols = re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", formula))
    return Title(
        quantity=Prose(checks[0].quantity),
        formula=Prose(f"{word} ${formula}$" if symbols else ""),
        note=Prose("; ".join(filter(None, [settings, tolerance if tolerance != usual else ""]))),
    )


def _row(claim: str, check: Check, place: int | None, label: Prose, title: Title | None) -> TableRow:
    found = numbers.estimate(check.estimate, check.standard_error, check.interval, place)
    measured = check.method != "exact"
    return TableRow(
        anchor=f"{claim}.{check.id}",
        title=title,
        label=Prose("") if title and check.method != "fit" else label,
        remark=Prose(remark(check)),
        cells=(
            predicted(check, check.standard_error, place),
            found.alone
            if check.standard_error
            else rounding_error(check) or numbers.exact(check.estimate, _EXACT),
            found.error + found.times if found.error else "",
            found.low + found.times if measured else "",
            found.high + found.times if measured else "",
        ),
        sample=sample_size(check),
        verdict=badge(check.verdict),
    )
