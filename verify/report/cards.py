"""A claim as a card: its record, its tables, and the sentences that sum it up."""

import re
from collections.abc import Iterator
from string import ascii_lowercase
from typing import NamedTuple

from verify.citing.citations import citation_parts, cite
from verify.evidence import Check, ClaimRecord, ControlRecord, Proof, RunRecord, Statement, Verdict, words
from verify.evidence.words import Badge
from verify.files import shipped_table
from verify.report import tables
from verify.report.tables import FigureView, Group, drawing
from verify.text import numbers
from verify.text.latex import Prose, plain, slashed

_SHORT = 36  # letters of a quantity that stands beside its number
_LONGEST = 90  # characters of a quantity in running text


class Contrast(NamedTuple):
    """The number that stands for a claim, and the wrong version that it speaks against, if any.

    ``basis`` says whether it is measured or computed; ``short`` has both in a few words.
    """

    basis: str
    value: Prose
    wrong: Prose
    short: Prose


class Card(NamedTuple):
    """What the report prints of a claim.

    ``assumptions`` are what the main theorem assumes, and what its author states besides; ``conditions``
    those of them that a short formula says; ``underived`` says
    why there is no derivation, if there is none. ``headline`` is a label and a sentence about the decisive
    check, None where nothing is measured; ``contrast`` is empty without a check. ``checks`` and ``controls``
    have their rows and what is said of all of them, and ``level`` is that of the intervals.
    ``citation`` is in parts, of which the second is a key and the fourth what was measured: those of others
    can stand there. ``sources`` are the anchors of the documents with a statement that it decides.
    """

    claim: ClaimRecord
    number: str
    verdict: Badge
    proof: Badge
    alarms: tuple[str, ...]
    assumptions: tuple[Prose, ...]
    conditions: Prose
    outcome: str
    headline: tuple[str, Prose] | None
    contrast: Contrast
    underived: Prose
    checks: tuple[list[Group], Prose]
    controls: tuple[tuple[tuple[ControlRecord, Prose], ...], Prose]
    refuted: int
    level: str
    figures: tuple[FigureView, ...]
    citation: tuple[str, str, str, str, str]
    sources: tuple[str, ...]
    aliases: str


def keys_of(claim: ClaimRecord) -> Iterator[str]:
    """Yield the keys of a claim's checks, controls and facts."""
    for group in (claim.checks, claim.controls, claim.facts):
        for finding in group:
            yield f"{claim.id}.{finding.id}"


def decides(claim: str, statement: Statement) -> bool:
    """Return whether a statement of a document is decided by the claim of this id, or by it too."""
    return claim in {statement.claim, *(part.claim for part in statement.parts)}


def card(record: RunRecord, claim: ClaimRecord, number: str) -> Card:
    """Return the card of a run's claim; ``number`` is its place in the report."""
    checks, derivation = claim.checks, claim.derivation
    decisive, derived = words.decisive_check(checks), derivation.status.stands
    # What must not be overlooked: a derivation that fails, a wrong version that stands.
    alarms = ["The derivation failed."] if derivation.status is Proof.FAILED else []
    if standing := len(claim.controls) - tables.refuted(claim.controls):
        who = "A negative control was" if standing == 1 else f"{standing} negative controls were"
        alarms.append(f"{who} not rejected, so the measurement is inconclusive.")
    outcome = words.badge(claim.verdict).word.capitalize() if checks else "Nothing measured"
    if checks and alarms:
        # What keeps the claim open are its controls, of which the alarms speak.
        worst = min((check.verdict for check in checks), key=words.MOST_SERIOUS_FIRST.index)
        outcome = f"The checks are {words.badge(worst).word}"
    headline = None
    if decisive:
        label = "What decided it"
        if claim.measured_checks == 1:
            label = "Measured"
        elif decisive.verdict is Verdict.CONFIRMED:
            label = f"Narrowest margin of {claim.measured_checks} checks"
        headline = label, summed_up(decisive)
    # Looking again narrows a check's own share.
    levels = sorted({check.level for check in checks if check.method != "exact"})
    level = numbers.level(levels[0]) if levels else ""
    # Of the main statement's assumptions those that a short formula says: they stand beside it.
    short = (
        re.fullmatch(r"(\$(?:n|d_k|c|p_j) (?:=|\\le) [^$]+\$)\.", text) for text in derivation.assumptions
    )
    conditions = [condition[1] for condition in short if condition]
    return Card(
        claim=claim,
        number=number,
        verdict=words.badge(claim.verdict),
        proof=words.badge(derivation.status),
        alarms=tuple(alarms),
        assumptions=tuple(map(Prose, (*derivation.assumptions, *(each.text for each in claim.assumptions)))),
        conditions=Prose(", ".join(conditions)),
        outcome=outcome,
        headline=headline,
        contrast=_contrast(claim) if checks else Contrast("", *[Prose("")] * 3),
        underived=Prose("" if derived else words.closed(derivation.reason)),
        checks=tables.check_table(checks),
        controls=tables.control_table(claim.controls),
        refuted=tables.refuted(claim.controls),
        level=f"at least {level}" if len(levels) > 1 else level,
        figures=tuple(
            drawing(f"{claim.id}.{figure.id}", figure, f"{number}{letter if len(claim.series) > 1 else ''}")
            for figure, letter in zip(claim.series, ascii_lowercase, strict=False)
        ),
        citation=citation_parts(cite(record, claim, decisive or next(iter(checks), None))),
        sources=tuple(
            f"source-{source.id}"
            for source in record.sources
            if any(decides(claim.id, each) for each in record.statements if each.source == source.id)
        ),
        aliases=shipped_table("aliases").get(claim.id, ""),
    )


