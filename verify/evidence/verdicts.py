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

    Proved: the kernel's rules make a theorem of every chain, for all values of its hypotheses; of nothing
    else is it said without more that it is derived. Reviewed: some step stands on a rule of its author's,
    which a reader has checked. At examples: some step holds at given values or numerically only. In part: the
    statement says more than was derived, and the record says what. Failed: some step does not hold; then
    nothing was drawn, and the record has no checks.
    """

    PROVED = "proved"
    REVIEWED = "reviewed"
    AT_EXAMPLES = "checked-at-examples"
    IN_PART = "in-part"
    FAILED = "failed"
    NOT_CLAIMED = "not-claimed"


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"
