"""A claim before and after it is measured: derived and planned, and put on record in its words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import Entry
from verify.engine.derivations import derivation_record
from verify.engine.validation import validate
from verify.errors import ClaimError, nearest
from verify.evidence import Check, ClaimRecord, ControlRecord, DerivationRecord, OrdinaryFit, Settings
from verify.executors.machine import no_garbage_collection
from verify.montecarlo.experiment import Experiment, Fit, ordinary
from verify.spec.claim import Findings
from verify.spec.experiment import bound_to
from verify.spec.words import Words


@dataclass(frozen=True)
class Work:
    """All that a claim's evidence depends on; all but an ``InMemoryClaim`` can go to other processes."""

    claim: Entry
    settings: Settings


class Prepared(NamedTuple):
    """A claim that is derived and planned: its words, the record of its derivation, and its experiment.

    It has no experiment where its derivation failed: there is no prediction to be measured.
    """

    words: Words
    derivation: DerivationRecord
    experiment: Experiment | None = None


def prepare(work: Work, derivation_json: str) -> Prepared:
    """Derive and plan a claim; an experiment that could only fail after drawing is refused here.

    ``derivation_json`` is the record of its checked derivation, empty where it is to be checked.
    """
    claim, tolerance = work.claim.claim, work.settings.tolerance
    with no_garbage_collection():  # an eighth of the time, and expressions leave little of it
        derivation = claim.derived()
        if not derivation_json and derivation.problem:
            return Prepared(claim.words(derivation), derivation_record(derivation, claim.id))
        experiment = claim.measured_by(derivation, tolerance)
        facts = claim.exact_values(derivation, tolerance)
        validate(experiment, claim.id, facts)
        words = claim.words(derivation, facts, experiment)
        # A slot that nothing fills is refused before anything is drawn, too.
        words.texts()
        experiment = words.spoken(experiment)
        if derivation_json:
            record = DerivationRecord.model_validate_json(derivation_json)
        else:
            record = derivation_record(derivation, claim.id)
    return Prepared(replace(words, experiment=experiment), record, experiment)


def claim_record(
    prepared: Prepared,
    findings: Findings | None = None,
    controls: tuple[ControlRecord, ...] = (),
    tolerance: float = 0.0,
) -> ClaimRecord:
    """Return the record of a claim; where its derivation failed there are no findings."""
    words, experiment = prepared.words, prepared.experiment
    claim, evidence = words.claim, dict[str, Any](checks=(), controls=())
    if findings is not None and experiment is not None:
        # Only now are the ids of all checks known.
        ids = list(findings.checks)
        if claim.headline and ids and claim.headline not in ids:
            near = nearest(claim.headline, ids) or "name one"
            raise ClaimError(f"claim {claim.id}: its headline {claim.headline!r} is no check of it; {near}")
        # A fit through points of which a chain does not derive all is not derived either.
        derived = bound_to(experiment)
        checks = tuple(
            check
            if check.origin == "set" or check.method == "exact" or check.id in derived
            else check.model_copy(update={"origin": "computed"})
            for check in findings.checks.values()
        )
        words = replace(words, checks=checks)
        figures = claim.drawn(words.derivation, findings, tolerance)
        evidence = {
            "checks": checks,
            "controls": controls,
            "facts": words.facts,
            "fits": tuple(_ordinary_fits(experiment, findings.checks)),
            "series": tuple(map(words.drawn, figures)),
        }
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter].title,
        **words.texts(),
        assumptions=claim.assumptions,
        references=claim.references,
        authors=claim.authors,
        headline=claim.headline,
        derivation=prepared.derivation,
        **evidence,
    ).sealed()


def _ordinary_fits(experiment: Experiment, checks: Mapping[str, Check]) -> Iterator[OrdinaryFit]:
    """Yield an unweighted line for each set of points that a weighted fit goes through."""
    seen: set[tuple[str, ...]] = set()
    for fit in (check for check in experiment.checks if isinstance(check, Fit)):
        members = tuple(member.id for member in fit.members)
        if fit.fit.model == "power" or members in seen:
            continue
        seen.add(members)
        slope, intercept, r_squared = ordinary(fit.fit.x, [checks[name].estimate for name in members])
        name = fit.id if fit.id.startswith("ordinary") else f"ordinary-{fit.id}"
        quantity = fit.members[0].label
        yield OrdinaryFit(id=name, quantity=quantity, slope=slope, intercept=intercept, r_squared=r_squared)
