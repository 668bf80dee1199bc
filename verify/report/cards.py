"""A claim's evidence as a card: everything the templates print about one claim, ready to be set."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verify.citing.citations import citation_parts, cite
from verify.evidence import Check, Proof, Verdict
from verify.evidence.words import Badge, badge, closed, decisive_check, largest_deviation, sentence
from verify.report.contrast import contrast
from verify.report.statements import deciding
from verify.report.tables import check_table, control_table
from verify.report.values import figure_values
from verify.report.views import (
    CardView,
    ControlTable,
    FactView,
    FigureView,
    FitView,
    ReferenceView,
    RouteView,
    StepView,
)
from verify.text import numbers
from verify.text.latex import Prose, Tex, plain, spoken
from verify.text.speech import prose_in_words

if TYPE_CHECKING:
    from verify.evidence import (
        ClaimRecord,
        DerivationRecord,
        Fact,
        OrdinaryFit,
        Reach,
        Reference,
        Route,
        RunRecord,
    )


_SHOWN = frozenset([Proof.PROVED, Proof.REVIEWED, Proof.AT_EXAMPLES, Proof.IN_PART])
"""What has a derivation that stands; only what is proved is called derived."""
_REACHES: dict[Reach, str] = {
    "all-values": "proved for all values",
    "these-values": "at these values",
    "reviewed": "reviewed",
    "numerically": "numerically at a few points",
}
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_RELATIONS = {"=": "$=$", "⇒": r"$\Rightarrow$", "⇔": r"$\Leftrightarrow$", "≤": r"$\le$", "≥": r"$\ge$",
              "<": "$<$", ">": "$>$", "~": r"$\sim$"}  # fmt: skip


def card(record: RunRecord, claim: ClaimRecord, number: str) -> CardView:
    """Return the card of a run's claim; ``number`` is its place in the report."""
    decisive = decisive_check(claim.checks)
    derivation = claim.derivation
    verdict = badge(claim.verdict)
    controls = control_table(claim.id, claim.controls)
    alarms = _alarms(derivation, controls)
    return CardView(
        id=claim.id,
        number=number,
        title=Prose(claim.title),
        plain_title=plain(claim.title),
        statement=Prose(claim.statement),
        meaning=Prose(claim.meaning),
        assumptions=tuple(map(Prose, derivation.assumptions)),
        stated=tuple(Prose(one.text) for one in claim.assumptions),
        verdict=verdict,
        proof=badge(derivation.status),
        alarms=alarms,
        outcome=_outcome(claim, verdict, alarms),
        reason=Prose(closed(claim.reason)),
        headline=sentence(decisive, derived=derivation.status is Proof.PROVED) if decisive else None,
        headline_label=_headline_label(claim, decisive),
        contrast=contrast(claim),
        result=Tex(derivation.latex) if derivation.latex else None,
        routes=tuple(_route(route) for route in derivation.routes),
        agreement=Prose(_agreement(derivation, number)),
        proof_reason=Prose(_proof_reason(derivation)),
        checks=check_table(claim.id, claim.checks),
        level=_level(claim),
        counted=f"{claim.measured_checks} + {claim.exact_checks}".replace(" ", numbers.GAP),
        basis="measurement" if claim.measured_checks else "exact checks",
        deviation=largest_deviation(claim.checks),
        figures=tuple(
            FigureView(
                f"{claim.id}.{figure.id}",
                Prose(figure.title),
                prose_in_words(figure.alt),
                figure_values(figure),
            )
            for figure in claim.series
        ),
        controls=controls,
        fits=tuple(_fit(fit) for fit in claim.fits),
        facts=tuple(_fact(claim.id, fact) for fact in claim.facts),
        references=tuple(_reference(one) for one in claim.references),
        digest=claim.digest,
        citation=citation_parts(cite(record, claim, decisive or next(iter(claim.checks), None))),
        sources=tuple(deciding(record, claim.id)),
    )


