"""A claim as a card: its record, its tables, and the sentences that sum it up."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from string import ascii_lowercase
from typing import NamedTuple

from verify.citing.citations import citation_parts, cite
from verify.evidence import (
    Check,
    ClaimRecord,
    ControlRecord,
    DerivationRecord,
    Figure,
    PlotLayer,
    Proof,
    RunRecord,
    Verdict,
)
from verify.evidence.words import (
    MOST_SERIOUS_FIRST,
    Badge,
    at_settings,
    badge,
    closed,
    decisive_check,
    interval95,
    largest_deviation,
    predicted,
    rounding_error,
    sentence,
)
from verify.files.names import shipped_folder
from verify.report.tables import CheckTable, ControlTable, check_table, control_table
from verify.text import numbers
from verify.text.latex import Prose, plain, slashed

_EXACT = 7  # digits of an exact value
_SHORT = 36  # letters of a quantity that stands beside its number
_LONGEST = 90  # characters of a quantity in running text


class FigureView(NamedTuple):
    """A figure: ``key`` finds its SVG; ``values`` is the text to take along, if any.

    ``number`` is its claim's, with a letter where the claim has several; an audit's maps have none.
    """

    key: str
    title: Prose
    alt: str
    values: str = ""
    number: str = ""


class Contrast(NamedTuple):
    """A claim's number in short, and the wrong version that it speaks against, if there is one.

    ``check`` is the id of the number's check, ``basis`` whether it is measured or computed; ``instead`` is
    what the wrong version predicts in its place.
    """

    check: str
    basis: str
    found: Prose
    wrong: Prose
    instead: str


class Card(NamedTuple):
    """What the report prints of a claim.

    ``assumptions`` are what the main theorem assumes, and what its author states besides.
    ``underived`` says why there is no derivation, if there is none.
    ``contrast`` is the number that stands for it where there is room for one, None without a check.
    ``headline`` is a label and a sentence about the decisive check, None where nothing is measured.
    ``citation`` is in parts, of which the second is a key and the fourth what was measured: those of others
    can stand there. ``sources`` are the anchors of the documents with a statement that it decides, and
    ``aliases`` words that it is looked for by besides its own.
    """

    claim: ClaimRecord
    number: str
    verdict: Badge
    proof: Badge
    alarms: tuple[str, ...]
    assumptions: tuple[Prose, ...]
    outcome: str
    headline: tuple[str, Prose] | None
    contrast: Contrast | None
    underived: Prose
    checks: CheckTable
    controls: ControlTable
    level: str
    deviation: str
    figures: tuple[FigureView, ...]
    citation: tuple[str, str, str, str, str]
    sources: tuple[str, ...]
    aliases: str

    @property
    def short(self) -> Prose:
        """The number that stands for the claim, beside one that it refutes; nothing without checks."""
        if self.contrast is None:
            return Prose("")
        check, wrong = self.claim.check(self.contrast.check), self.contrast.instead
        named = f"{slashed(check.quantity)}: " if len(plain(check.quantity)) <= _SHORT else ""
        return Prose(f"{named}{value_of(check)}{f', not {wrong}' if wrong else ''}{at_settings(check)}")


@cache
def aliases() -> Mapping[str, str]:
    """Return the words by which people look for the catalogue's claims besides their texts, by id."""
    return tomllib.loads((shipped_folder("data") / "aliases.toml").read_text(encoding="utf-8"))


