"""Tables of checks and controls, with what is printed once, and figures with their values as text."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from verify.evidence import Check, ControlRecord, Figure, Setting, Verdict
from verify.evidence.words import cell_text, interval95, predicted, rounding_error, tolerance_text
from verify.text import numbers
from verify.text.latex import Prose, plain

EXACT_DIGITS = 7  # of an exact value, one more than of its prediction


class Title(NamedTuple):
    """What checks are about: quantity with its prediction in symbols, and their settings and tolerance.

    Under a title for several checks a check's own says where it is alone.
    """

    quantity: Prose
    note: Prose


class FigureView(NamedTuple):
    """A figure: ``key`` finds its SVG; ``values`` is the text to take along.

    ``number`` is its claim's, with a letter where the claim has several.
    """

    key: str
    title: Prose
    alt: str
    values: str
    number: str


Group = tuple[Title | None, list[tuple[Check, Title]]]
"""Checks of one quantity, or of one fit, under a common title; or single checks, which have none."""


def check_table(checks: Sequence[Check]) -> tuple[list[Group], Prose]:
    """Return a claim's checks in groups, in their order, and the line of what all of them have."""

    def in_common(check: Check) -> tuple[object, ...]:
        # What neighbours stand under one title by.
        if check.method == "fit":
            return check.method, tuple(check.cell.items())
        tolerance = check.tolerance, check.tolerance_of, check.tolerance_because
        return check.method, check.quantity, check.relation, check.origin, *tolerance

    gathered = [tuple(members) for _, members in groupby(checks, key=in_common)]
    common = shared_settings(checks) if len(gathered) > 1 else {}
    # What most exact checks allow for, mostly rounding, is said once.
    exact = Counter(str(tolerance_text(check)) for check in checks if check.method == "exact")
    usual = next((text for text, count in exact.most_common(1) if count > 2), "")
    groups: list[Group] = []
    for members in gathered:
        settings = shared_settings(members)
        own = cell_text(settings, without=tuple(common))
        if members[0].method == "fit":
            rows = [(check, _title((check,), Prose(""), usual)) for check in members]
            groups.append((Title(Prose("Weighted fit"), own), rows))
        elif len(members) > 1:
            places = (cell_text(check.cell, without=tuple(settings)) for check in members)
            rows = [(check, Title(place, Prose(""))) for check, place in zip(members, places, strict=True)]
            groups.append((_title(members, own, usual), rows))
        else:
            # Neighbours that stand alone share a group.
            if not groups or groups[-1][0]:
                groups.append((None, []))
            groups[-1][1].append((members[0], _title(members, own, usual)))
    line = _common_line("checks", common)
    if usual:
        line = Prose(f"{line} Exact checks: {usual}, unless stated otherwise.".strip())
    return groups, line


def control_table(controls: Sequence[ControlRecord]) -> tuple[tuple[tuple[ControlRecord, Prose], ...], Prose]:
    """Return a claim's controls, in their order, each in words, and the line of what all of them have."""
    common = shared_settings(controls) if len(controls) > 1 else {}
    rows = []
    for control in controls:
        error = digits_of(control)
        estimate = numbers.estimate(control.estimate, error, control.interval)
        where = cell_text(control.cell, without=tuple(common))
        outcome = f"measured {estimate.alone} in {estimate.interval}, power {numbers.power(control.power)}"
        text = (
            f"{control.what}{f' ({where})' if where else ''}: predicts {predicted(control, error)}, "
            f"{outcome if error else f'computed {computed(control)}'}"
        )
        rows.append((control, Prose(text)))
    return tuple(rows), _common_line("controls", common)


def computed(control: ControlRecord) -> str:
    """Return a control's computed value; where it prints as the prediction does, how far it is from that."""
    value = numbers.exact(control.estimate, EXACT_DIGITS)
    if value != numbers.exact(control.prediction, EXACT_DIGITS):
        return value
    return f"{value}, off by {numbers.small(abs(control.estimate - control.prediction))}"


def digits_of(control: ControlRecord) -> float:
    """Return what says which digits of a control count: it has no standard error, but an interval."""
    return (control.interval[1] - control.interval[0]) / 10


def measured(check: Check) -> numbers.EstimateText:
    """Return what a check measured with its standard error and interval, all to the digit of the error."""
    return numbers.estimate(check.estimate, check.standard_error, check.interval)


