"""Values in the form that a document asks for, and as a mapping in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import verify
from tests.auditing.records import bad
from tests.report.records import record
from verify.citing.lookup import by_key, chosen, lookup
from verify.errors import CitationError


@pytest.mark.parametrize("digits", [12, 16, 64])
def test_a_digest_leads_to_what_it_is_of(digits: int) -> None:
    """Twelve digits of it or more; fewer, or those of nothing, are no key."""
    claim = RUN.claims[1]
    assert lookup(RUN, claim.digest[:digits]).key == claim.id
    assert chosen(RUN, [claim.digest[:digits]]) == chosen(RUN, [claim.id])
    for wrong in (claim.digest[:11], "0" * digits):
        with pytest.raises(CitationError, match="no value"):
            lookup(RUN, wrong)


RUN = record()
KEY = "score-variance.slope:estimate"


def test_a_value_is_text_and_number() -> None:
    """With all its digits; an interval and a word are no number."""
    values = verify.values(RUN)
    slope = next(check for check in RUN.claims[0].checks if check.id == "slope")
    assert str(values[KEY]) == lookup(RUN, KEY).text
    assert float(values[KEY]) == slope.estimate
    assert values["score-variance.slope"].numbers == (slope.estimate, *slope.interval)
    assert str(values[f"{KEY}|digits=2"]) == lookup(RUN, f"{KEY}|digits=2").text
    for key in ("score-variance.slope", "score-variance:verdict"):
        with pytest.raises(CitationError, match="not one number"):
            float(values[key])
    assert repr(values[KEY]) == f"<{KEY}: {values[KEY]}>"
    assert str(values[KEY]) in values[KEY]._repr_html_()


def test_it_is_a_mapping() -> None:
    """All keys, and an error with the nearest one that is a KeyError as well."""
    values = verify.values(RUN)
    assert set(values) == set(by_key(RUN))
    assert len(values) == len(by_key(RUN))
    assert KEY in values
    assert "nothing" not in values
    assert values.get("nothing") is None
    for kind in (KeyError, verify.VerifyError):
        with pytest.raises(kind, match="did you mean 'score-variance"):
            values["score-variance.slop"]


def test_files_and_audits_have_values(tmp_path: Path) -> None:
    """And anything else is refused."""
    path = tmp_path / "results.json"
    path.write_text(RUN.to_json(), encoding="utf-8")
    assert str(verify.values(path)[KEY]) == str(verify.values(str(path))[KEY])
    assert str(verify.values(bad(2, 2))["audit"]) == "refuted"
    with pytest.raises(verify.VerifyError, match="int: is not a record of a run or an audit"):
        verify.values(3)  # type: ignore[arg-type]


def test_doubt_is_told_with_the_value() -> None:
    """Of a claim that is not confirmed."""
    broken = next(claim for claim in RUN.claims if claim.verdict == "refuted")
    value = verify.values(RUN)[f"{broken.id}.{broken.checks[0].id}:estimate"]
    assert value.doubt == "its claim is no longer confirmed but refuted"
    assert verify.values(RUN)[KEY].doubt == ""
