"""A claim's tables of checks and controls: which rows stand together, and what is printed once for them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple

from verify.evidence import Verdict
from verify.evidence.words import (
    allowance_text,
    badge,
    cell_text,
    control_badge,
    predicted,
    remark,
    rounding_error,
    tolerance_text,
)
from verify.report.columns import aligned, check_widths, control_widths
from verify.report.views import Cell, CheckTable, ControlTable, ControlView, GroupView, RowView, Title
from verify.text import numbers
from verify.text.latex import Prose, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verify.evidence import Check, Control, Setting

_KINDS = {"monte-carlo": "simulated checks", "exact": "exact checks", "fit": "fits"}
_SEVERAL = 3  # rows that print the same are worth a line that says it once
_LONG = 60  # letters of settings that neighbours print once
_WORDY = 36  # letters of a quantity that has a line to itself
_NUMBERS = ("predicted", "estimate", "error", "low", "high")
_EXACT = 7  # digits of an exact value, one more than of its prediction


class _Common(NamedTuple):
    """Settings that several groups of checks have in common; ``owners`` names the checks."""

    owners: str
    settings: Mapping[str, Setting]
    methods: tuple[str, ...]


class _Table(NamedTuple):
    """What the groups of a claim's table of checks have in common.

    ``places`` are those of the checks' last digits, by id, and ``usual`` is what most exact checks allow for.
    """

    claim: str
    places: Mapping[str, int]
    usual: str
    wide: bool


def check_table(claim: str, checks: Sequence[Check], *, wide: bool = False) -> CheckTable:
    """Return a claim's checks in groups, in their order; ``claim`` is its id.

    In a ``wide`` table the first column takes every title of a single check, and no group is one of one.
    """
    common = _common(checks)
    stated = {
        method: {key for one in common if method in one.methods for key in one.settings} for method in _KINDS
    }
    groups: list[GroupView] = []
    usual, stating = _usual_allowance(checks)
    table = _Table(claim, _places(checks), usual, wide)
    for members in _gathered(checks, stated):
        group = _group(table, members, stated[members[0].method])
        if group.title is None and groups and groups[-1].title is None:
            groups[-1] = replace(groups[-1], rows=groups[-1].rows + group.rows)
        else:
            groups.append(group)
    return CheckTable(
        groups=_lined_up(groups),
        common=(*(_common_line(one.owners, one.settings) for one in common), *stating),
        widths=check_widths([row for group in groups for row in group.rows]),
    )


def control_table(claim: str, controls: Sequence[Control]) -> ControlTable:
    """Return a claim's controls, in their order; ``claim`` is its id."""
    drawn = [control for control in controls if control.blocks]
    members = drawn if len(drawn) > 1 else controls
    common = _shared_settings(members) if len(members) > 1 else {}
    rows = tuple(_control(claim, one, tuple(common) if one in members else ()) for one in controls)
    owners = "controls" if len(members) == len(controls) else "simulated controls"
    return ControlTable(
        rows=rows,
        common=_common_line(owners, common),
        widths=control_widths(rows),
        refuted=sum(control.verdict is Verdict.REFUTED for control in controls),
    )


def _common(checks: Sequence[Check]) -> tuple[_Common, ...]:
    """Return the settings to print once above a claim's checks: those of all, then those of each method.

    What a single group shares stands at its head.
    """
    found: list[_Common] = []
    methods = tuple(dict.fromkeys(check.method for check in checks))
    for scope in dict.fromkeys((methods, *((method,) for method in methods))):
        members = [check for check in checks if check.method in scope]
        stated = {key for one in found for key in one.settings}
        settings = {key: value for key, value in _shared_settings(members).items() if key not in stated}
        if settings and len({_group_key(check) for check in members}) > 1:
            found.append(_Common("checks" if scope == methods else _KINDS[scope[0]], settings, scope))
    return tuple(found)


def _shared_settings(of: Sequence[Check | Control]) -> dict[str, Setting]:
    """Return the settings that are the same for all: of a single one, all of them."""
    first = of[0].cell if of else {}
    return {
        key: value
        for key, value in first.items()
        if all(key in one.cell and one.cell[key] == value for one in of)
    }


