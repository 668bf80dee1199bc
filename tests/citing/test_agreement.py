"""What counts as quoting a value, to the digits quoted in any usual spelling, and how it is updated."""

from __future__ import annotations

import dataclasses
import re
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import examples
from tests.tool import ROOT
from verify.citing.agreement import agrees, fixed
from verify.citing.figures import numbers_in
from verify.citing.values import Figure, Value
from verify.citing.values import values_of as values
from verify.evidence.load import load


def value(text: str, *figures: tuple[str, str] | str, kind: str = "") -> Value:
    """Return a value with these exact figures, each with its rounding if it is not to the nearest."""
    pairs = [(one, "nearest") if isinstance(one, str) else one for one in figures]
    exact = tuple(Figure(Decimal(x), how) for x, how in pairs)  # type: ignore[arg-type]
    return Value("k", text, exact, "k", kind=kind)


BOTH = value("1.0008 [0.9978, 1.0039]", "1.00083", ("0.99784", "down"), ("1.00381", "up"))
ONE = value("1.0008", "1.00083")
POWER = value("0.99", "0.99")
DRAWS = value("92\N{NARROW NO-BREAK SPACE}414\N{NARROW NO-BREAK SPACE}464", "92414464")
LEVEL = value("99.38%", "99.381")
TINY = value("1×10⁻⁶ [−31, 33]×10⁻⁶", "0.0000009", ("-0.0000309", "down"), ("0.0000321", "up"))
SURE = value(">\N{NO-BREAK SPACE}0.9999", ("0.9999", "under"))
VERDICT = value("confirmed", kind="confirmed|approximate|refuted|undecided")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("511.7", ["511.7"]),
        ("−0.5 and -0.5", ["-0.5", "-0.5"]),
        ("from 508.1–515.4, or 508-515", ["508.1", "515.4", "508", "515"]),
        ("1,024 and 10 000 and 12\N{NARROW NO-BREAK SPACE}345", ["1024", "10", "000", "12345"]),
        ("1, 024", ["1", "024"]),
        ("6.1×10⁻⁷", ["6.1e-7"]),
        (r"$6.1\times10^{-7}$ or $6.1 \times 10^{-7}$", ["6.1e-7", "6.1e-7"]),
        ("6.1e-7, 6.1E-07", ["6.1e-7", "6.1e-7"]),
        ("6.1 x 10<sup>-7</sup>", ["6.1e-7"]),
        ("1 − 6.1×10⁻⁷", ["1", "6.1e-7"]),
        ("[−0.061, .5]", ["-0.061", ".5"]),
        ("1×10⁻⁶ [−31, 33]×10⁻⁶ 7", ["1e-6", "-31e-6", "33e-6", "7"]),
        ("no figure", []),
        ("99.78%–100.39%, 99.78%-100.39%", ["99.78", "100.39", "99.78", "100.39"]),
        ("**0.99**–1.01 or `0.99`–1.01 or $0.99$–1.01", ["0.99", "1.01"] * 3),
        (
            "0.99\N{NO-BREAK SPACE}–1.01, 5\N{NO-BREAK SPACE}%–6\N{NO-BREAK SPACE}%",
            ["0.99", "1.01", "5", "6"],
        ),
        ("1 million–2 million, **1 k**–2 k, <b>3</b>–4", ["1", "2", "1", "2", "3", "4"]),
        ("[0.99](a.html)–1.01", ["0.99", "1.01"]),
        (
            "$-0.5$ **−0.5** `-0.5` 3 -4 of\N{NO-BREAK SPACE}−5 <b>-6</b>",
            ["-0.5"] * 3 + ["3", "-4", "-5", "-6"],
        ),
        ("<td>1</td><td>-2</td>", ["1", "-2"]),
        (r"12{,}345 and 12\,345", ["12345", "12345"]),
    ],
)
def test_numbers_are_found(text: str, expected: list[str]) -> None:
    """Signs, groups of three, ranges and powers of ten, as people and programs write them."""
    assert [number.value for number in numbers_in(text)] == [Decimal(one) for one in expected]


@pytest.mark.parametrize(
    "quoted",
    [
        "1.0008 [0.9978, 1.0039]",
        "1.001, interval 0.997 to 1.004",
        "**1.0** (0.9–1.1)",
        "1.00083 between 0.99784 and 1.00381",
    ],
)
def test_fewer_digits_are_right_if_they_round_so(quoted: str) -> None:
    """The estimate to the nearest, the interval's ends outwards; all digits are right as well."""
    assert agrees(quoted, BOTH)
    assert fixed(quoted, BOTH) == quoted