def value_of(check: Check) -> str:
    """Return what a check measured or computed, with the digits that its standard error supports."""
    return numbers.exact(check.estimate, EXACT_DIGITS) if check.method == "exact" else measured(check).alone


def cells(check: Check) -> tuple[str, ...]:
    """Return a check's prediction, value, standard error and both ends of its interval, as far as it has."""
    shown = measured(check)
    value = rounding_error(check) or numbers.exact(check.estimate, EXACT_DIGITS)
    error, ends = "", ["", ""]
    if check.standard_error:
        value, error = shown.alone, shown.error + shown.times
    if check.method != "exact":
        ends = [end + shown.times for end in (shown.low, shown.high)]
    return predicted(check, check.standard_error), value, error, *ends


def alone(check: Check) -> str:
    """Return the 95% interval of a check by itself: 1.96 standard errors to either side; nothing if exact."""
    low, _ = ends = interval95(check)
    # What cannot be negative, such as a distance, has no interval to either side of 0.
    if check.method == "exact" or low < 0 <= check.interval[0]:
        return ""
    return numbers.estimate(check.estimate, check.standard_error, ends).interval


def sample_size(check: Check) -> str:
    """Return blocks and draws, such as ``4096 / 16.8 M``; nothing for an exact value."""
    if check.blocks == 0:
        return ""
    millions = numbers.exact(check.draws / 1e6, 3) + " M"
    return f"{numbers.count(check.blocks)} / {millions if check.draws >= 1e6 else numbers.count(check.draws)}"


def drawing(key: str, figure: Figure, number: str) -> FigureView:
    """Return a figure with its words and its values, under a key for its SVG.

    The values are those of each layer under a line with ``#`` and its label. Rows are ``x,y`` or, where there
    are intervals or bands, ``x,y,low,high``: to six digits what is measured, to four what is a line through
    many places.
    """
    values = [f"# x: {plain(figure.x.label)}; y: {plain(figure.y.label)}"]
    measured = [layer for layer in figure.layers if layer.role == "measured"]
    derived = [layer.label for layer in figure.layers if layer.role == "truth" and layer.label]
    for layer in figure.layers:
        name = plain(layer.label) or layer.kind
        # Of several series that share a mark, the curves name which is which.
        if layer.role == "measured" and len(measured) == len(derived) > 1:
            name = f"{plain(derived[measured.index(layer)])}, measured"
        values.append(f"# {name}")
        for row in zip(*((layer.x, layer.y, layer.lo, layer.hi)[: 4 if layer.lo else 2]), strict=True):
            fine = [f"{value:.6g}" for value in row]
            # Four digits, or six where those are shorter than a power of ten.
            rough = [min(f"{value:.4g}", text, key=len) for value, text in zip(row, fine, strict=True)]
            values.append(",".join(rough if layer.kind == "line" else fine))
    return FigureView(key, Prose(figure.title), plain(figure.alt), "\n".join(values), number)


def shared_settings(of: Sequence[Check | ControlRecord]) -> dict[str, Setting]:
    """Return the settings that are the same for all: of a single check, all of them."""
    first = of[0].cell if of else {}
    return {key: value for key, value in first.items() if all(other.cell.get(key) == value for other in of)}


def refuted(controls: Sequence[ControlRecord]) -> int:
    """Return how many controls are refuted, as they must be."""
    return sum(control.verdict is Verdict.REFUTED for control in controls)


def _common_line(owners: str, settings: dict[str, Setting]) -> Prose:
    """Return the line above a table, such as ``In all checks: points 3; from 1.``, or nothing."""
    # With semicolons: settings may be descriptions that hold commas.
    listed = "; ".join(cell_text({key: value}) for key, value in settings.items())
    return Prose(f"In all {owners}: {listed}." if settings else "")


def _title(checks: Sequence[Check], settings: Prose, usual: str) -> Title:
    """Return what checks are about."""
    first, formulas = checks[0], {check.prediction_latex for check in checks}
    formula = formulas.pop() if len(formulas) == 1 else ""
    # A bare number stands in the column of predictions already.
    if re.search("[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", formula)):
        formula = f", {'threshold' if first.is_threshold else 'predicted'} ${formula}$"
    else:
        formula = ""
    tolerance = tolerance_text(first)
    notes = [settings, tolerance if tolerance != usual else ""]
    return Title(Prose(first.quantity + formula), Prose("; ".join(filter(None, notes))))