def _common_line(owners: str, settings: Mapping[str, Setting]) -> Prose:
    """Return the line above a table, such as ``In all fits: points 3; from 1.``, or nothing."""
    # With semicolons: some settings are descriptions that hold commas.
    listed = "; ".join(cell_text({key: value}) for key, value in settings.items())
    return Prose(f"In all {owners}: {listed}." if settings else "")


def _gathered(checks: Sequence[Check], stated: Mapping[str, Collection[str]]) -> Iterator[tuple[Check, ...]]:
    """Yield checks of one kind together, and neighbours of several kinds with the same long settings."""
    waiting: tuple[Check, ...] = ()
    for _, run in groupby(checks, key=_group_key):
        members = tuple(run)
        alone = len(members) == 1 and members[0].method != "fit"
        known = stated[members[0].method]
        if (
            alone
            and waiting
            and waiting[0].method == members[0].method
            and _long(waiting[0], known) == _long(members[0], known)
        ):
            waiting += members
            continue
        if waiting:
            yield waiting
        waiting = members if alone and _long(members[0], known) else ()
        if not waiting:
            yield members
    if waiting:
        yield waiting


def _long(check: Check, stated: Collection[str]) -> dict[str, Setting]:
    """Return a check's settings that are not stated yet where they would fill several lines of its cell."""
    left = {key: value for key, value in check.cell.items() if key not in stated}
    return left if len(cell_text(left)) >= _LONG else {}


def _group_key(check: Check) -> tuple[object, ...]:
    """Return what neighbouring checks have in common if they stand under one title."""
    if check.method == "fit":
        return check.method, tuple(check.cell.items())
    said = check.tolerance, check.tolerance_of, check.tolerance_because
    return check.method, check.quantity, check.relation, check.origin, *said


def _sample_size(check: Check) -> str:
    """Return blocks and draws, such as ``4096 / 16.8 M``; nothing for an exact value."""
    if check.blocks == 0:
        return ""
    draws = (
        numbers.count(check.draws) if check.draws < 1_000_000 else numbers.exact(check.draws / 1e6, 3) + " M"
    )
    return f"{numbers.count(check.blocks)} / {draws}"


def _usual_allowance(checks: Sequence[Check]) -> tuple[str, tuple[Prose, ...]]:
    """Return what most exact checks allow for, if several do, and the line that says so once."""
    exact = [allowance_text(check) for check in checks if check.method == "exact"]
    ((usual, count),) = Counter(filter(None, exact)).most_common(1) or [("", 0)]
    if count < _SEVERAL:
        return "", ()
    rest = "" if count == len(exact) else ", where nothing else is said"
    return usual, (Prose(f"Exact checks hold {usual}{rest}."),)


def _group(table: _Table, checks: tuple[Check, ...], stated: Collection[str]) -> GroupView:
    first = checks[0]
    common = tuple(_shared_settings(checks))
    own = cell_text({key: first.cell[key] for key in common if key not in stated})
    alone = len(checks) == 1
    if first.method == "fit" and not (table.wide and alone):
        titles = [Title(Prose(check.quantity), Prose(""), tolerance_text(check)) for check in checks]
        return GroupView(Title(Prose("Weighted fit"), Prose(""), own), _rows(table, checks, common, titles))
    if alone and own and not table.wide and (_is_tall(first.prediction_latex) or _is_wordy(first.quantity)):
        # The first column is too narrow for that: it gets a line of its own.
        return GroupView(_title(checks, Prose(""), table.usual), _rows(table, checks, tuple(stated), [None]))
    if alone:
        title = _title(checks, own, table.usual, bare=table.wide and not table.usual)
        if table.wide and _is_tall(first.prediction_latex):
            title = replace(
                title, formula=Prose("")
            )  # too high for a line of text; its value stands beside it
        return GroupView(None, _rows(table, checks, common, [title]))
    if len({_group_key(check) for check in checks}) > 1:
        titles = [_title((check,), Prose(""), table.usual) for check in checks]
        return GroupView(Title(Prose("Same settings"), Prose(""), own), _rows(table, checks, common, titles))
    return GroupView(_title(checks, own, table.usual), _rows(table, checks, common, [None] * len(checks)))