@pytest.mark.parametrize(
    "quoted",
    [
        "1.0009 [0.9978, 1.0039]",  # another estimate
        "1.0008 [0.9979, 1.0039]",  # an end rounded inwards
        "1.0008 [0.9978, 1.0038]",
        "1.0008 [0.998, 1.004]",
        "1.0008",  # an end is missing
        "",
        "−1.0008 [0.9978, 1.0039]",
    ],
)
def test_what_is_not_so(quoted: str) -> None:
    """Another figure, a wrong rounding, too few figures; and fixing makes each right."""
    assert not agrees(quoted, BOTH)
    new = fixed(quoted, BOTH)
    assert new is not None
    assert agrees(new, BOTH)


LOSS = value("0.458", "0.458")
VANISHING = value("0.0×10⁻⁶", "0.00000003")


@pytest.mark.parametrize(
    ("quoted", "held"),
    [
        ("0", LOSS),
        ("0.0", value("0.023", "0.023")),
        ("0 billion", DRAWS),
        ("0", SURE),
        ("0%", LOSS),
        ("0", VANISHING),
    ],
)
def test_zero_says_nothing_of_a_small_value(quoted: str, held: Value) -> None:
    """At least one digit of it has to stand there."""
    assert not agrees(quoted, held)
    new = fixed(quoted, held)
    assert new is None or agrees(new, held)


@pytest.mark.parametrize(
    ("quoted", "held"),
    [
        ("0", value("0", "0")),
        ("0.0%", value("0", "0")),
        ("1.0, from 0 to 2", BOTH),
        ("0.0×10⁻⁶", VANISHING),
        ("0.0000000", VANISHING),
        ("1", value("0.7", "0.7")),
    ],
)
def test_where_zero_is_right(quoted: str, held: Value) -> None:
    """Of 0 itself, of an interval's end further out, and of what the value's own text calls 0.0."""
    assert agrees(quoted, held)


def test_mending_what_vanishes() -> None:
    """With the power of ten that says how small it is."""
    assert fixed("about 0.3", VANISHING) == "about 0.0×10⁻⁶"


def test_mending_keeps_words_and_digits() -> None:
    """Only what is wrong changes, to no more digits than stood there."""
    assert fixed("1.002, interval 0.997 to 1.004", BOTH) == "1.001, interval 0.997 to 1.004"
    assert fixed("**12,346**", value("12\N{NARROW NO-BREAK SPACE}345", "12345")) == "**12,345**"
    assert fixed("`7.5e-7`", value("6.1×10⁻⁷", "0.00000061")) == "`6.1e-7`"
    assert fixed("`7.5e-3`", value("6.1×10⁻⁷", "0.00000061")) == "`6.1×10⁻⁷`"
    assert fixed("1.1210", value("1.1108", "1.1108")) == "1.1108"
    assert fixed("-0.2", value("−0.061", "-0.0612")) == "-0.1"


def test_words_count_whatever_their_case() -> None:
    """Hyphens, emphasis and code marks make no difference; another word does."""
    outcome = value("holds with conditions", kind="holds[- ]with[- ]conditions|holds|wrong")
    assert agrees("**Holds-with-conditions**", outcome)
    assert not agrees("holds", outcome)
    assert fixed("`holds`", outcome) == "`holds with conditions`"


@pytest.mark.parametrize(
    ("quoted", "held"),
    [
        ("99%", POWER),
        ("99 %", POWER),
        ("99\N{NARROW NO-BREAK SPACE}% of runs", POWER),
        ("99 per cent", POWER),
        ("99 percent", POWER),
        (r"$99\%$", POWER),
        ("**99**%", POWER),
        ("0.99", POWER),
        ("100.08%", ONE),
        ("92 million", DRAWS),
        ("92.4M", DRAWS),
        ("92.4 M draws", DRAWS),
        ("92 414 thousand", DRAWS),
        ("92,414k", DRAWS),
        ("0.09 billion", DRAWS),
        ("0.1 billion", DRAWS),
        ("1 million", value("924\N{NARROW NO-BREAK SPACE}144", "924144")),
        ("92 414 464", DRAWS),
        ("99.38%", LEVEL),
        ("99.38", LEVEL),
        ("0.9938", LEVEL),
        ("99.38 per cent", LEVEL),
        ("100.08% (99.78–100.39%)", BOTH),
        ("100.1 [99.7, 100.4]%", BOTH),
        ("100.08% (99.78%–100.39%)", BOTH),
        ("100.08% (99.78%-100.39%)", BOTH),
        ("1.0: **0.99**–1.01", BOTH),
        ("1.0: `0.99`–1.01", BOTH),
        ("1.0: $0.99$–1.01", BOTH),
        ("64 k-means of 1.0", value("64, 1", "64", "1")),
        ("8 192", value("8192", "8192")),
        ("4 096 in 4 000 to 4 100", value("4096 in 4000 to 4100", "4096", "4000", "4100")),
    ],
)
def test_a_unit_after_a_figure_counts(quoted: str, held: Value) -> None:
    """A hundredth, a thousand, a million: the same value in another unit is right, and fixing leaves it."""
    assert agrees(quoted, held)
    assert fixed(quoted, held) == quoted


