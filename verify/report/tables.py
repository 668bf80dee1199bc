"""Tables of checks and controls: which rows stand together, what is printed once, columns of numbers."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from verify.evidence import Check, ControlRecord, Setting, Verdict
from verify.evidence.words import (
    Badge,
    allowance_text,
    badge,
    cell_text,
    control_badge,
    predicted,
    remark,
    rounding_error,
    tolerance_text,
)
from verify.text import numbers
from verify.text.latex import Prose, plain

_KINDS = {"monte-carlo": "simulated checks", "exact": "exact checks", "fit": "fits"}
_SEVERAL = 3  # rows that print the same are worth a line that says it once
_LONG = 60  # letters of settings that neighbours print once
_WORDY = 36  # letters of a quantity that has a line to itself
_EXACT = 7  # digits of an exact value, one more than of its prediction
# Advances of Source Sans in em; its figures all have the same.
_FIGURE, _POINT, _TIMES, _SUPERSCRIPT = 0.497, 0.249, 0.497, 0.36
_WIDTHS = dict.fromkeys(".,", _POINT) | dict.fromkeys("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", _SUPERSCRIPT)
_WIDTHS |= {" ": 0.2, numbers.NO_BREAK: 0.2, numbers.GAP: 0.12, "/": 0.35, "[": 0.3, "]": 0.3, "M": 0.73}
_ROOM = 1.1  # em between two columns: the cells' padding, and a little air
_MARK = 1.3  # em of a verdict's sign before its word
_LETTER = 0.43  # em of a letter of a verdict, on average
# What the heads of columns need; a column is as wide as its widest number if that is wider.
_CHECK_HEADS = (4.2, 3.85, 4.15, 4.3, 4.3, 6.25, 3.1)
_CONTROL_HEADS = (4.4, 4.2, 2.8, 4.0)


class TableCell(NamedTuple):
    """A number in a right-aligned column; ``pad`` (em) keeps its decimal point under the others'."""

    text: str
    pad: float = 0.0


class Title(NamedTuple):
    """What a check or several of them are about: quantity, prediction in symbols, method and tolerance."""

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
    cells: tuple[TableCell, ...]
    sample: str
    verdict: Badge


class Group(NamedTuple):
    """Checks of one quantity, or of one fit, under a common title; or single checks each with its own."""

    title: Title | None
    rows: tuple[TableRow, ...]


class CheckTable(NamedTuple):
    """A claim's checks; ``common`` are the settings printed once above them, ``widths`` (em) of columns."""

    groups: tuple[Group, ...]
    common: tuple[Prose, ...]
    widths: tuple[float, ...]


class ControlRow(NamedTuple):
    """A wrong version of the claim and what became of it."""

    anchor: str
    what: Prose
    predicted: str
    found: str
    power: str
    verdict: Badge


class ControlTable(NamedTuple):
    """A claim's controls; ``common`` are the settings printed once above them, ``widths`` (em) of columns."""

    rows: tuple[ControlRow, ...]
    common: Prose
    widths: tuple[float, ...]
    refuted: int


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


def check_table(claim: str, checks: Sequence[Check]) -> CheckTable:
    """Return a claim's checks in groups, in their order; ``claim`` is its id."""
    common = _common(checks)
    stated = {
        method: {key for one in common if method in one.methods for key in one.settings} for method in _KINDS
    }
    groups: list[Group] = []
    usual, stating = _usual_allowance(checks)
    table = _Table(claim, _places(checks), usual)
    for members in _gathered(checks, stated):
        group = _group(table, members, stated[members[0].method])
        if group.title is None and groups and groups[-1].title is None:
            groups[-1] = Group(None, groups[-1].rows + group.rows)
        else:
            groups.append(group)
    return CheckTable(
        groups=_lined_up(groups),
        common=(*(_common_line(one.owners, one.settings) for one in common), *stating),
        widths=column_widths(
            _CHECK_HEADS, [((*row.cells, row.sample), row.verdict) for group in groups for row in group.rows]
        ),
    )


