"""Errors: one family, one line, and whose mistake it is."""

import pytest

from verify import errors
from verify.errors import (
    ClaimError,
    OutputError,
    RenderError,
    VerifyError,
    claim_errors,
    unknown,
    what_is_wrong,
)


def test_every_error_is_of_one_family() -> None:
    """Whoever catches ``VerifyError`` catches them all; each ends the tool with a status of its own kind."""
    raised = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    kinds = {kind: kind.exit_status for kind in raised if issubclass(kind, VerifyError)}
    assert len(kinds) == len(raised) > 5
    assert {kind: status for kind, status in kinds.items() if status != 2} == {RenderError: 4}


def test_what_a_claims_code_raises_is_a_mistake_in_the_claim() -> None:
    """It is named with its file, in one line, however many the error has."""
    with pytest.raises(ClaimError) as caught, claim_errors("mine", "mine.py"):
        raise ValueError("this\nand that")
    assert str(caught.value) == "claim mine: ValueError: this and that; correct the claim file mine.py"
    assert isinstance(caught.value.__cause__, ValueError)


def test_bad_input_passes_a_claims_code() -> None:
    """It says already what is wrong."""
    for error in (OutputError("a: is full"), ClaimError("claim mine: is wrong")):
        with pytest.raises(type(error)) as caught, claim_errors("mine"):
            raise error
        assert caught.value is error


def test_the_nearest_name_is_suggested() -> None:
    """Where none is near, what to do instead."""
    assert (
        unknown("claim", "scoer", ["score", "law"], "list them") == "no claim 'scoer'; did you mean 'score'?"
    )
    assert unknown("claim", "zzz", ["score", "law"], "list them") == "no claim 'zzz'; list them"
    assert unknown("setting", "t", ["d_k", "T"], "") == "no setting 't'; did you mean 'T'?"
    claims = ["grouped-queries", "attention-entropy"]
    assert unknown("claim", "entropy", claims, "") == "no claim 'entropy'; did you mean 'attention-entropy'?"
    assert unknown("claim", "rope", claims, "list them") == "no claim 'rope'; list them"
    # What it is a word of is nearer than what looks alike.
    softmax = ["soft-cap", "online-softmax"]
    assert unknown("claim", "softmax", softmax, "") == "no claim 'softmax'; did you mean 'online-softmax'?"
    assert "\n" not in what_is_wrong(ValueError("a\nb"))
