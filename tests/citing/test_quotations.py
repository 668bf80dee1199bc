"""Forms write what is right of a value; an author's own text is checked number by number."""

import re
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.citing.languages import HTML, LATEX, MARKDOWN, OUTPUT, PLAIN, RST, TYPST
from verify.citing.values import written
from verify.citing.quotations import Quote
from verify.citing.quotations import fault_of, faults_of, normal, replaceable
from verify.citing.values import ExactNumber, Value, reading
from verify.errors import CitationError


def figure(exact: str, printed: str, rounding: str = "nearest") -> ExactNumber:
    """Return a figure that was rounded to what is printed."""
    return ExactNumber(Decimal(exact), rounding, Decimal(printed))  # type: ignore[arg-type]


LOW, HIGH = figure("0.99784", "0.9978", "down"), figure("1.00381", "1.0039", "up")
INNER = (figure("0.99963", "0.9996", "down"), figure("1.00203", "1.0021", "up"))
NEGATIVE = (figure("-0.52", "-0.52", "down"), figure("-0.48", "-0.48", "up"))
DIGEST = "0123456789abcdef" * 4
KNOWN = {
    value.key: value
    for value in (
        Value("k.c", "1.0008 [0.9978, 1.0039]", (figure("1.00083", "1.0008"), LOW, HIGH), "k"),
        Value("k.c:low", "0.9978", (LOW,), "k"),
        Value("k.c:high", "1.0039", (HIGH,), "k"),
        Value("k.c:estimate", "1.0008", (figure("1.00083", "1.0008"),), "k"),
        Value("k.c:interval", "[0.9978, 1.0039]", (LOW, HIGH), "k"),
        Value("k.c:error", "6.1×10⁻⁴", (figure("0.00061", "0.00061"),), "k"),
        Value("k.c:interval95", "[0.9996, 1.0021]", INNER, "k"),
        Value("k.c:draws", "92 414 464", (figure("92414464", "92414464"),), "k"),
        Value("k.c:level", "99.38%", (figure("99.381", "99.38"),), "k"),
        Value("k.c:sure", "1 − 6.1×10⁻⁷", (figure("0.99999939", "0.99999939", "fixed"),), "k"),
        Value("k.n", "-", (figure("-0.512", "-0.51"), *NEGATIVE), "k"),
        Value("k.n:low", "−0.52", (figure("-0.52", "-0.52", "down"),), "k"),
        Value("k.s", "2.37×10⁻⁹", (figure("2.3749E-9", "2.37E-9"),), "k"),
        Value("k.t", "9.96×10⁸", (figure("996100000", "9.96E8"),), "k"),
        Value("k.zero", "0.0×10⁻⁶", (figure("-3.9E-9", "0E-7"),), "k"),
        Value("k", "confirmed", (), "k"),
        Value("k:digest", DIGEST, (), "k"),
        Value("run:seed", "7", (figure("7", "7", "fixed"),), "k"),
        Value("run:good", "57", (figure("57", "57"),), "k"),
        Value("run:all", "59", (figure("59", "59"),), "k"),
        Value("run:none", "0", (figure("0", "0"),), "k"),
    )
}
SPACES = {0xA0: " ", 0x202F: " "}


def test_what_a_form_writes() -> None:
    """Ends are rounded outwards; ± stands before the standard error."""
    for key, form, text in (
        ("k.c", "default", "1.0008 [0.9978, 1.0039]"),
        ("k.c", ".3f", "1.001 [0.997, 1.004]"),
        ("k.c", ".0%", "100% [99, 101]%"),
        ("k.c", "pm", "1.0008 ± 0.0006"),
        ("k.c:estimate", '"{pm:.3f}"', "1.001 ± 0.001"),
        ("k.c", '"{pm:.1%}"', "(100.1 ± 0.1)%"),
        ("k.c", '"{interval95:.2f}"', "[0.99, 1.01]"),
        ("k.t", ".1e", "1.0×10⁹"),
        ("k.c:draws", ".2g", "92 000 000"),
        ("k.c:level", ".3g", "99.4%"),
        ("k:digest", ".12", DIGEST[:12]),
        ("k.c", '"{low:.1f} to {high}, {estimate:.2g}"', "0.9 to 1.0039, 1.0"),
        ("k.c", '"{low:.0%}–{high:.0%}, {error:.4f}"', "99%–101%, 0.0006"),
        ("k.c", '"{pm:.3f} and **{high}**, {low}."', "1.001 ± 0.001 and **1.0039**, 0.9978."),
        ("k", '"**{text}**"', "**confirmed**"),
        ("run:good", '"{good} of {all} claims"', "57 of 59 claims"),
    ):
        assert written(KNOWN, key, form).translate(SPACES) == text


