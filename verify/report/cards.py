"""A claim's evidence as a card: everything the templates print about one claim, ready to be set."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.evidence import Check, Proof, Verdict
from verify.report import numbers
from verify.report.columns import check_columns, control_columns
from verify.report.latex import Prose, Tex, plain, spoken
from verify.report.speech import said_prose
from verify.report.tables import (
    GroupView,
    as_predicted,
    common_settings,
    groups,
    said_once,
    sample,
    shared,
)
from verify.report.words import (
    Badge,
    badge,
    cell_text,
    closest_call,
    control_badge,
    largest_deviation,
    sentence,
)

if TYPE_CHECKING:
    from verify.evidence import ClaimRecord, Control, DerivationRecord, Fact, OrdinaryFit, Reach, Route


_SHOWN = frozenset([Proof.PROVED, Proof.AT_EXAMPLES, Proof.IN_PART])
"""What has a derivation that stands; only what is proved is called derived."""
_REACHES: dict[Reach, str] = {
    "general": "checked for all values",
    "examples": "exactly at a few sizes",
    "numerical": "numerically at a few points",
}
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_RELATIONS = {"=": "$=$", "⇒": r"$\Rightarrow$", "⇔": r"$\Leftrightarrow$", "≤": r"$\le$", "≥": r"$\ge$"}


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a derivation; ``relation`` says how it stands to the one before."""

    relation: Prose
    rule: Prose
    formula: Tex
    checked: Prose
    holds: bool


@dataclass(frozen=True, slots=True)
class RouteView:
    """One chain of steps from the expression it starts with; ``label`` is what a screen reader calls it.

    ``opening`` stands beside the start and says what it is, if it is defined there.
    """

    title: Prose
    label: str
    opening: Prose
    start: Tex
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class ControlView:
    """A wrong version of the claim and what became of it."""

    anchor: str
    what: Prose
    predicted: str
    found: str
    power: str
    sample: str
    verdict: Badge


@dataclass(frozen=True, slots=True)
class FigureView:
    """A drawn figure: ``key`` finds its drawing."""

    key: str
    title: Prose
    alt: str


@dataclass(frozen=True, slots=True)
class CardView:
    """Everything the report prints about one claim."""

    id: str
    number: str
    title: Prose
    plain_title: str
    statement: Prose
    meaning: Prose
    assumptions: tuple[Prose, ...]
    verdict: Badge
    proof: Badge
    alarms: tuple[str, ...]
    outcome: str
    reason: Prose
    headline: Prose | None
    headline_label: str
    subject: str
    result: Tex | None
    routes: tuple[RouteView, ...]
    agreement: Prose
    proof_reason: Prose
    groups: tuple[GroupView, ...]
    shared: tuple[Prose, ...]
    columns: tuple[float, ...]
    level: str
    checks: str
    basis: str
    deviation: str
    figures: tuple[FigureView, ...]
    controls: tuple[ControlView, ...]
    controls_shared: Prose
    control_columns: tuple[float, ...]
    refuted: int
    fits: tuple[tuple[Prose, str, str, str], ...]
    facts: tuple[tuple[str, Prose, Prose, str], ...]
    references: tuple[tuple[str, Prose, str | None], ...]
    digest: str
    citation: str


def card(claim: ClaimRecord, number: str, cited: str) -> CardView:
    """Return a claim's card; ``number`` is its place in the report, ``cited`` its citation as text."""
    call = closest_call(claim.checks)
    derivation = claim.derivation
    levels = {check.level for check in claim.checks if check.method != "exact"}
    table = groups(claim.id, claim.checks)
    alike = common_settings(claim.controls) if len(claim.controls) > 1 else {}
    controls = tuple(_control(claim.id, control, without=tuple(alike)) for control in claim.controls)
    return CardView(
        id=claim.id,
        number=number,
        title=Prose(claim.title),
        plain_title=plain(claim.title),
        statement=Prose(claim.statement),
        meaning=Prose(claim.meaning),
        assumptions=tuple(Prose(assumption.text) for assumption in claim.assumptions),
        verdict=badge(claim.verdict),
        proof=badge(derivation.status),
        alarms=_alarms(claim),
        outcome=_outcome(claim),
        reason=Prose(_closed(claim.reason)),
        headline=sentence(call, derived=derivation.status is Proof.PROVED) if call else None,
        headline_label=_headline_label(claim, call),
        subject=derivation.subject,
        result=Tex(derivation.latex) if derivation.latex else None,
        routes=tuple(_route(route) for route in derivation.routes),
        agreement=Prose(_agreement(derivation, number)),
        proof_reason=Prose(_proof_reason(derivation)),
        groups=table,
        shared=tuple(one.text for one in shared(claim.checks)),
        columns=check_columns(table),
        level=_level(levels),
        checks=f"{claim.measured_checks} + {claim.exact_checks}".replace(" ", numbers.GAP),
        basis="measurement" if claim.measured_checks else "exact checks",
        deviation=largest_deviation(claim.checks),
        figures=tuple(
            FigureView(f"{claim.id}.{figure.id}", Prose(figure.title), said_prose(figure.alt))
            for figure in claim.series
        ),
        controls=controls,
        controls_shared=said_once("controls", alike),
        control_columns=control_columns(controls),
        refuted=sum(control.verdict is Verdict.REFUTED for control in claim.controls),
        fits=tuple(_fit(fit) for fit in claim.fits),
        facts=tuple(_fact(claim.id, fact) for fact in claim.facts),
        references=tuple((ref.key, Prose(ref.text), _web_address(ref.url)) for ref in claim.references),
        digest=claim.digest,
        citation=cited,
    )


