"""Derives and plans a claim: all that its evidence takes before anything is drawn."""

from dataclasses import dataclass, replace

from verify.engine.catalogue import ClaimFile, ClaimReference
from verify.engine.derivations import derivation_record
from verify.engine.sources import Wanted
from verify.engine.statements import refuse_absent_evidence
from verify.engine.validation import validate
from verify.errors import ClaimError
from verify.evidence import DerivationRecord, Fact, Settings
from verify.evidence.judging import ErrorBudget
from verify.executors.machine import no_garbage_collection
from verify.montecarlo.experiment import Exact, Experiment, every_comparison
from verify.spec.words import Words
from verify.symbolic.chains import Derivation


@dataclass(frozen=True)
class Work:
    """What the evidence of a claim depends on; all but an ``InMemoryClaim`` can be sent to other processes.

    ``wanted`` is the evidence that the sources' statements rest on; nothing is drawn if some does not exist.
    ``with_sums`` asks for what was drawn as well.
    """

    claim: ClaimReference
    settings: Settings
    wanted: tuple[Wanted, ...] = ()
    with_sums: bool = False

    @property
    def origin(self) -> object:
        """The claim's file, for messages; empty where it has none."""
        return self.claim.path if isinstance(self.claim, ClaimFile) else ""


@dataclass(frozen=True)
class Prepared:
    """A claim that is derived and planned.

    It has no experiment where its derivation failed: what it was to predict is not measured.
    """

    derivation: Derivation
    proof: DerivationRecord
    words: Words
    experiment: Experiment | None = None
    facts: tuple[Fact, ...] = ()


def prepare(work: Work, proof: str) -> Prepared:
    """Derive and plan a claim; what could only fail after drawing is refused here.

    ``proof`` is the record of its checked derivation as JSON, empty where it is to be checked.
    """
    claim, tolerance = work.claim.claim, work.settings.tolerance
    with no_garbage_collection():  # an eighth of the time, and expressions leave little of it
        derivation = claim.derived()
        words = claim.words(derivation)
        if not proof and derivation.problem:
            return Prepared(derivation, derivation_record(derivation, claim.id), words)
        experiment = claim.measured_by(derivation, tolerance)
        validate(experiment, claim.id)
        facts = claim.exact_values(derivation, tolerance)
        names = [finding.id for finding in (*every_comparison(experiment), *facts)]
        for name in names:
            # A finding is linked to and cited by its claim and its name.
            if names.count(name) > 1:
                raise ClaimError(f"claim {claim.id}: {name!r} names two findings; rename the fact")
        comparisons = tuple(control.comparison for control in experiment.controls)
        refuse_absent_evidence(work.wanted, claim.id, experiment.checks, comparisons, facts)
        # A claim that outgrows the error budget is refused before it is measured.
        ErrorBudget.refuse_too_many(sum(not isinstance(check, Exact) for check in experiment.checks))
        words = replace(words, facts=facts, experiment=experiment)
        words.said()
        experiment = words.spoken(experiment)
        words = replace(words, experiment=experiment)
        record = (
            DerivationRecord.model_validate_json(proof) if proof else derivation_record(derivation, claim.id)
        )
    return Prepared(derivation, record, words, experiment, facts)