def card(record: RunRecord, claim: ClaimRecord, number: str) -> Card:
    """Return the card of a run's claim; ``number`` is its place in the report."""
    decisive = decisive_check(claim.checks)
    derivation = claim.derivation
    derived = derivation.status.stands
    controls = control_table(claim.id, claim.controls)
    alarms = _alarms(derivation, controls)
    return Card(
        claim=claim,
        number=number,
        verdict=badge(claim.verdict),
        proof=badge(derivation.status),
        alarms=alarms,
        assumptions=_assumptions(claim),
        outcome=_outcome(claim, alarms),
        headline=(_headline_label(claim, decisive), sentence(decisive, derived=derived))
        if decisive
        else None,
        contrast=_contrast(claim),
        underived=Prose("" if derived else closed(derivation.reason)),
        checks=check_table(claim.id, claim.checks),
        controls=controls,
        level=_level(claim),
        deviation=largest_deviation(claim.checks),
        figures=tuple(_numbered(claim, number)),
        citation=citation_parts(cite(record, claim, decisive or next(iter(claim.checks), None))),
        sources=tuple(_sources(record, claim.id)),
        aliases=aliases().get(claim.id, ""),
    )


def value_of(check: Check) -> str:
    """Return what a check found, with the digits that its standard error supports."""
    if check.method == "exact":
        return numbers.exact(check.estimate, 7)
    return numbers.estimate(check.estimate, check.standard_error, check.interval).alone


def alone(check: Check) -> str:
    """Return the 95% interval of a check by itself: 1.96 standard errors to either side."""
    return numbers.estimate(check.estimate, check.standard_error, interval95(check)).interval


def _numbered(claim: ClaimRecord, number: str) -> Iterator[FigureView]:
    """Yield the drawings of a claim's figures, numbered after it."""
    letters = ascii_lowercase if len(claim.series) > 1 else ("",)
    for figure, letter in zip(claim.series, letters, strict=False):
        drawn = drawing(f"{claim.id}.{figure.id}", figure)
        yield drawn._replace(number=f"{number}{letter}")


def drawing(key: str, figure: Figure) -> FigureView:
    """Return a figure with its words and its values, under a key for its SVG.

    The values are those of each layer under a line with ``#`` and its label. Rows are ``x,y`` or, where there
    are intervals or bands, ``x,y,low,high``: to six digits what is measured, to four what is a line through
    many places.
    """
    head = f"# x: {plain(figure.x.label)}; y: {plain(figure.y.label)}"
    values = "\n".join([head, *(line for layer in figure.layers for line in _values(layer))])
    return FigureView(key, Prose(figure.title), plain(figure.alt), values)


def _values(layer: PlotLayer) -> Iterator[str]:
    yield f"# {plain(layer.label) or layer.kind}"
    columns = (layer.x, layer.y, layer.lo, layer.hi) if layer.lo else (layer.x, layer.y)
    for row in zip(*columns, strict=True):
        # Four digits, or six where those are shorter than a power of ten.
        rough = (min(f"{number:.4g}", f"{number:.6g}", key=len) for number in row)
        yield ",".join(rough if layer.kind == "line" else (f"{number:.6g}" for number in row))


def _sources(record: RunRecord, claim: str) -> Iterator[str]:
    for source in record.sources:
        stated = (one for one in record.statements if one.source == source.id)
        if any(claim in {one.claim, *(part.claim for part in one.parts)} for one in stated):
            yield f"source-{source.id}"


def _alarms(derivation: DerivationRecord, controls: ControlTable) -> tuple[str, ...]:
    """Return what must not be overlooked: a derivation that fails, a wrong version that stands."""
    found = ["The derivation failed."] if derivation.status is Proof.FAILED else []
    standing = len(controls.rows) - controls.refuted
    if standing == 1:
        found.append("A negative control was not rejected, so the measurement is inconclusive.")
    elif standing:
        found.append(f"{standing} negative controls were not rejected, so the measurement is inconclusive.")
    return tuple(found)


def _assumptions(claim: ClaimRecord) -> tuple[Prose, ...]:
    return tuple(map(Prose, (*claim.derivation.assumptions, *(one.text for one in claim.assumptions))))


def _outcome(claim: ClaimRecord, alarms: tuple[str, ...]) -> str:
    """Return the verdict as it opens the sentence of its reason."""
    if not claim.checks:
        return "Nothing measured"
    if not alarms:
        return badge(claim.verdict).word.capitalize()
    # What keeps the claim open are its controls, of which the alarms speak.
    worst = min((check.verdict for check in claim.checks), key=MOST_SERIOUS_FIRST.index)
    return f"The checks are {badge(worst).word}"