@pytest.mark.parametrize(
    ("quoted", "held", "new"),
    [
        ("1.0008%", ONE, "100.08%"),
        ("97%", POWER, "99%"),
        ("97.00 per cent", POWER, "99 per cent"),
        ("91 million", DRAWS, "92 million"),
        ("91.2M", DRAWS, "92.4M"),
        ("91 000 000", DRAWS, DRAWS.text.replace("\N{NARROW NO-BREAK SPACE}", " ")),
        ("4 096", value("8192", "8192"), "8 192"),
        ("98.1%", LEVEL, "99.4%"),
        ("0.981", LEVEL, "0.994"),
        ("98.1–98.5% around 100.08%", value("0.99 0.995 1", "0.99", "0.995", "1"), "99–99.5% around 100%"),
        ("1.3 billion", value("1.2×10⁹", "1200000000"), "1.2 billion"),
        ("1300 million", value("1.2×10⁹", "1200000000"), "1200 million"),
    ],
)
def test_mending_keeps_the_unit(quoted: str, held: Value, new: str) -> None:
    """The author's unit and digits; what is written is right."""
    assert not agrees(quoted, held)
    assert fixed(quoted, held) == new
    assert agrees(new, held)


@pytest.mark.parametrize(
    ("quoted", "held", "new"),
    [
        ("1", SURE, SURE.text),
        ("`1.0`", SURE, f"`{SURE.text}`"),
        ("power 1", SURE, "power 0.9999"),
        ("100%", SURE, "99.99%"),
        ("0.8", SURE, "0.9"),
        ("1.1 [1, 1.2]", BOTH, "1.0 [0.9978, 1.1]"),
        ("1.1 [1.0, 1.2]", BOTH, "1.0 [0.9978, 1.1]"),
    ],
)
def test_mending_never_rounds_a_figure_away(quoted: str, held: Value, new: str) -> None:
    """Neither to 0 nor from 1 to 0.9: all digits of the value's text stand there then."""
    assert not agrees(quoted, held)
    assert fixed(quoted, held) == new


def test_spaces_part_large_numbers_alone() -> None:
    """A total counts as well; of a value below a thousand two numbers are none."""
    some = dataclasses.replace(value("900", "900"), total=Figure(Decimal(1000)))
    assert agrees("900 of 1 000", some)
    assert fixed("5 140", value("514", "514")) is None


def test_a_unit_may_follow_the_closing_marker() -> None:
    """The percent sign need not be part of what is quoted."""
    assert agrees("99", POWER, after="% of all runs")
    assert fixed("97", POWER, after="% of all runs") == "99"
    assert not agrees("99", POWER, after=" of all runs")


@pytest.mark.parametrize(
    ("quoted", "held", "new"),
    [
        ('<span title="2">1.0018</span>', ONE, '<span title="2">1.0008</span>'),
        ("[1.0018](report.html#fig-3)", ONE, "[1.0008](report.html#fig-3)"),
        ("2×10⁻⁶, from [−40, 30]×10⁻⁶ on", TINY, "1×10⁻⁶, from [−31, 33]×10⁻⁶ on"),
        ("✗ refuted", VERDICT, "✗ confirmed"),
        ("**Undecided**", VERDICT, "**Confirmed**"),
        ('<b class="x1">refuted</b>', VERDICT, '<b class="x1">confirmed</b>'),
        ("", VERDICT, "confirmed"),
        ("&minus;0.07", value("−0.061", "-0.0612"), "&minus;0.06"),
    ],
)
def test_mending_leaves_everything_else(quoted: str, held: Value, new: str) -> None:
    """Tags, addresses and signs around a figure or word stay."""
    assert not agrees(quoted, held)
    assert fixed(quoted, held) == new


