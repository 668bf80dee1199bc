"""Tables of checks: which stand together, and what is said once for several of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from verify.report import numbers
from verify.report.columns import Cell, aligned
from verify.report.latex import Prose, plain
from verify.report.words import Badge, badge, cell_text, remark, tolerance_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from verify.evidence import Check, Control, Setting

_SCOPES = {"monte-carlo": "simulated checks", "exact": "exact checks", "fit": "fits"}
_LONG = 60  # letters of settings that several neighbours are to say once
_WORDY = 36  # letters of a quantity that has a line to itself


@dataclass(frozen=True, slots=True)
class Title:
    """What a check or several of them are about: quantity, prediction in symbols, method and tolerance."""

    quantity: Prose
    formula: Prose
    note: Prose


@dataclass(frozen=True, slots=True)
class RowView:
    """One check as a row; ``title`` is None where its group has one for all its rows.

    ``remark`` says how close a bound is and what is unusual about the check.
    """

    anchor: str
    title: Title | None
    label: Prose
    remark: Prose
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


@dataclass(frozen=True, slots=True)
class Shared:
    """Settings that several groups of checks have in common, said once; ``by`` is whose they are."""

    by: str
    settings: Mapping[str, Setting]
    methods: tuple[str, ...]

    @property
    def text(self) -> Prose:
        """Return the line above the table, such as ``In all fits: points 3; from 1.`` for fits."""
        return said_once(self.by, self.settings)


def shared(checks: Sequence[Check]) -> tuple[Shared, ...]:
    """Return the settings to say once above a claim's checks: those of all, then those of each method.

    What a single group shares stands at its head.
    """
    found: list[Shared] = []
    methods = tuple(dict.fromkeys(check.method for check in checks))
    for scope in dict.fromkeys((methods, *((method,) for method in methods))):
        members = [check for check in checks if check.method in scope]
        said = {key for one in found for key in one.settings}
        common = {key: value for key, value in common_settings(members).items() if key not in said}
        if common and len([*groupby(members, key=_kinship)]) > 1:
            by = "checks" if scope == methods else _SCOPES[scope[0]]
            found.append(Shared(by, common, scope))
    return tuple(found)


def common_settings(of: Sequence[Check | Control]) -> dict[str, Setting]:
    """Return the settings that all have alike: of a single one, all of them."""
    first = of[0].cell if of else {}
    return {
        key: value
        for key, value in first.items()
        if all(key in one.cell and one.cell[key] == value for one in of)
    }


def said_once(by: str, settings: Mapping[str, Setting]) -> Prose:
    """Return settings that all of something have in common as a sentence, or nothing."""
    # With semicolons: some settings are descriptions that hold commas.
    listed = "; ".join(cell_text({key: value}) for key, value in settings.items())
    return Prose(f"In all {by}: {listed}." if settings else "")


def groups(claim: str, checks: Sequence[Check]) -> tuple[GroupView, ...]:
    """Return a claim's checks in groups, in their order; ``claim`` is its id."""
    found: list[GroupView] = []
    known = shared(checks)
    said = {
        method: {key for one in known if method in one.methods for key in one.settings} for method in _SCOPES
    }
    for members in _companies(checks, said):
        group = _group(claim, members, said[members[0].method])
        if group.title is None and found and found[-1].title is None:
            found[-1] = replace(found[-1], rows=found[-1].rows + group.rows)
        else:
            found.append(group)
    return tuple(found)


def _companies(checks: Sequence[Check], said: Mapping[str, Collection[str]]) -> Iterator[tuple[Check, ...]]:
    """Yield checks of one kind together, and neighbours of several kinds with the same long settings."""
    waiting: tuple[Check, ...] = ()
    for _, members in groupby(checks, key=_kinship):
        kin = tuple(members)
        alone = len(kin) == 1 and kin[0].method != "fit"
        unsaid = said[kin[0].method]
        if (
            alone
            and waiting
            and waiting[0].method == kin[0].method
            and _long(waiting, unsaid) == _long(kin, unsaid)
        ):
            waiting += kin
            continue
        if waiting:
            yield waiting
        waiting = kin if alone and _long(kin, unsaid) else ()
        if not waiting:
            yield kin
    if waiting:
        yield waiting


