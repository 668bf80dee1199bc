"""An author's own text is checked number by number and never written."""

from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.citing.test_forms import DIGEST, KNOWN
from verify.citing.languages import PLAIN
from verify.citing.quotations import fault_of, fitting, replaceable, same
from verify.citing.values import ExactNumber, Value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("k.c", "1.0008, interval 0.9978 to 1.0039"),
        ("k.c", "lies in [0.99, 1.01] around 1.00"),
        ("k.c", "0.9978–1.0039"),
        ("k.c", "1.0008 ± 0.0006"),
        ("k.c:estimate", r"$1.0008 \pm 0.0006$"),
        ("k.c", "**1.0008**&nbsp;±&nbsp;0.0006, half-width 0.0031"),
        ("k.c:low", "at least 0.997"),
        ("k.n", "−0.51, from -0.52 to – 0.48"),
        ("k.n", "(-0.52)–(−0.48)"),
        ("k.c:draws", "92\u202f414\u202f464"),
        ("k.c:level", "99.4%"),
        ("k.c:sure", "1 − 6.1×10⁻⁷"),
        ("run:seed", "7"),
        ("k", "**Confirmed**"),
        ("k:digest", f"`{DIGEST[:12]}`"),
    ],
)
def test_a_text_that_is_right(key: str, text: str) -> None:
    """Each of its numbers is a part of the value, rounded to what is printed."""
    assert fault_of(KNOWN, key, text) == ""


WRONG = """1.0008 ± 0.0031; 1.0008 ± 0.7; 1.0009; 0.9979 to 1.0039; 1.0008 [0.9978, 1.0038]; −1.0008; - 1.0008
1.0039 − 0.9978; 1.0008 (n = 12); 1.0008%; 1.0008 × 10²; 1.0008*1.0008; 1.0008/1.0008
1.00²; 1.00<sup>1</sup>; 1.0008e0; 1.0008k; x1.0008; 1,0008; ½ of 1.0008; √1.00
1.0008 | 2; 1 1.0008; 1&nbsp;1.0008; a third; 0"""
"""Texts about 1.0008 with the interval from 0.9978 to 1.0039."""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("k.c", ""),
        *(("k.c", text) for line in WRONG.splitlines() for text in line.split("; ")),
        ("k.n", "mean — 0.51"),
        ("k.n", "at\n- 0.51"),
        *(("k:digest", text) for text in ("............", DIGEST[:11], "f" * 12)),
        ("k.c:halfwidth", "0.00"),
        ("k.c:draws", "92,414,464"),
        ("k.c:sure", "1"),
        ("run:good", "fifty-seven"),
        ("run:good", "5.7 times more"),
        ("run:good", "100%"),
        ("k", "not confirmed"),
    ],
)
def test_a_text_that_is_not_right_or_not_understood(key: str, text: str) -> None:
    """What is not plain decimal notation is never taken for right."""
    assert fault_of(KNOWN, key, text) != ""


@given(
    st.decimals(-(10**4), 10**4, places=6, allow_nan=False),
    st.integers(0, 4),
    st.integers(1, 99),
    st.booleans(),
)
def test_a_number_is_right_as_it_rounds_and_no_other_is(
    exact: Decimal, places: int, off: int, is_low: bool
) -> None:
    """Estimates to the nearest, lower ends downwards, by the rule of the decimal module alone."""
    unit = Decimal(1).scaleb(-places)
    right = exact.quantize(unit, ROUND_FLOOR if is_low else ROUND_HALF_EVEN)
    figure = ExactNumber(exact, "down" if is_low else "nearest", exact)
    known = {"k": Value("k", "", (figure,), "k")}
    assume(right)
    assert fault_of(known, "k", f"{right:f}") == ""
    for wrong in (right + off * unit, right - off * unit):
        # Halfway between two numbers, both are the nearest.
        if abs(wrong - exact) != unit / 2:
            assert fault_of(known, "k", f"{wrong:f}") != ""


@pytest.mark.parametrize(
    ("text", "other", "are_same"),
    [
        ("−1.5\u00a0±\u202f0.1 – x", "-1.5 ±&nbsp;0.1 — x\n", True),
        ("92\n414", "92 414", True),
        ("92\n\n414", "92 414", False),
        ("1.5 ± 0.1", "1.5±0.1", False),
        ("1.50", "1.5", False),
    ],
)
def test_texts_are_the_same_but_for_spaces_and_dashes(text: str, other: str, are_same: bool) -> None:
    """And for nothing else."""
    assert same(text, other) is are_same


@pytest.mark.parametrize(
    ("key", "text", "forms"),
    [
        ("k.c", "1.0008 ± 0.0031", ["k.c|pm", "k.c|interval95", "k.c|interval"]),
        ("k.c:low", "1 ± 0.7", ["k.c|pm", "k.c|interval95", "k.c|interval"]),
        ("k.c", "100.1%", ["k.c|.1%"]),
        ("run:good", "96.6%", ["run:good|default"]),
        ("k", "wrong", ["k|default"]),
    ],
)
def test_the_forms_that_may_be_meant(key: str, text: str, forms: list[str]) -> None:
    """By the signs of the text, as far as they suit the value."""
    assert list(fitting(KNOWN, key, text, PLAIN)) == forms


@pytest.mark.parametrize(
    ("text", "new", "is_alike"),
    [
        ("7.25 [1, 9.5]", "1.0008 [0.9978, 1.0039]", True),
        ("", "1.0008", True),
        ("(7.2 ± 9)×10⁵", "1.0008 ± 0.0006", True),
        (r"\ensuremath{-7.2\times 10^{-3}}", r"\ensuremath{1.0008}", True),
        ("7.2×10<sup>-3</sup>", "1.0008", True),
        ("from 3 to\n9", "from 0.9978 to 1.0039", True),
        ("12 345", "92\u202f414\u202f464", True),
        ("refuted", "confirmed", True),
        ("`fedcba987654`", f"`{DIGEST[:12]}`", True),
        *(
            (text, "1.0008", False)
            for text in ("slope = 0.9", "| 0.9", "0.9, 1.1", "0.9.", "0.9 1.1", "(0.9)", "a sentence")
        ),
        ("between 3 and 9", "from 0.9978 to 1.0039", False),
        ("from 3 to 9, and prose", "from 0.9978 to 1.0039", False),
        ("refuted, alas", "confirmed", False),
        ("a sentence", "confirmed", False),
    ],
)
def test_only_what_the_tool_wrote_is_replaced(text: str, new: str, is_alike: bool) -> None:
    """Numbers in any markup, verdicts, digests, and nothing at all; no prose, cells or other numbers."""
    assert replaceable(text, new) is is_alike