def test_a_form_that_does_not_suit_is_refused() -> None:
    """In one line, with those that do."""
    for key, form, what in (
        ("k.c", "digit=3", "has no form 'digit=3'; choose default, .*; its parts are draws, error"),
        ("k.c", "", "no form ''; choose default"),
        ("k.c", '"{low:3}"', "no form '3'"),
        ("k.c", '"{lo}"', "no form 'lo'"),
        ("k.c", ".99g", "no more digits that mean something; ask for fewer"),
        ("k.n", "pm", "which pm does not suit"),
        ("k.c", '"{pm:.2f}"', "of which this leaves 0"),
        ("k.c:sure", ".2g", "does not suit; choose default, "),
        ("k.s", ".2f", "of which this leaves 0; ask for more digits"),
        ("k:digest", ".11", "11 digits of a digest; give 12 to 64"),
    ):
        with pytest.raises(CitationError, match=what):
            written(KNOWN, key, form)


@given(st.decimals(-(10**6), 10**6, places=4, allow_nan=False), st.integers(0, 4), st.sampled_from("fe%g"))
def test_a_specification_writes_what_python_writes(exact: Decimal, places: int, kind: str) -> None:
    """But for signs, groups and powers of ten; what would leave 0 is refused."""
    known = {"k": Value("k", "", (ExactNumber(exact, printed=exact),), "k")}
    form = f".{places + (kind == 'g')}{kind}"
    wanted = Decimal(format(exact, form).rstrip("%")) / (100 if kind == "%" else 1)
    if exact and not wanted:
        with pytest.raises(CitationError, match="leaves 0"):
            written(known, "k", form)
        return
    text = written(known, "k", form)
    number = reading(text)
    assert number is not None
    assert (number / 100 if kind == "%" else number) == wanted
    if kind in "f%":
        assert text.replace("−", "-").replace("\u202f", "") == format(exact, form)


def test_each_language_has_its_markup() -> None:
    """For numbers; words are escaped, and a sentence's own words stay as they are."""
    for language, text in (
        (PLAIN, "−2.37×10⁻⁹ ± 1"),
        (HTML, "−2.37×10<sup>-9</sup> ± 1"),
        (MARKDOWN, "−2.37×10⁻⁹ ± 1"),
        (RST, "−2.37×10⁻⁹ ± 1"),
        (LATEX, r"\ensuremath{-2.37\times 10^{-9}\ \pm \ 1}"),
        (TYPST, "−2.37×10#super[-9] ± 1"),
        (OUTPUT, "-2.37e-9 ± 1"),
    ):
        assert language.written("−2.37×10⁻⁹ ± 1", is_number=True) == text
        if language not in {PLAIN, OUTPUT}:
            assert language.written("<b> *x* #y", is_number=False) != "<b> *x* #y"
        sentence = written(KNOWN, "k.s", '"about {text} *here*"', language.written)
        assert sentence == f"about {language.written('2.37×10⁻⁹', is_number=True)} *here*"


