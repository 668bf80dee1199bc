"""A claim's evidence as a card: everything the templates print about one claim, ready to be set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from verify.evidence import Check, Proof, Verdict
from verify.report import numbers
from verify.report.latex import Prose, Tex, plain
from verify.report.tables import Cell, aligned
from verify.report.words import Badge, badge, cell_text, closest_call, control_badge, sentence, tolerance_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.evidence import ClaimRecord, Control, Route


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a derivation; ``mark`` is shown only where the step fails."""

    rule: Prose
    formula: Tex
    spoken: str
    checked: Prose
    holds: bool


@dataclass(frozen=True, slots=True)
class RouteView:
    """One chain of steps from the expression it starts with."""

    title: Prose
    start: Tex
    start_spoken: str
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class RowView:
    """One check as a row of figures."""

    anchor: str
    label: Prose
    predicted: Cell
    estimate: Cell
    error: Cell
    low: Cell
    high: Cell
    sample: str
    looks: int
    verdict: Badge


@dataclass(frozen=True, slots=True)
class GroupView:
    """Checks of one quantity, whose figures share their columns."""

    title: Prose
    note: Prose
    formula: Prose
    rows: tuple[RowView, ...]


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
    reason: Prose
    headline: Prose | None
    headline_label: str
    subject: str
    result: Tex | None
    routes: tuple[RouteView, ...]
    agreement: Prose
    proof_reason: Prose
    groups: tuple[GroupView, ...]
    level: str
    figures: tuple[FigureView, ...]
    controls: tuple[ControlView, ...]
    fits: tuple[tuple[Prose, str, str, str], ...]
    facts: tuple[tuple[str, Prose, Prose, str], ...]
    references: tuple[tuple[str, Prose, str | None], ...]
    digest: str


def card(claim: ClaimRecord, number: str) -> CardView:
    """Return a claim's card; ``number`` is its place in the report, such as ``1.2``."""
    call = closest_call(claim.checks)
    derivation = claim.derivation
    levels = {check.level for check in claim.checks if check.method != "exact"}
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
        reason=Prose(claim.reason),
        headline=sentence(call) if call else None,
        headline_label=_headline_label(claim, call),
        subject=derivation.subject,
        result=Tex(derivation.latex) if derivation.latex else None,
        routes=tuple(_route(route) for route in derivation.routes),
        agreement=Prose(derivation.agreement),
        proof_reason=Prose(derivation.reason if derivation.status is not Proof.PROVED else ""),
        groups=groups(claim),
        level=numbers.level(min(levels)) if levels else "",
        figures=tuple(
            FigureView(f"{claim.id}.{figure.id}", Prose(figure.title), plain(figure.alt))
            for figure in claim.series
        ),
        controls=tuple(_control(claim.id, control) for control in claim.controls),
        fits=tuple(
            (
                Prose(fit.quantity),
                numbers.exact(fit.slope),
                numbers.exact(fit.intercept),
                numbers.exact(fit.r_squared),
            )
            for fit in claim.fits
        ),
        facts=tuple(
            (f"{claim.id}.{fact.id}", Prose(fact.what), Prose(f"${fact.latex}$"), numbers.exact(fact.value))
            for fact in claim.facts
        ),
        references=tuple((ref.key, Prose(ref.text), ref.url) for ref in claim.references),
        digest=claim.digest,
    )


def groups(claim: ClaimRecord) -> tuple[GroupView, ...]:
    """Return a claim's checks gathered by quantity, in their order."""
    together = groupby(claim.checks, key=lambda check: (check.quantity, check.method, check.tolerance_of))
    return tuple(_group(claim.id, tuple(checks)) for _, checks in together)


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
        start=Tex(route.start_latex),
        start_spoken=route.start_plain,
        steps=tuple(
            StepView(Prose(step.rule), Tex(step.latex), step.plain, Prose(step.checked_by), step.holds)
            for step in route.steps
        ),
    )


def _group(claim: str, checks: tuple[Check, ...]) -> GroupView:
    first = checks[0]
    common = [
        key for key, value in first.cell.items()
        if len(checks) > 1 and all(check.cell.get(key) == value for check in checks)
    ]  # fmt: skip
    shared = cell_text({key: first.cell[key] for key in common})
    # A bare number stands in the column of predictions already.
    formulas = {check.prediction_latex for check in checks if re.search("[a-zA-Z]", check.prediction_latex)}
    note = "; ".join(filter(None, [_METHODS[first.method], shared, tolerance_text(first)]))
    return GroupView(
        title=Prose(first.quantity),
        note=Prose(note),
        formula=Prose(f"predicted ${formulas.pop()}$" if len(formulas) == 1 else ""),
        rows=_rows(claim, checks, common),
    )


_METHODS = {"monte-carlo": "", "fit": "weighted fit", "exact": ""}


def _rows(claim: str, checks: tuple[Check, ...], common: Sequence[str]) -> tuple[RowView, ...]:
    found = [numbers.estimate(check.estimate, check.standard_error, check.interval) for check in checks]
    measured = [check.method != "exact" for check in checks]
    predicted = aligned([numbers.beside(check.prediction, check.standard_error) for check in checks])
    estimates = aligned([one.value + one.times for one in found])
    errors = aligned([one.error + one.times if one.error else "" for one in found])
    lows = aligned([one.low + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    highs = aligned([one.high + one.times if real else "" for one, real in zip(found, measured, strict=True)])
    return tuple(
        RowView(
            anchor=f"{claim}.{check.id}",
            label=cell_text(check.cell, without=common),
            predicted=predicted[place],
            estimate=estimates[place],
            error=errors[place],
            low=lows[place],
            high=highs[place],
            sample=_sample(check),
            looks=check.looks,
            verdict=badge(check.verdict),
        )
        for place, check in enumerate(checks)
    )


def _sample(of: Check | Control) -> str:
    if of.blocks == 0:
        return ""
    draws = numbers.count(of.draws) if of.draws < 1_000_000 else numbers.exact(of.draws / 1e6, 3) + " M"
    return f"{numbers.count(of.blocks)} / {draws}"


def _control(claim: str, control: Control) -> ControlView:
    # A control has no standard error of its own; its interval's width says how far digits mean anything.
    error = (control.interval[1] - control.interval[0]) / 10
    found = numbers.estimate(control.estimate, error, control.interval)
    where = cell_text(control.cell)
    return ControlView(
        anchor=f"{claim}.{control.id}",
        what=Prose(f"{control.what} ({where})" if where else control.what),
        predicted=numbers.beside(control.prediction, error),
        found=f"{found.value}{found.times} in {found.interval}",
        power=numbers.power(control.power),
        sample=_sample(control),
        verdict=control_badge(control.verdict),
    )