def _level(claim: ClaimRecord) -> str:
    """Return the level of a claim's intervals; looking again narrows a check's own share."""
    levels = {check.level for check in claim.checks if check.method != "exact"}
    text = numbers.level(min(levels)) if levels else ""
    return f"at least {text}" if len(levels) > 1 else text


def _headline_label(claim: ClaimRecord, decisive: Check) -> str:
    if claim.measured_checks == 1:
        return "Measured"
    if decisive.verdict is Verdict.CONFIRMED:
        return f"Narrowest margin of {claim.measured_checks} checks"
    return "What decided it"


def _contrast(claim: ClaimRecord) -> Contrast | None:
    """Return the number that stands beside a claim's title, with a wrong version; None without a check.

    The wrong version is the first that the claim lists, but for those that only move a number: one that
    could be believed, and rather one that this very number refutes. The number is that of the claim's
    headline. Where the claim names none, it is what the wrong version is refuted by, be it at another look
    or, where that has a cell of its own, the last of the first quantity checked, as sizes are listed from
    small to large.
    """
    if not claim.checks:
        return None

    def sample(one: Check | ControlRecord) -> tuple[object, ...]:
        return one.estimate, one.interval, one.cell

    refuted = [control for control in claim.controls if control.verdict is Verdict.REFUTED]
    own = sample(claim.check(claim.headline)) if claim.headline else None
    wrong = min(refuted, key=lambda one: (one.is_near_miss, sample(one) != own), default=None)
    first = claim.checks[0]
    listed = [
        one
        for one in claim.checks
        if (one.quantity, one.method, one.relation) == (first.quantity, first.method, first.relation)
    ]
    same = [one for one in claim.checks if wrong and sample(one) == sample(wrong)]
    same += [one for one in listed if wrong and one.cell == wrong.cell]
    check = claim.check(claim.headline) if claim.headline else (*same, listed[-1])[0]
    own_sample = wrong is None or sample(wrong) != sample(check)
    return Contrast(
        check=check.id,
        basis="Computed" if check.method == "exact" else "Measured",
        found=Prose(_found(check)),
        wrong=Prose(_refuted(wrong, own_sample=own_sample) if wrong else ""),
        instead=_instead(check, wrong) if wrong and not own_sample else "",
    )


def named(check: Check) -> str:
    """Return what a check is about in a line: its quantity, or where that is too long its name, where."""
    what = check.quantity if len(plain(check.quantity)) <= _LONGEST else check.id
    return f"{what}{at_settings(check)}"


def _found(check: Check) -> str:
    what = named(check)
    if error := rounding_error(check):
        return f"{what}: {error}, zero but for rounding"
    wanted = predicted(check, check.standard_error)
    if check.method == "exact":
        value = numbers.exact(check.estimate, _EXACT)
        same = value == numbers.exact(check.prediction, _EXACT)
        return f"{what}: {value}, as predicted" if same else f"{what}: {value}, predicted {wanted}"
    found = numbers.estimate(check.estimate, check.standard_error, check.interval)
    return f"{what}: {found.alone} in {found.interval}, predicted {wanted}"


def _instead(check: Check, wrong: ControlRecord) -> str:
    """Return what a wrong version predicts for a check, if it is another number and no bound."""
    text = "" if wrong.is_near_miss else predicted(wrong, check.standard_error)
    return text if text[:1] not in {"≤", "≥"} else ""


def _refuted(control: ControlRecord, *, own_sample: bool) -> str:
    error = (control.interval[1] - control.interval[0]) / 10
    text = f"{control.what}; predicts {predicted(control, error)}"
    if not own_sample:
        return f"{text}, rejected"
    found = numbers.estimate(control.estimate, error, control.interval)
    value = found.alone if error else numbers.exact(control.estimate, _EXACT)
    return f"{text}, found {value}, rejected"