@pytest.mark.parametrize(
    ("quoted", "held"),
    [
        ("1.0018 (see Fig. 3)", ONE),
        ("Fig. 3: 1.0018", ONE),
        ("about 2", BOTH),
        ("1.0008 [0.9978, 1.0039] 7", BOTH),
        ("1.0018σ", ONE),
        ("not refuted", VERDICT),
        ("refuted, later undecided", VERDICT),
        ("the old title", value("the new title")),
        ("1.0 0.97 –1.01", BOTH),
        ("1 billion", DRAWS),
        ("about 3 billion", value("131 072", "131072")),
        ("1.00 M", ONE),
        ("1.0, 0.9 to 1.1 thousand", BOTH),
        ("3 ‰", DRAWS),
    ],
)
def test_what_only_its_author_can_mend(quoted: str, held: Value) -> None:
    """Figures or words besides the value's own are never overwritten."""
    assert not agrees(quoted, held)
    assert fixed(quoted, held) is None


@pytest.mark.parametrize(
    ("quoted", "held"),
    [("✓ confirmed", VERDICT), ("(“Confirmed”)", VERDICT), ("$d_k$", value("d_k")), ("`d_k`", value("d_k"))],
)
def test_signs_around_words_do_not_matter(quoted: str, held: Value) -> None:
    """Ticks, quotation marks, mathematics and code say the same word."""
    assert fixed(quoted, held) == quoted


@pytest.mark.parametrize(
    ("quoted", "after"),
    [
        ("92", "bn"), ("92", " T"), ("130", " Mio"), ("131", " K"), ("130 T", ""), ("130", " Mrd."),
        ("**92** bn", " of all"), ("92", "&nbsp;bn"), ("92", " trillion"), ("92", " lakh"), ("92 µs", ""),
        ("92", " **bn**"),
    ],
)  # fmt: skip
def test_an_unknown_unit_is_its_author_s_to_mend(quoted: str, after: str) -> None:
    """Or else a figure would be wrong by powers of ten."""
    draws = value("131\N{NARROW NO-BREAK SPACE}072", "131072")
    assert not agrees(quoted, draws, after)
    assert fixed(quoted, draws, after) is None


@pytest.mark.parametrize(
    "after", [" of all", " to 2", " in 10", ", bn", " draws", "", " (T)", "\n\nT", "</td><td>T"]
)
def test_a_word_after_a_figure_is_no_unit(after: str) -> None:
    """Nor is what stands after a comma."""
    assert fixed("1.0018", ONE, after) == "1.0008"


@pytest.mark.parametrize(
    "after",
    [
        " k and more",
        " M",
        "\nk is a key",
        "\n% a line",
        "\n%",
        "\nM",
        "\nA line",
        " can be seen",
        " ok",
        " K",
    ],
)
def test_a_symbol_after_a_right_figure_leaves_it_right(after: str) -> None:
    """Once 1.001 before a key k became 0.001, and before a line with a comment 100.08."""
    for quoted, held in (("1.001", ONE), ("1.0008 ± 0.0031", BOTH)):
        assert agrees(quoted, held, after)
        assert fixed(quoted, held, after) == quoted


@pytest.mark.parametrize("quoted", ["1.02", "", "1.02 ± 0.0031"])
def test_before_what_may_be_a_unit_nothing_is_written(quoted: str) -> None:
    """A k after it may be a symbol or a thousand: only its author knows."""
    assert fixed(quoted, BOTH if "±" in quoted else ONE, " k") is None


@pytest.mark.parametrize("after", ["\nk is", "\n% a", "\nK is", "\nA line", " can be seen", " ok", " m long"])
def test_a_figure_of_a_value_s_size_has_no_unit_after_it(after: str) -> None:
    """A unit would be a factor of ten or more."""
    assert fixed("1.02", ONE, after) == "1.00"
    assert fixed("1.02 ± 0.0031", BOTH, after) == "1.0008 ± 0.0031"


@pytest.mark.parametrize("after", ["\nper cent", " per\n  cent of", "\r\n> percent", "  per cent", " %", "%"])
def test_a_whole_word_may_be_a_unit_on_the_next_line(after: str) -> None:
    """As an editor breaks lines."""
    assert agrees("99", POWER, after)
    assert fixed("97", POWER, after) == "99"


def test_a_form_asked_for_gets_no_unit_from_what_follows() -> None:
    """It has its own; a symbol after it changes nothing."""
    held = dataclasses.replace(ONE, is_formatted=True)
    assert agrees("1.0008", held, " k and")
    assert agrees("1.0008", held, " can be")
    assert not agrees("1.0008", held, "%")
    assert fixed("1.02", held, "%") is None


def test_a_name_is_quoted_exactly() -> None:
    """A seed is no measurement: neither rounded nor in another notation."""
    seed = value("20170612", ("20170612", "exact"))
    assert agrees("**20170612**", seed)
    for quoted in ("2e7", "2×10⁷", "20 million", "20,170,612", "20170613"):
        assert not agrees(quoted, seed)
    assert fixed("seed 7", seed) == "seed 20170612"