def _long(checks: Sequence[Check], said: Collection[str]) -> dict[str, Setting]:
    """Return a check's settings that are not said yet where they would fill several lines of its cell."""
    left = {key: value for key, value in checks[0].cell.items() if key not in said}
    return left if len(cell_text(left)) >= _LONG else {}


def _kinship(check: Check) -> tuple[object, ...]:
    if check.method == "fit":
        return check.method, tuple(check.cell.items())
    return check.method, check.quantity, check.relation, check.origin, check.tolerance_of


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


def _group(claim: str, checks: tuple[Check, ...], said: Collection[str]) -> GroupView:
    first = checks[0]
    common = tuple(common_settings(checks))
    ours = cell_text({key: first.cell[key] for key in common if key not in said})
    if first.method == "fit":
        titles = [Title(Prose(check.quantity), Prose(""), tolerance_text(check)) for check in checks]
        return GroupView(Title(Prose("Weighted fit"), Prose(""), ours), _rows(claim, checks, common, titles))
    if len(checks) == 1 and ours and (_is_tall(first.prediction_latex) or _is_wordy(first.quantity)):
        # The first column is too narrow for that: it gets a line of its own.
        return GroupView(_title(checks, Prose("")), _rows(claim, checks, tuple(said), [None]))
    if len(checks) == 1:
        return GroupView(None, _rows(claim, checks, common, [_title(checks, ours)]))
    if len({_kinship(check) for check in checks}) > 1:
        titles = [_title((check,), Prose("")) for check in checks]
        return GroupView(Title(Prose("Same settings"), Prose(""), ours), _rows(claim, checks, common, titles))
    return GroupView(_title(checks, ours), _rows(claim, checks, common, [None] * len(checks)))


def _title(checks: tuple[Check, ...], settings: Prose) -> Title:
    formulas = {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    shown = rf"\displaystyle {formula}" if _is_tall(formula) else formula
    return Title(
        quantity=Prose(checks[0].quantity),
        # A bare number stands in the column of predictions already.
        formula=Prose(f"predicted ${shown}$" if _has_symbol(formula) else ""),
        note=Prose("; ".join(filter(None, [settings, tolerance_text(checks[0])]))),
    )


def _is_wordy(quantity: str) -> bool:
    """Whether a quantity would fill several lines of the first column."""
    return len(plain(quantity)) > _WORDY


def _is_tall(latex: str) -> bool:
    """Whether a formula has a fraction that running text would show too small to read."""
    return re.search(r"\\frac.*(\\sqrt|\\sum|\\int|\^)", latex) is not None


def _has_symbol(latex: str) -> bool:
    return re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", latex)) is not None


def _rows(
    claim: str, checks: tuple[Check, ...], common: Sequence[str], titles: Sequence[Title | None]
) -> tuple[RowView, ...]:
    found = [numbers.estimate(check.estimate, check.standard_error, check.interval) for check in checks]
    values = [
        # Of an exact value, one digit more than of its prediction.
        one.value + one.times if check.standard_error else numbers.exact(check.estimate, 7)
        for one, check in zip(found, checks, strict=True)
    ]
    measured = [check.method != "exact" for check in checks]
    predicted = aligned([as_predicted(check, check.standard_error) for check in checks])
    estimates = aligned(values)
    errors = aligned([one.error + one.times if one.error else "" for one in found])
    lows = aligned([one.low + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    highs = aligned([one.high + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    return tuple(
        RowView(
            anchor=f"{claim}.{check.id}",
            title=titles[place],
            label=cell_text(check.cell, without=common),
            remark=Prose(remark(check)),
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
