"""The words for results: of a check or claim, of a derivation, of a statement of a document."""

from enum import StrEnum


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Proved: derived, and what the main chain shows is a theorem that Coq checked, printed from the chain.
    Derived: every line follows by a check, and no attempt refuted it. Citing: as derived, but a line rests on
    a published theorem, which is named. Measured: nothing is derived for what the claim says. Failed: a
    line does not hold; then nothing was drawn, and the record has no checks.
    """

    PROVED = "proved"
    DERIVED = "derived"
    CITING = "derived-citing"
    FAILED = "failed"
    MEASURED = "measured"

    @property
    def stands(self) -> bool:
        """Whether something is derived, and every line holds."""
        return self in {Proof.PROVED, Proof.DERIVED, Proof.CITING}


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"
