"""Derives and plans a claim: all that its evidence takes before anything is drawn."""

from dataclasses import dataclass, replace

from verify.engine.catalogue import ClaimFile, ClaimReference
from verify.engine.derivations import derivation_record
from verify.engine.validation import validate
from verify.evidence import DerivationRecord, Fact, Settings
from verify.executors.machine import no_garbage_collection
from verify.montecarlo.experiment import Experiment
from verify.spec.words import Words
from verify.symbolic.chains import Derivation


@dataclass(frozen=True)
class Work:
    """What the evidence of a claim depends on; all but an ``InMemoryClaim`` can go to other processes."""

    claim: ClaimReference
    settings: Settings

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
        facts = claim.exact_values(derivation, tolerance)
        validate(experiment, claim.id, facts)
        words = replace(words, facts=facts, experiment=experiment)
        words.said()
        experiment = words.spoken(experiment)
        record = (
            DerivationRecord.model_validate_json(proof) if proof else derivation_record(derivation, claim.id)
        )
    return Prepared(derivation, record, replace(words, experiment=experiment), experiment, facts)
