"""Records: frozen, found by id; what texts and formulas of one may hold."""

import hashlib

import pytest
from pydantic import ValidationError

from tests.report.records import SCORE_VARIANCE
from verify.errors import ClaimError
from verify.evidence import Fact
from verify.evidence.records import by_id, fingerprint
from verify.evidence.texts import formula, in_utc, moment


@pytest.mark.parametrize(
    ("given", "in_it"),
    [
        ("2026-11-20T23:30:00", "2026-11-20T23:30:00+00:00"),
        ("2026-11-20T23:30:00Z", "2026-11-20T23:30:00+00:00"),
        ("2026-11-20T23:30:00-02:30", "2026-11-21T02:00:00+00:00"),
    ],
)
def test_a_moment_without_a_zone_counts_as_utc(given: str, in_it: str) -> None:
    """Others are brought to UTC; the record keeps what it was given."""
    assert in_utc(given).isoformat() == in_it
    assert moment(given) == given


@pytest.mark.parametrize(
    ("latex", "sign"),
    [
        (r"\frac{a", r"unpaired \{; correct"),
        ("a}{b", r"unpaired \}; correct"),
        ("a\nb", r"control character"),
    ],
)
def test_malformed_latex_is_refused(latex: str, sign: str) -> None:
    """The sign is named; a brace after a backslash is none."""
    assert formula(r"\left\{a, b\right\}") == r"\left\{a, b\right\}"
    with pytest.raises(ValueError, match=sign):
        formula(latex)


def test_records_are_frozen() -> None:
    """Nothing can be set."""
    with pytest.raises(ValidationError, match="frozen"):
        setattr(SCORE_VARIANCE.checks[0], "estimate", 1.0)  # noqa: B010  # mypy refuses plain assignment


def test_the_fingerprint_is_sha_256_of_canonical_json() -> None:
    """Other people's programs may compute it: keys in order, no spaces, UTF-8."""
    text = '{"id":"é","settings":{"a":"2","b":"1"}}'
    made = {"settings": {"b": "1", "a": "2"}, "id": "é"}
    assert fingerprint(made) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("first", "second"), "here: no part 'frst'; did you mean 'first'?"),
        (("some", "other"), "here: no part 'frst'; the parts are some, other"),
        (tuple(f"n{number}" for number in range(9)), "here: no part 'frst'; there are 9"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_the_nearest(parts: tuple[str, ...], message: str) -> None:
    """Or with all names, where they are few, or their number."""
    named = [Fact(id=name, what="", latex="", value=0) for name in parts]
    assert [by_id(named, name, "", "part") for name in parts] == named
    with pytest.raises(ClaimError) as caught:
        by_id(named, "frst", "here: ", "part")
    assert str(caught.value) == message
