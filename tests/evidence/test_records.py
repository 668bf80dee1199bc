"""What all records have in common: frozen, strict, finite, and found by id."""

from __future__ import annotations

import hashlib
import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.strategies import CHECKS, examples
from verify.errors import ClaimError
from verify.evidence import Check, Fact
from verify.evidence.records import Record, Sealed, by_id, fingerprint


@examples(10)
@given(CHECKS)
def test_records_are_frozen_and_strict(check: Check) -> None:
    """Nothing can be set, and unknown fields are errors."""
    with pytest.raises(ValidationError, match="frozen"):
        setattr(check, "estimate", 1.0)  # noqa: B010  # mypy would refuse the plain assignment
    with pytest.raises(ValidationError, match="Extra inputs"):
        Check.model_validate({**check.model_dump(), "estimates": 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(value: float) -> None:
    """JSON has no word for infinity or not-a-number, so no record holds one."""
    with pytest.raises(ValidationError, match="finite"):
        Fact(id="f", what="", latex="", value=value)


@given(st.dictionaries(st.sampled_from("abc"), st.text("<&>x", max_size=3), min_size=3), st.randoms())
def test_a_fingerprint_is_that_of_the_content(settings: dict[str, str], order: Random) -> None:
    """In whatever order it is given."""
    again = dict(order.sample(sorted(settings.items()), len(settings)))
    assert fingerprint(settings) == fingerprint(again)
    assert fingerprint({**again, "a": again["a"] + "!"}) != fingerprint(settings)


class Named(Record):
    """A record of a test."""

    id: str


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
        ((), "here: no part 'frst'; there are 0"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_the_nearest(parts: tuple[str, ...], message: str) -> None:
    """Or with all names, where they are few, or their number."""
    named = [Named(id=name) for name in parts]
    assert [by_id(named, name, "", "part") for name in parts] == named
    with pytest.raises(ClaimError) as caught:
        by_id(named, "frst", "here: ", "part")
    assert str(caught.value) == message


def test_a_record_of_a_file_fits_its_seal_until_something_changes() -> None:
    """Sealing changes nothing else, and twice is once."""

    class File(Sealed):
        content: str
        seal: str = ""

    sealed = File(content="x").sealed()
    assert (sealed.content, sealed.sealed(), len(sealed.seal)) == ("x", sealed, 64)
    assert sealed.fitting_seal() == sealed.seal
    assert sealed.model_copy(update={"content": "y"}).fitting_seal() != sealed.seal
    assert json.loads(sealed.to_json()) == {"content": "x", "seal": sealed.seal}