def _alarms(derivation: DerivationRecord, controls: ControlTable) -> tuple[str, ...]:
    """Return what nobody may overlook: a derivation that fails, a wrong version that stands."""
    found = ["The derivation failed."] if derivation.status is Proof.FAILED else []
    standing = len(controls.rows) - controls.refuted
    if standing == 1:
        found.append("A version that is wrong on purpose was not refuted: the measurement settles nothing.")
    elif standing:
        found.append(
            f"{standing} versions wrong on purpose were not refuted: the measurement settles nothing."
        )
    return tuple(found)


def _outcome(claim: ClaimRecord, verdict: Badge, alarms: tuple[str, ...]) -> str:
    """Return the verdict as it opens the sentence of its reason."""
    if not claim.checks:
        return "Nothing measured"
    return f"The checks are {verdict.word}" if alarms else verdict.word.capitalize()


def _proof_reason(derivation: DerivationRecord) -> str:
    """Return why there is no derivation, or what of the claim goes beyond it."""
    if derivation.status in _SHOWN:
        return f"Beyond the derivation: {closed(derivation.beyond)}" if derivation.beyond else ""
    return closed(derivation.reason)


def _level(claim: ClaimRecord) -> str:
    """Return the level of a claim's intervals; looking again narrows a check's own share."""
    levels = {check.level for check in claim.checks if check.method != "exact"}
    text = numbers.level(min(levels)) if levels else ""
    return f"at least {text}" if len(levels) > 1 else text


def _reference(reference: Reference) -> ReferenceView:
    # A claim file may come from anywhere: only a web address becomes a link, never a script.
    url = reference.url
    return ReferenceView(
        text=Prose(reference.text), url=url if url and url.startswith(("https://", "http://")) else None
    )


def _agreement(derivation: DerivationRecord, number: str) -> str:
    """Return where the routes end, as a sentence that names the displayed result by its number."""
    text = derivation.agreement
    if derivation.latex:
        text = re.sub(r"the (?:stated|same) (?:result|expression)", f"({number})", text)
    text = re.sub(r"^[2-9](?= routes)", lambda count: _COUNTS[int(count[0]) - 2], text)
    return " ".join(filter(None, [closed(text[:1].upper() + text[1:]), _reach(derivation)]))


def _reach(derivation: DerivationRecord) -> str:
    """Return how many steps are checked for all values and how many are not, if any is not."""
    counts = Counter(step.reach for route in derivation.routes for step in route.steps)
    if counts.total() == counts["all-values"]:
        return ""
    total = f"its {counts.total()} steps" if counts.total() > 1 else "its one step"
    parts = [f"{counts[reach]} {words}" for reach, words in _REACHES.items() if counts[reach]]
    return f"Of {total}, {' and '.join(', '.join(parts).rsplit(', ', 1))}."


def _fit(fit: OrdinaryFit) -> FitView:
    return FitView(
        quantity=Prose(fit.quantity),
        slope=numbers.exact(fit.slope),
        intercept=numbers.exact(fit.intercept),
        unexplained=numbers.small(1 - fit.r_squared),
    )


def _fact(claim: str, fact: Fact) -> FactView:
    value = numbers.exact(fact.value)
    return FactView(
        anchor=f"{claim}.{fact.id}",
        what=Prose(fact.what),
        formula=Prose("" if spoken(fact.latex) == value else f"${fact.latex}$"),
        value=value,
    )


def _headline_label(claim: ClaimRecord, decisive: Check | None) -> str:
    if decisive is None:
        return ""
    if claim.measured_checks == 1:
        return "Measured"
    if decisive.verdict is Verdict.CONFIRMED:
        return f"Narrowest margin of {claim.measured_checks} checks"
    return "What decided it"


def _route(route: Route) -> RouteView:
    return RouteView(
        title=Prose(route.title),
        label=f"Steps: {prose_in_words(route.title)}",
        opening=Prose(f"Definition: {route.definition}" if route.definition else "Start"),
        start=Tex(route.start_latex),
        steps=tuple(
            StepView(
                Prose(_RELATIONS[step.relation]),
                Prose(step.rule),
                Tex(step.latex),
                Prose(step.checked_by),
                step.holds,
            )
            for step in route.steps
        ),
    )