def _alarms(claim: ClaimRecord) -> tuple[str, ...]:
    """Return what nobody may overlook: a derivation that fails, a wrong version that stands."""
    found = ["The derivation failed."] if claim.derivation.status is Proof.FAILED else []
    standing = sum(control.verdict is not Verdict.REFUTED for control in claim.controls)
    if standing == 1:
        found.append("A version that is wrong on purpose was not refuted: the measurement settles nothing.")
    elif standing:
        found.append(
            f"{standing} versions wrong on purpose were not refuted: the measurement settles nothing."
        )
    return tuple(found)


def _outcome(claim: ClaimRecord) -> str:
    """Return the verdict as it opens the sentence of its reason."""
    if not claim.checks:
        return "Nothing measured"
    word = badge(claim.verdict).word
    return f"The checks are {word}" if _alarms(claim) else word.capitalize()


def _proof_reason(derivation: DerivationRecord) -> str:
    """Return why there is no derivation, or what of the claim goes beyond it."""
    if derivation.status in _SHOWN:
        return f"Beyond the derivation: {_closed(derivation.beyond)}" if derivation.beyond else ""
    return _closed(derivation.reason)


def _level(levels: set[float]) -> str:
    """Return the level of a claim's intervals; looking again narrows a check's own share."""
    text = numbers.level(min(levels)) if levels else ""
    return f"at least {text}" if len(levels) > 1 else text


def _web_address(url: str | None) -> str | None:
    # A claim file of someone else's must not smuggle in an address that does something.
    return url if url and url.startswith(("https://", "http://")) else None


def _closed(sentence: str) -> str:
    return sentence if not sentence or sentence.endswith((".", "!", "?")) else sentence + "."


def _agreement(derivation: DerivationRecord, number: str) -> str:
    """Return where the routes end, as a sentence that names the displayed result by its number."""
    text = derivation.agreement
    if derivation.latex:
        text = re.sub(r"the (?:stated|same) (?:result|expression)", f"({number})", text)
    text = re.sub(r"^[2-9](?= routes)", lambda count: _COUNTS[int(count[0]) - 2], text)
    return " ".join(filter(None, [_closed(text[:1].upper() + text[1:]), _reach(derivation)]))


def _reach(derivation: DerivationRecord) -> str:
    """Return how many steps are checked for all values and how many are not, if any is not."""
    counts = Counter(step.reach for route in derivation.routes for step in route.steps)
    if not counts["examples"] + counts["numerical"]:
        return ""
    total = f"its {counts.total()} steps" if counts.total() > 1 else "its one step"
    parts = [f"{counts[reach]} {words}" for reach, words in _REACHES.items() if counts[reach]]
    return f"Of {total}, {' and '.join(', '.join(parts).rsplit(', ', 1))}."


def _fit(fit: OrdinaryFit) -> tuple[Prose, str, str, str]:
    share = numbers.exact(fit.r_squared, 8)
    return Prose(fit.quantity), numbers.exact(fit.slope), numbers.exact(fit.intercept), share


def _fact(claim: str, fact: Fact) -> tuple[str, Prose, Prose, str]:
    value = numbers.exact(fact.value)
    formula = Prose("" if spoken(fact.latex) == value else f"${fact.latex}$")
    return f"{claim}.{fact.id}", Prose(fact.what), formula, value


def _headline_label(claim: ClaimRecord, call: Check | None) -> str:
    if call is None:
        return ""
    measured = sum(check.method != "exact" for check in claim.checks)
    if measured == 1:
        return "Measured"
    return f"Closest call of {measured} checks" if call.verdict is Verdict.CONFIRMED else "What decided it"


def _route(route: Route) -> RouteView:
    return RouteView(
        title=Prose(route.title),
        label=f"Steps: {said_prose(route.title)}",
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


def _control(claim: str, control: Control, without: tuple[str, ...]) -> ControlView:
    # A control has no standard error of its own; its interval's width says how far digits mean anything.
    error = (control.interval[1] - control.interval[0]) / 10
    found = numbers.estimate(control.estimate, error, control.interval)
    where = cell_text(control.cell, without)
    return ControlView(
        anchor=f"{claim}.{control.id}",
        what=Prose(f"{control.what} ({where})" if where else control.what),
        predicted=as_predicted(control, error),
        found=f"{found.value}{found.times} in {found.interval}" if error else found.value + found.times,
        power=numbers.power(control.power) if control.blocks else "exact",
        sample=sample(control),
        verdict=control_badge(control.verdict),
    )