def _contrast(claim: ClaimRecord) -> Contrast:
    """Return the number that stands beside a claim's title, with a wrong version.

    The wrong version is the first that the claim lists, but for those that only move a number: a version that
    could be believed, preferably refuted by this very number. The number is that of the claim's
    headline. Where the claim names none, it is what the wrong version is refuted by, be it at another look
    or, where that has a cell of its own, the last of the first quantity checked, as sizes are listed from
    small to large.
    """

    def sample(of: Check | ControlRecord) -> tuple[object, ...]:
        return of.estimate, of.interval, of.cell

    rejected = [control for control in claim.controls if control.verdict is Verdict.REFUTED]
    own = sample(claim.check(claim.headline)) if claim.headline else None
    wrong = min(rejected, key=lambda control: (control.is_near_miss, sample(control) != own), default=None)
    if claim.headline:
        check = claim.check(claim.headline)
    else:
        first = claim.checks[0].quantity, claim.checks[0].method, claim.checks[0].relation
        listed = [each for each in claim.checks if (each.quantity, each.method, each.relation) == first]
        same = [each for each in claim.checks if wrong and sample(each) == sample(wrong)]
        same += [each for each in listed if wrong and each.cell == wrong.cell]
        check = (*same, listed[-1])[0]
    against, instead = "", ""
    if wrong:
        error = tables.digits_of(wrong)
        against = f"{wrong.what}; predicts {words.predicted(wrong, error)}"
        if sample(wrong) != sample(check):
            measured = numbers.estimate(wrong.estimate, error, wrong.interval).alone
            against += f", found {measured if error else tables.computed(wrong)}"
        elif not wrong.is_near_miss:
            instead = f", not {words.predicted(wrong, check.standard_error)}"
        against += ", rejected"
    # In words where its formula is long.
    called = Prose(shipped_table("quantities").get(claim.id, ""))
    what = called or (slashed(check.quantity) if len(plain(check.quantity)) <= _SHORT else "")
    where = words.at_settings(check) + _laws(check)
    value = tables.value_of(check)
    if rounding := words.rounding_error(check):
        value = f"0 but for rounding, {rounding}"
    elif check.standard_error:
        value = tables.measured(check).with_error
    return Contrast(
        basis="Computed" if check.method == "exact" else "Measured",
        value=Prose(f"{called or named(check)}{where}: {_value_in_words(check)}"),
        wrong=Prose(against),
        short=Prose(f"{what}{what and ': '}{value}{instead}{where}"),
    )


def _laws(check: Check) -> str:
    """Return the laws of queries and keys that are not standard normal, as it goes on after a number."""
    laws = {side: str(check.cell[side]) for side in ("query", "key") if side in check.cell}
    match tuple(dict.fromkeys(laws.values())):
        case () | ("normal",):
            return ""
        case (law,):
            return f", law {law}"
    return "".join(f", {side} {law}" for side, law in laws.items())


def summed_up(check: Check) -> Prose:
    """Return a check in a line: what it is about and where, what came of it, and what was predicted."""
    where = words.cell_text(check.cell)
    return Prose(f"{check.quantity}{f' at {where}' if where else ''}: {_value_in_words(check)}")


def named(check: Check) -> str:
    """Return what a check is about in a line: its quantity, or where that is too long its name."""
    return check.quantity if len(plain(check.quantity)) <= _LONGEST else check.id


def _value_in_words(check: Check) -> str:
    if error := words.rounding_error(check):
        return f"{error}, zero but for rounding"
    origin = {"derived": "predicted", "computed": "computed", "set": "threshold"}[check.origin]
    wanted = f"{origin} {words.predicted(check, check.standard_error)}"
    if check.method == "exact":
        agrees = tables.value_of(check) == numbers.exact(check.prediction, tables.EXACT_DIGITS)
        return f"{tables.value_of(check)}, {'as predicted' if agrees else wanted}"
    measured = tables.measured(check)
    tolerance = words.tolerance_text(check.model_copy(update={"tolerance_because": ""}), with_kind=False)
    allowed = re.sub(" of the (prediction|threshold)$", "", tolerance)
    return f"{measured.with_error} in {measured.interval}, {wanted} ({allowed})"
