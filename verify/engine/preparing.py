"""A claim before and after it is measured: derived and planned, and put on record in its words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import Entry
from verify.engine.derivations import derivation_record
from verify.engine.validation import validate
from verify.errors import ClaimError, nearest
from verify.evidence import Check, ClaimRecord, ControlRecord, DerivationRecord, Fact, OrdinaryFit, Settings
from verify.executors.machine import no_garbage_collection
from verify.montecarlo.experiment import Experiment, Fit, ordinary
from verify.spec.claim import Findings
from verify.spec.experiment import bound_to
from verify.spec.words import Words
from verify.symbolic.chains import Derivation


@dataclass(frozen=True)
class Work:
    """All that a claim's evidence depends on; all but an ``InMemoryClaim`` can go to other processes."""

    claim: Entry
    settings: Settings


@dataclass(frozen=True)
class Prepared:
    """A claim that is derived and planned.

    It has no experiment where its derivation failed: there is no prediction to be measured.
    """

    derivation: Derivation
    proof: DerivationRecord
    words: Words
    experiment: Experiment | None = None
    facts: tuple[Fact, ...] = ()

    def record(
        self,
        findings: Findings | None = None,
        controls: tuple[ControlRecord, ...] = (),
        tolerance: float = 0.0,
    ) -> ClaimRecord:
        """Return the record of the claim; where its derivation failed there are no findings."""
        claim, words = self.words.claim, self.words
        evidence: dict[str, Any] = {"checks": (), "controls": ()}
        if findings is not None and self.experiment is not None:
            # Only now are the ids of all checks known.
            ids = list(findings.checks)
            if claim.headline and ids and claim.headline not in ids:
                near = nearest(claim.headline, ids) or "name one"
                what = f"its headline {claim.headline!r} is no check of it"
                raise ClaimError(f"claim {claim.id}: {what}; {near}")
            derived = bound_to(self.experiment)
            # A prediction is called a threshold unless a chain derives the measured quantity.
            checks = tuple(
                check
                if check.origin == "set" or check.method == "exact" or check.id in derived
                else check.model_copy(update={"origin": "computed"})
                for check in findings.checks.values()
            )
            words = replace(words, checks=checks)
            figures = claim.drawn(self.derivation, findings, tolerance)
            evidence = {
                "checks": checks,
                "controls": controls,
                "facts": self.facts,
                "fits": tuple(_ordinary_fits(self.experiment, findings.checks)),
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
            derivation=self.proof,
            **evidence,
        ).sealed()


def prepare(work: Work, proof: str) -> Prepared:
    """Derive and plan a claim; an experiment that could only fail after drawing is refused here.

    ``proof`` is the record of its checked derivation as JSON, empty where it is to be checked.
    """
    claim, tolerance = work.claim.claim, work.settings.tolerance
    with no_garbage_collection():  # an eighth of the time, and expressions leave little of it
        derivation = claim.derived()
        words = claim.words(derivation)
        if not proof and derivation.problem:
            return Prepared(derivation, derivation_record(derivation, claim.id), words)
        experiment = claim.measured_by(derivation, tolerance)
        facts = claim.exact_values(derivation, tolerance)
        validate(experiment, claim.id, facts)
        words = replace(words, facts=facts, experiment=experiment)
        words.texts()
        experiment = words.spoken(experiment)
        record = (
            DerivationRecord.model_validate_json(proof) if proof else derivation_record(derivation, claim.id)
        )
    return Prepared(derivation, record, replace(words, experiment=experiment), experiment, facts)


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
