"""The words for what is found: of a check or claim, of a derivation, of a statement of a document."""

from enum import StrEnum


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Derived: every line follows by a check, and no attempt refuted it. Citing: as derived, but a line rests on
    a published theorem, which is named. Measured: nothing is derived for what the claim says. Failed: some
    line does not hold; then nothing was drawn, and the record has no checks.
    """

    DERIVED = "derived"
    CITING = "derived-citing"
    FAILED = "failed"
    MEASURED = "measured"


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"