def _title(checks: tuple[Check, ...], settings: Prose, usual: str, *, bare: bool = False) -> Title:
    """Return what checks are about; ``bare`` without the word that no estimate may be off."""
    tolerance = tolerance_text(checks[0], usual)
    formulas = {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    shown = rf"\displaystyle {formula}" if _is_tall(formula) else formula
    return Title(
        quantity=Prose(checks[0].quantity),
        # A bare number stands in the column of predictions already.
        formula=Prose(f"predicted ${shown}$" if _has_symbol(formula) else ""),
        note=Prose("; ".join(filter(None, [settings, "" if bare and tolerance == "exact" else tolerance]))),
    )


def _is_wordy(quantity: str) -> bool:
    """Whether a quantity would fill several lines of the first column."""
    return len(plain(quantity)) > _WORDY


def _is_tall(latex: str) -> bool:
    """Whether a formula has a fraction that running text would show too small to read."""
    return re.search(r"\\frac.*(\\sqrt|\\sum|\\int|\^)", latex) is not None


def _has_symbol(latex: str) -> bool:
    return re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", latex)) is not None


def _places(checks: Sequence[Check]) -> dict[str, int]:
    """Return the place of each measured check's last digit, by id: alike for numbers of alike size."""
    measured = [check for check in checks if check.standard_error]
    shared = numbers.shared_places([(one.estimate, one.standard_error, one.interval) for one in measured])
    return {check.id: place for check, place in zip(measured, shared, strict=True)}


def _rows(
    table: _Table, checks: tuple[Check, ...], common: Sequence[str], titles: Sequence[Title | None]
) -> tuple[RowView, ...]:
    return tuple(
        _row(
            f"{table.claim}.{check.id}",
            check,
            table.places.get(check.id),
            cell_text(check.cell, without=common),
            title,
        )
        for check, title in zip(checks, titles, strict=True)
    )


def _row(anchor: str, check: Check, place: int | None, label: Prose, title: Title | None) -> RowView:
    found = numbers.estimate(check.estimate, check.standard_error, check.interval, place)
    exact = rounding_error(check) or numbers.exact(check.estimate, _EXACT)
    measured = check.method != "exact"
    return RowView(
        anchor=anchor,
        title=title,
        label=label,
        remark=Prose(remark(check)),
        predicted=Cell(predicted(check, check.standard_error, place), 0.0),
        estimate=Cell(found.alone if check.standard_error else exact, 0.0),
        error=Cell(found.error + found.times if found.error else "", 0.0),
        low=Cell(found.low + found.times if measured else "", 0.0),
        high=Cell(found.high + found.times if measured else "", 0.0),
        sample=_sample_size(check),
        verdict=badge(check.verdict),
    )


def _lined_up(groups: Sequence[GroupView]) -> tuple[GroupView, ...]:
    """Return the groups of a table, the decimal points of each column under one another in all of them."""
    rows = [row for group in groups for row in group.rows]
    columns = [aligned([getattr(row, name).text for row in rows]) for name in _NUMBERS]
    padded = iter(
        replace(row, **dict(zip(_NUMBERS, cells, strict=True)))
        for row, cells in zip(rows, zip(*columns, strict=True), strict=True)
    )
    return tuple(replace(group, rows=tuple(islice(padded, len(group.rows)))) for group in groups)


def _control(claim: str, control: Control, without: tuple[str, ...]) -> ControlView:
    # A control has no standard error of its own; its interval's width shows which digits are significant.
    error = (control.interval[1] - control.interval[0]) / 10
    found = numbers.estimate(control.estimate, error, control.interval)
    where = cell_text(control.cell, without)
    return ControlView(
        anchor=f"{claim}.{control.id}",
        what=Prose(f"{control.what} ({where})" if where else control.what),
        predicted=predicted(control, error),
        found=f"{found.alone} in {found.interval}" if error else numbers.exact(control.estimate, _EXACT),
        power=numbers.power(control.power) if control.blocks else "exact",
        verdict=control_badge(control.verdict),
    )