@pytest.mark.parametrize(
    "quoted", ["1e99999999", "0." + "3" * 60, "9" * 60, "1e-9999", "5×10⁻", "5×10²⁻³", "[" * 40]
)
def test_absurd_figures_are_only_wrong(quoted: str) -> None:
    """No number of digits ends in a failure."""
    assert not agrees(quoted, value("0.5", ("0.5", "down")))
    fixed(quoted, value("0.5", ("0.5", "down")))


@given(
    st.decimals(-(10**6), 10**6, places=6, allow_nan=False),
    st.integers(0, 6),
    st.sampled_from(["nearest", "down", "up"]),
)
def test_a_rounding_agrees_and_its_neighbours_do_not(exact: Decimal, digits: int, rounding: str) -> None:
    """Any number of digits may be quoted; one unit beside is wrong in any."""
    unit = Decimal(1).scaleb(-digits)
    how = {"nearest": "ROUND_HALF_EVEN", "down": "ROUND_FLOOR", "up": "ROUND_CEILING"}[rounding]
    rounded = exact.quantize(unit, rounding=how)
    held = value(str(exact), (str(exact), rounding))
    # 0 is right of a small value only as an interval's end.
    assert agrees(f"{rounded:f}", held) is (bool(rounded) or not exact or rounding != "nearest")
    assert not agrees(f"{rounded + 2 * unit:f}", held)
    assert not agrees(f"{rounded - 2 * unit:f}", held)
    new = fixed(f"{rounded + 2 * unit:f}", held)
    assert new is not None
    assert agrees(new, held)


# Without the claims, which Hypothesis would write out at every draw.
QUOTABLE = [
    dataclasses.replace(value, subject=None, part=None)
    for value in values(load(ROOT / "reports/reference/results.json"))
    if value.figures
]


FIGURE = (
    r"(?:[-−–]|&minus;)?(?:\d[\d,\N{NARROW NO-BREAK SPACE}]*(?:\.\d+)?|\.\d+)(?:×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|e-?\d+)?"
)
NOTED = st.one_of(
    st.sampled_from(["0", "1", "1.0", "100", "0.3", "99.78", "−0.5", "12,345", "7e-3", "2×10⁻⁶", "5×10³"]),
    st.decimals(-200, 200, places=3, allow_nan=False).map(str),
    st.integers(-(10**9), 10**9).map(str),
)
JOINS = [
    "–",
    "-",
    " – ",
    " to ",
    ", ",
    " [",
    "%–",
    "%-",
    "**–",
    "`–",
    "$–",
    "\N{NO-BREAK SPACE}–",
    " million–",
]
BEFORE = ["", "", "power ", "about ", "**", "`", "$", "x = ", "("]
AFTER = [
    "",
    "%",
    " %",
    "\N{NO-BREAK SPACE}%",
    "‰",
    " million",
    "k",
    " M",
    " billion",
    " bn",
    " K",
    " runs",
    "**",
    "$",
]


@st.composite
def quotations(draw: st.DrawFn) -> tuple[Value, list[str], list[str], str]:
    """Return a value, what stands around its figures in a document, figures, and what follows."""
    value = draw(st.sampled_from(QUOTABLE))
    joins = [draw(st.sampled_from(JOINS)) for _ in value.figures[1:]]
    around = [draw(st.sampled_from(BEFORE)), *joins, draw(st.sampled_from(AFTER))]
    figures = [draw(NOTED) for _ in value.figures]
    return value, around, figures, draw(st.sampled_from(AFTER))


@examples(200)
@given(quotations())
def test_what_is_fixed(drawn: tuple[Value, list[str], list[str], str]) -> None:
    """It agrees, keeps every character that is no figure's, and is never 0 for what is not."""
    value, around, figures, after = drawn
    quoted = around[0] + "".join(figure + mark for figure, mark in zip(figures, around[1:], strict=True))
    new = fixed(quoted, value, after)
    assume(new is not None and new != quoted)
    assert new is not None
    assert agrees(new, value, after)
    assert fixed(new, value, after) == new
    if value.text not in new:
        assert re.fullmatch(FIGURE.join(map(re.escape, around)), new), (quoted, new)
    for now, own, figure, old in zip(
        numbers_in(new, after), numbers_in(value.text), value.figures, figures, strict=True
    ):
        kept = not numbers_in(old)[0].value and figure.rounding in {"down", "up"}
        assert now.value or not own.value or not figure.exact or kept, (quoted, new)
