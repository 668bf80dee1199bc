"""Values in the form that a document asks for, and as a mapping in Python."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verify
from tests.auditing.records import bad
from tests.report.records import record
from verify.citing.agreement import agrees, fixed
from verify.citing.documents import check, fix
from verify.citing.lookup import by_key, formatted, lookup, lookup_in
from verify.citing.values import Figure, Value
from verify.errors import CitationError

if TYPE_CHECKING:
    from pathlib import Path

LOW, HIGH = Figure(Decimal("0.99784"), "down"), Figure(Decimal("1.00381"), "up")
BOTH = Value("k.c", "1.0008 [0.9978, 1.0039]", (Figure(Decimal("1.00083")), LOW, HIGH), "k")
DRAWS = Value("k.c:draws", "92\N{NARROW NO-BREAK SPACE}414\N{NARROW NO-BREAK SPACE}464",
              (Figure(Decimal(92414464)),), "k")  # fmt: skip
WORD = Value("k:verdict", "confirmed", (), "k", kind="confirmed|refuted")
SEED = Value("run:seed", "7", (Figure(Decimal(7), "exact"),), "k")
LEVEL = Value("k:level", "99.38%", (Figure(Decimal("99.381")),), "k")
NEAR_ONE = Value("k:level", "1 − 6.1×10⁻⁷", (Figure(Decimal(1)), Figure(Decimal("0.00000061"))), "k")
SURE = Value("k:power", "> 0.9999", (Figure(Decimal("0.9999"), "under"),), "k")
SMALL = Value("k:estimate", "0.0237", (Figure(Decimal("0.02372")),), "k")
NOTHING = Value("k:estimate", "0.0×10⁻⁶", (Figure(Decimal("-0.0000000039")),), "k")
ENDS = Value(
    "k:interval", "[0.02, 0.03]", (Figure(Decimal("0.021"), "down"), Figure(Decimal("0.029"), "up")), "k"
)


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (BOTH, "digits=3", "1.00 [0.99, 1.01]"),
        (BOTH, "places=3", "1.001 [0.997, 1.004]"),
        (BOTH, "percent", "100.08 [99.78, 100.39]%"),
        (BOTH, "percent,places=0", "100 [99, 101]%"),
        (BOTH, "plusminus", "1.0008 ± 0.0031"),
        (BOTH, "plusminus, places=3", "1.001 ± 0.004"),
        (BOTH, "plusminus,percent,places=1", "(100.1 ± 0.4)%"),
        (DRAWS, "si,digits=3", "92.4 M"),
        (DRAWS, "digits=2", "92 000 000"),
        (DRAWS, "places=2", "92 414 464.00"),
        (LEVEL, "digits=3", "99.4%"),
        (LEVEL, "percent,places=0", "99%"),
        (SMALL, "places=2", "0.02"),
        (ENDS, "places=1", "[0.0, 0.1]"),
        (NOTHING, "places=7", "0.0000000"),
    ],
)
def test_a_form_is_printed(value: Value, options: str, text: str) -> None:
    """Ends are rounded outwards, half-widths up."""
    plain = formatted(value, options).text.translate({0xA0: " ", 0x202F: " "})
    assert plain == text


@pytest.mark.parametrize(
    ("value", "options", "what"),
    [
        (BOTH, "digit=3", "no format 'digit=3'; write digits=N"),
        (BOTH, "digits=0", "leaves nothing"),
        (BOTH, "digits=2,places=2", "exclude each other"),
        (BOTH, "percent,si", "exclude each other"),
        (DRAWS, "plusminus", "has no interval"),
        (WORD, "digits=2", "is no measured number"),
        (SEED, "digits=2", "is no measured number"),
        (BOTH, "digits=99", "has no more digits that mean something; ask for fewer"),
        (BOTH, "places=5", "no more digits"),
        (BOTH, "percent,places=3", "no more digits"),
        (BOTH, "plusminus,digits=6", "no more digits"),
        (NOTHING, "digits=2", "no more digits"),
        (NOTHING, "places=1", "of which this leaves 0; ask for more digits"),
        (SMALL, "places=1", "of which this leaves 0"),
        (SURE, "digits=2", "which has no other form"),
        (NEAR_ONE, "percent", "which has no other form"),
    ],
)
def test_a_form_that_cannot_be_is_refused(value: Value, options: str, what: str) -> None:
    """In one line, with what to write."""
    with pytest.raises(CitationError, match=what):
        formatted(value, options)


def test_a_form_is_kept_to_the_sign() -> None:
    """Other digits are stale even where they are right; a text of one's own is not held against anything."""
    value = formatted(BOTH, "plusminus")
    assert agrees("**1.0008 ± 0.0031**", value)
    assert not agrees("1.001 ± 0.004", value)
    assert fixed("**1.001 ± 0.004**", value) == f"**{value.text}**"


def test_figures_in_a_link_s_text_are_held_against_the_value() -> None:
    """Its words are its author's alone."""
    link = formatted(SMALL, "link")
    assert agrees("see the slope", link)
    assert agrees("a slope of 0.024", link)
    assert not agrees("a slope of 5.0", link)
    assert not agrees(" ", link)
    assert fixed("a slope of 0.031", link) == "a slope of 0.024"


@given(st.decimals(-(10**6), 10**6, places=4, allow_nan=False), st.integers(0, 6))
def test_a_printed_form_is_right_of_its_value(exact: Decimal, places: int) -> None:
    """Rounding to fewer places is quoting fewer digits; to 0, it is refused."""
    value = Value("k", f"{exact:f}", (Figure(exact),), "k")
    if exact and not round(exact, places):
        with pytest.raises(CitationError, match="leaves 0"):
            formatted(value, f"places={places}")
        return
    text = formatted(value, f"places={places}").text
    rounded = Decimal(text.replace("\N{NARROW NO-BREAK SPACE}", "").replace("−", "-"))
    assert abs(rounded - exact) <= Decimal(1).scaleb(-places) / 2


def test_markers_and_macros_ask_for_forms(tmp_path: Path) -> None:
    """A document says how a value is to be printed, and --write prints it so."""
    run = record()
    key = "score-variance.slope|plusminus"
    page = tmp_path / "page.md"
    page.write_text(f"It is <!-- verify: {key} -->1<!-- /verify -->.\n", encoding="utf-8")
    fix(check([page], run))
    text = lookup_in(by_key(run), key).text
    assert f"-->{text}<!--" in page.read_text(encoding="utf-8")
    assert check([page], run)[0].problems == []


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
    with pytest.raises(verify.VerifyError, match="int: is no record of a run or an audit"):
        verify.values(3)  # type: ignore[arg-type]


def test_doubt_is_told_with_the_value() -> None:
    """Of a claim that is not confirmed."""
    broken = next(claim for claim in RUN.claims if claim.verdict == "refuted")
    value = verify.values(RUN)[f"{broken.id}.{broken.checks[0].id}:estimate"]
    assert value.doubt == "its claim is no longer confirmed but refuted"
    assert verify.values(RUN)[KEY].doubt == ""