def control_table(claim: str, controls: Sequence[ControlRecord]) -> ControlTable:
    """Return a claim's controls, in their order; ``claim`` is its id."""
    drawn = [control for control in controls if control.blocks]
    members = drawn if len(drawn) > 1 else controls
    common = shared_settings(members) if len(members) > 1 else {}
    rows = tuple(_control(claim, one, tuple(common) if one in members else ()) for one in controls)
    owners = "controls" if len(members) == len(controls) else "simulated controls"
    return ControlTable(
        rows=rows,
        common=_common_line(owners, common),
        widths=column_widths(
            _CONTROL_HEADS, [((row.predicted, row.found, row.power), row.verdict) for row in rows]
        ),
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
        settings = {key: value for key, value in shared_settings(members).items() if key not in stated}
        if settings and sum(1 for _ in groupby(members, key=_group_key)) > 1:
            found.append(_Common("checks" if scope == methods else _KINDS[scope[0]], settings, scope))
    return tuple(found)


def shared_settings(of: Sequence[Check | ControlRecord]) -> dict[str, Setting]:
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


def sample_size(check: Check) -> str:
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
    rest = "" if count == len(exact) else ", unless stated otherwise"
    return usual, (Prose(f"Exact checks hold {usual}{rest}."),)


def _group(table: _Table, checks: tuple[Check, ...], stated: Collection[str]) -> Group:
    first = checks[0]
    common = tuple(shared_settings(checks))
    own = cell_text({key: first.cell[key] for key in common if key not in stated})
    alone = len(checks) == 1
    if first.method == "fit":
        titles = [Title(Prose(check.quantity), Prose(""), tolerance_text(check)) for check in checks]
        return _with_titles(table, checks, "Weighted fit", own, titles)
    if alone and own and (_is_tall(first.prediction_latex) or _is_wordy(first.quantity)):
        # The first column is too narrow for that: it gets a line of its own.
        return Group(_title(checks, Prose(""), table.usual), _rows(table, checks, tuple(stated), [None]))
    if alone:
        return Group(None, _rows(table, checks, common, [_title(checks, own, table.usual)]))
    if len({_group_key(check) for check in checks}) > 1:
        titles = [_title((check,), Prose(""), table.usual) for check in checks]
        return _with_titles(table, checks, "Same settings", own, titles)
    return Group(_title(checks, own, table.usual), _rows(table, checks, common, [None] * len(checks)))


def _with_titles(
    table: _Table, checks: tuple[Check, ...], heading: str, settings: Prose, titles: Sequence[Title]
) -> Group:
    """Return checks with titles of their own; a note that several have alike stands once, in the heading."""
    notes = {title.note for title in titles}
    if len(notes) == 1 < len(titles):
        settings = Prose("; ".join(filter(None, [settings, *notes])))
        titles = [title._replace(note=Prose("")) for title in titles]
    shown = Title(Prose(heading), Prose(""), settings)
    return Group(shown, _rows(table, checks, tuple(shared_settings(checks)), titles))


def _title(checks: tuple[Check, ...], settings: Prose, usual: str) -> Title:
    """Return what checks are about."""
    tolerance = tolerance_text(checks[0], usual)
    formulas = {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    shown = rf"\displaystyle {formula}" if _is_tall(formula) else formula
    word = "threshold" if checks[0].is_threshold else "predicted"
    return Title(
        quantity=Prose(checks[0].quantity),
        # A bare number stands in the column of predictions already.
        formula=Prose(f"{word} ${shown}$" if _has_symbol(formula) else ""),
        note=Prose("; ".join(filter(None, [settings, tolerance]))),
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
) -> tuple[TableRow, ...]:
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


def _row(anchor: str, check: Check, place: int | None, label: Prose, title: Title | None) -> TableRow:
    found = numbers.estimate(check.estimate, check.standard_error, check.interval, place)
    exact = rounding_error(check) or numbers.exact(check.estimate, _EXACT)
    measured = check.method != "exact"
    return TableRow(
        anchor=anchor,
        title=title,
        label=label,
        remark=Prose(remark(check)),
        cells=(
            TableCell(predicted(check, check.standard_error, place)),
            TableCell(found.alone if check.standard_error else exact),
            TableCell(found.error + found.times if found.error else ""),
            TableCell(found.low + found.times if measured else ""),
            TableCell(found.high + found.times if measured else ""),
        ),
        sample=sample_size(check),
        verdict=badge(check.verdict),
    )


def _lined_up(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return the groups of a table, the decimal points of each column under one another in all of them."""
    rows = [row for group in groups for row in group.rows]
    cells = aligned([[cell.text for cell in row.cells] for row in rows])
    padded = (row._replace(cells=some) for row, some in zip(rows, cells, strict=True))
    return tuple(Group(group.title, tuple(islice(padded, len(group.rows)))) for group in groups)


def _control(claim: str, control: ControlRecord, without: tuple[str, ...]) -> ControlRow:
    # A control has no standard error of its own; its interval's width shows which digits are significant.
    error = (control.interval[1] - control.interval[0]) / 10
    found = numbers.estimate(control.estimate, error, control.interval)
    where = cell_text(control.cell, without)
    return ControlRow(
        anchor=f"{claim}.{control.id}",
        what=Prose(f"{control.what} ({where})" if where else control.what),
        predicted=predicted(control, error),
        found=f"{found.alone} in {found.interval}" if error else numbers.exact(control.estimate, _EXACT),
        power=numbers.power(control.power) if control.blocks else "exact",
        verdict=control_badge(control.verdict),
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[tuple[TableCell, ...]]:
    """Return rows of texts as cells whose decimal points line up in each column.

    Where some of a column have a power of ten and some have none, those without line up among themselves.
    """
    columns = [_aligned(column) for column in zip(*rows, strict=True)]
    return list(zip(*columns, strict=True))


def _aligned(texts: Sequence[str]) -> tuple[TableCell, ...]:
    mixed = len({"×" in text for text in texts if text}) > 1
    tails = [0.0 if mixed and "×" in text else _tail(text) for text in texts]
    longest = max(tails, default=0.0)
    return tuple(
        TableCell(text, 0.0 if not text or (mixed and "×" in text) else round(longest - tail, 3))
        for text, tail in zip(texts, tails, strict=True)
    )


def column_widths(
    heads: Sequence[float], rows: Iterable[tuple[Sequence[TableCell | str], Badge]]
) -> tuple[float, ...]:
    """Return how wide (em) the columns after the first are, so that no two numbers touch.

    ``heads`` is what the columns' heads need; each of the ``rows`` has its texts and, in the last column,
    its verdict. Without rows there are no columns.
    """
    sizes = [(*map(_width, texts), _MARK + _LETTER * len(badge.word)) for texts, badge in rows]
    if not sizes:
        return ()
    return tuple(round(max(column) + _ROOM, 2) for column in zip(heads, *sizes, strict=True))


def _width(text: TableCell | str) -> float:
    """Return about how wide a number with its signs is, as a table sets it."""
    if isinstance(text, TableCell):
        return _width(text.text) + text.pad
    return sum(_WIDTHS.get(sign, _FIGURE) for sign in text)


def _tail(text: str) -> float:
    whole, _, power = text.partition("×")
    _, point, fraction = whole.partition(".")
    width = _POINT + len(fraction) * _FIGURE if point else 0.0
    if power:
        width += _TIMES + 2 * _FIGURE + (len(power) - 2) * _SUPERSCRIPT
    return width