def test_a_text_that_is_right() -> None:
    """Each of its numbers is a part of the value, rounded to what is printed."""
    for key, text in (
        ("k.c", "1.0008, interval 0.9978 to 1.0039"),
        ("k.c", "0.9978–1.0039"),
        ("k.c", "1.0008 ± 0.0006"),
        ("k.c:estimate", r"$1.0008 \pm 0.0006$"),
        ("k.c", "**1.0008**&nbsp;±&nbsp;0.0006, up to 1.0039"),
        ("k.n", "−0.51, from -0.52 to – 0.48"),
        ("k.n", "(-0.52)–(−0.48)"),
        ("k.c:draws", "92\u202f414\u202f464"),
        ("k.c:level", "99.4%"),
        ("k.c:sure", "1 − 6.1×10⁻⁷"),
        ("run:seed", "7"),
        ("k", "**Confirmed**"),
        ("k:digest", f"`{DIGEST[:12]}`"),
    ):
        assert fault_of(KNOWN, key, text) == ""


WRONG = """1.0008 ± 0.0031; 1.0008 ± 0.7; 1.0009; 0.9979 to 1.0039; 1.0008 [0.9978, 1.0038]; −1.0008; - 1.0008
1.0039 − 0.9978; 1.0008 (n = 12); 1.0008%; 1.0008 × 10²; 1.0008*1.0008; 1.0008/1.0008
1.00²; 1.00<sup>1</sup>; 1.0008e0; 1.0008k; x1.0008; 1,0008; ½ of 1.0008; √1.00
1.0008 | 2; a third; 0"""
"""Texts about 1.0008 with the interval from 0.9978 to 1.0039."""


def test_a_text_that_is_not_right_or_not_understood() -> None:
    """What is not plain decimal notation is never taken for right."""
    for key, text in (
        ("k.c", ""),
        *(("k.c", text) for line in WRONG.splitlines() for text in line.split("; ")),
        ("k.n", "mean — 0.51"),
        *(("k:digest", text) for text in ("............", DIGEST[:11], "f" * 12)),
        ("k.c:error", "0.00"),
        ("k.c:draws", "92,414,464"),
        ("k.c:sure", "1"),
        ("run:good", "fifty-seven"),
        ("run:good", "100%"),
        ("k", "not confirmed"),
    ):
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


def test_texts_are_the_same_but_for_spaces_and_dashes() -> None:
    """And for nothing else."""
    for text, other, are_same in (
        ("−1.5\u00a0±\u202f0.1 – x", "-1.5 ±&nbsp;0.1 — x\n", True),
        ("92\n\n414", "92 414", False),
        ("1.5 ± 0.1", "1.5±0.1", False),
    ):
        assert (normal(text) == normal(other)) is are_same


def test_the_forms_that_may_be_meant() -> None:
    """Where the text has ±, those with an error or an interval."""
    for key, text, forms in (
        ("k.c", "1.0008 ± 0.0031", ["k.c|pm", "k.c|interval95", "k.c|interval"]),
        ("k.c:low", "1 ± 0.7", ["k.c|pm", "k.c|interval95", "k.c|interval"]),
        ("k.c", "100.1%", ["k.c|default"]),
        ("run:good", "96 ± 1", ["run:good|default"]),
    ):
        (fault,) = faults_of(KNOWN, Quote(key, 1, 0, 0, text))
        assert re.findall(r"(\S+\|\S+) for '", fault.what) == forms


def test_only_what_the_tool_wrote_is_replaced() -> None:
    """Numbers in any markup, verdicts, digests, and nothing at all; no prose, cells or other numbers."""
    for text, new, is_alike in (
        ("7.25 [1, 9.5]", "1.0008 [0.9978, 1.0039]", True),
        ("", "1.0008", True),
        ("(7.2 ± 9)×10⁵", "1.0008 ± 0.0006", True),
        (r"\ensuremath{-7.2\times 10^{-3}}", r"\ensuremath{1.0008}", True),
        ("from 3 to\n9", "from 0.9978 to 1.0039", True),
        ("12 345", "92\u202f414\u202f464", True),
        ("refuted", "confirmed", True),
        ("`fedcba987654`", f"`{DIGEST[:12]}`", True),
        *(
            (text, "1.0008", False)
            for text in ("slope = 0.9", "| 0.9", "0.9, 1.1", "0.9.", "0.9 1.1", "(0.9)", "a sentence")
        ),
        ("between 3 and 9", "from 0.9978 to 1.0039", False),
        ("refuted, alas", "confirmed", False),
    ):
        assert replaceable(text, new) is is_alike
