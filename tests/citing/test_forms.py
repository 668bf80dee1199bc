"""Forms: what each writes, which suit a value, and that what is written is right of the value."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.citing.forms import spelled, written
from verify.citing.languages import MARKUPS
from verify.citing.values import ExactNumber, Value, reading
from verify.errors import CitationError


def figure(exact: str, printed: str, rounding: str = "nearest") -> ExactNumber:
    """Return a figure that was rounded to what is printed."""
    return ExactNumber(Decimal(exact), rounding, Decimal(printed))  # type: ignore[arg-type]


LOW, HIGH = figure("0.99784", "0.9978", "down"), figure("1.00381", "1.0039", "up")
HALF = figure("0.00301", "0.0031", "up")
DIGEST = "0123456789abcdef" * 4
KNOWN = {
    value.key: value
    for value in (
        Value("k.c", "1.0008 [0.9978, 1.0039]", (figure("1.00083", "1.0008"), LOW, HIGH), "k"),
        Value("k.c:low", "0.9978", (LOW,), "k"),
        Value("k.c:high", "1.0039", (HIGH,), "k"),
        Value("k.c:estimate", "1.0008", (figure("1.00083", "1.0008"),), "k"),
        Value("k.c:interval", "[0.9978, 1.0039]", (LOW, HIGH), "k"),
        Value("k.c:halfwidth", "0.0031", (HALF,), "k"),
        Value("k.c:draws", "92 414 464", (figure("92414464", "92414464"),), "k", unit="count"),
        Value("k.c:level", "99.38%", (figure("99.381", "99.38"),), "k", unit="%"),
        Value("k.c:sure", "1 − 6.1×10⁻⁷", (figure("0.99999939", "0.99999939", "fixed"),), "k"),
        Value(
            "k.n",
            "-",
            (figure("-0.512", "-0.51"), figure("-0.52", "-0.52", "down"), figure("-0.48", "-0.48", "up")),
            "k",
        ),
        Value("k.n:low", "−0.52", (figure("-0.52", "-0.52", "down"),), "k"),
        Value("k.s", "2.37×10⁻⁹", (figure("2.3749E-9", "2.37E-9"),), "k"),
        Value("k.t", "9.96×10⁸", (figure("996100000", "9.96E8"),), "k"),
        Value("k.e:estimate", "0.4580", (figure("0.45800", "0.4580"),), "k", unit="nats"),
        Value("k.zero", "0.0×10⁻⁶", (figure("-3.9E-9", "0E-7"),), "k"),
        Value("k", "confirmed", (), "k"),
        Value("k:digest", DIGEST, (), "k", unit="digest"),
        Value("run:seed", "7", (figure("7", "7", "fixed"),), "k"),
        Value("run:good", "57", (figure("57", "57"),), "k", unit="count"),
        Value("run:all", "59", (figure("59", "59"),), "k", unit="count"),
        Value("run:none", "0", (figure("0", "0"),), "k", unit="count"),
    )
}
SPACES = {0xA0: " ", 0x202F: " "}


@pytest.mark.parametrize(
    ("key", "form", "text"),
    [
        ("k.c", "default", "1.0008 [0.9978, 1.0039]"),
        ("k.c", "digits=3", "1.00 [0.99, 1.01]"),
        ("k.c", "decimals=3", "1.001 [0.997, 1.004]"),
        ("k.c", "percent", "100.08% [99.78, 100.39]%"),
        ("k.c", "percent, decimals=0", "100% [99, 101]%"),
        ("k.c", "scientific", "1.0008 [0.9978, 1.0039]"),
        ("k.c", "pm", "1.0008 ± 0.0031"),
        ("k.c", "pm,decimals=3", "1.001 ± 0.004"),
        ("k.c", "pm,percent,decimals=1", "(100.1 ± 0.4)%"),
        ("k.c", "low", "0.9978"),
        ("k.c", "high,decimals=2", "1.01"),
        ("k.c", "interval,decimals=2", "[0.99, 1.01]"),
        ("k.c", "range", "0.9978–1.0039"),
        ("k.c", "range,percent,decimals=0", "(99–101)%"),
        ("k.c:interval", "range", "0.9978–1.0039"),
        ("k.n", "range", "−0.52 to −0.48"),
        ("k.n", "pm", "−0.51 ± 0.03"),
        ("k.s", "plain", "0.00000000237"),
        ("k.s", "digits=2", "2.4×10⁻⁹"),
        ("k.s", "scientific,digits=2", "2.4×10⁻⁹"),
        ("k.t", "plain,digits=2", "1 000 000 000"),
        ("k.t", "scientific,digits=2", "1.00×10⁹"),
        ("k.c:draws", "digits=2", "92 000 000"),
        ("k.c:draws", "decimals=2", "92 414 464.00"),
        ("k.c:draws", "scientific,digits=3", "9.24×10⁷"),
        ("k.c:level", "digits=3", "99.4%"),
        ("k.c:level", "decimals=0", "99%"),
        ("k.e:estimate", "unit=bits", "0.6608"),
        ("k.e:estimate", "unit=bits,decimals=3", "0.661"),
        ("k:digest", "digits=12", DIGEST[:12]),
        ("run:good", "words", "fifty-seven"),
        ("run:good", "ratio-to=run:all", "0.966"),
        ("run:good", "ratio-to=run:all,percent", "96.6%"),
        ("run:all", "ratio-to=run:all,percent", "100%"),
        ("run:all", "ratio-to=run:good,decimals=4", "1.0351"),
        ("run:none", "ratio-to=run:good", "0"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth", "330"),
        ("k.zero", "decimals=1", "0.0×10⁻⁶"),
        ("k.c", '"{low} to {high} around {estimate}"', "0.9978 to 1.0039 around 1.0008"),
        ("k.c", 'decimals=2,"{low} < {estimate}"', "0.99 < 1.00"),
        ("k.c:low", '"at least {text}, at most {high}"', "at least 0.9978, at most 1.0039"),
        ("k.c", '"see there"', "see there"),
        ("k", '"**{text}**"', "**confirmed**"),
        ("run:seed", "default", "7"),
    ],
)
def test_what_a_form_writes(key: str, form: str, text: str) -> None:
    """Ends are rounded outwards, half-widths up."""
    assert written(KNOWN, key, form).translate(SPACES) == text


GLUED = (
    r"1{low}; {low}5; {low}{high}; -{low}; −{low}; {low}%; {low} %; {low} \%; {low} × 10²; x{low}; {low}.5; "
    r"1.{low}; {low}^2; {low}e5; 1/{low}; {low} * 2; {low}<sup>2</sup>; {low}²; 3–{low}; {low} \times 10; "
    r"{low} 000; √{low}; 2 × {low}; 1 {low}; {low} 5; {low} {high}"
)
"""Parts of sentences beside which something makes another number of them."""


@pytest.mark.parametrize(
    ("key", "form", "what"),
    [
        ("k.c", "digit=3", "no form 'digit=3'; choose default, digits=N"),
        ("k.c", "digits=0", "no form 'digits=0'"),
        ("k.c", "digits", "no form 'digits'"),
        ("k.c", "low=3", "no form 'low=3'"),
        ("k.c", "unit=miles", "no form 'unit=miles'"),
        ("k.c", "", "an empty form"),
        ("k.c", "digits=2,decimals=2", "exclude each other"),
        ("k.c", "low,high", "exclude each other"),
        ("k.c", "default,digits=2", "stand alone"),
        ("run:good", "words,digits=2", "stand alone"),
        ("k.c", '"{low}",digits=2', "put the sentence last"),
        ("k.c", '"{low} "{high}"', "put the sentence last"),
        ("k.c", '"{' + "x" * 500 + '}"', "at most 400"),
        ("k.c", 'pm,"{low}"', "name parts such as {low}"),
        ("k.c", '"{lo}"', "has no part 'lo'; choose text, draws, estimate"),
        *(("k.c", f'"a {glued} b"', "makes another number of it") for glued in GLUED.split("; ")),
        ("k.c", "digits=99", "no more digits that mean something; ask for fewer"),
        ("k.c", "decimals=5", "no more digits"),
        ("k.c", "percent,decimals=3", "no more digits"),
        ("k.c", "words", "which words does not suit; choose default, digits=N"),
        ("k.c", "unit=bits", "which unit=bits does not suit"),
        ("k.c:estimate", "pm", "which pm does not suit"),
        ("k.c:interval", "pm", "which pm does not suit"),
        ("k.c:interval", "ratio-to=run:good", "which ratio-to=run:good does not suit"),
        ("run:good", "percent", "which percent does not suit; choose default, digits=N"),
        ("k.c:level", "scientific", "does not suit"),
        ("k.c:sure", "digits=2", "does not suit; choose default, "),
        ("k", "digits=2", "does not suit"),
        ("run:seed", "digits=2", "does not suit"),
        ("k.s", "decimals=2,plain", "of which this leaves 0; ask for more digits"),
        ("k:digest", "digits=11", "11 digits of a digest; give 12 to 64"),
        ("run:good", "ratio-to=k.c:estimate", "a number of the same kind"),
        ("run:good", "ratio-to=nothing", "a number of the same kind"),
        ("run:good", "ratio-to=run:none", "divides by 0"),
        ("run:good", "ratio-to=run:all,digits=1", "is not 1, to which this rounds it"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth,digits=3", "has 2 digits that mean something"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth,unit=bits", "which unit=bits does not suit"),
        ("run:good", "ratio-to=run:all,words", "stand alone"),
    ],
)
def test_a_form_that_does_not_suit_is_refused(key: str, form: str, what: str) -> None:
    """In one line, with those that do."""
    with pytest.raises(CitationError, match=what):
        written(KNOWN, key, form)


@given(st.decimals(-(10**6), 10**6, places=4, allow_nan=False), st.integers(0, 4))
def test_what_is_written_is_the_value_rounded(exact: Decimal, places: int) -> None:
    """Half a unit of the last digit away at most; what would leave 0 is refused."""
    known = {"k": Value("k", "", (ExactNumber(exact, printed=exact),), "k")}
    if exact and not round(exact, places):
        with pytest.raises(CitationError, match="leaves 0"):
            written(known, "k", f"decimals={places}")
        return
    text = written(known, "k", f"decimals={places}")
    number = reading(text)
    assert number is not None
    assert abs(number - exact) <= Decimal(1).scaleb(-places) / 2


@given(
    st.floats(0.01, 1e5),
    st.floats(0.001, 10),
    st.floats(0.001, 10),
    st.sampled_from((-1, 1)),
    st.integers(0, 5),
)
def test_plus_minus_covers_the_interval(
    size: float, below: float, above: float, sign: int, places: int
) -> None:
    """From the centre as it is printed, both ends are reached."""
    centre = sign * size
    parts = [Decimal(repr(one)) for one in (centre, centre - below, centre + above)]
    roundings = ("nearest", "down", "up")
    figures = tuple(
        ExactNumber(one, how, round(one, 5))  # type: ignore[arg-type]
        for one, how in zip(parts, roundings, strict=True)
    )
    known = {"k": Value("k", "", figures, "k")}
    if not round(parts[0], places):
        return
    text = written(known, "k", f"pm,decimals={places}")
    middle, half = (reading(one) for one in text.split("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"))
    assert middle is not None
    assert half is not None
    assert middle - half <= parts[1]
    assert parts[2] <= middle + half


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("plain", "−2.37×10⁻⁹ ± 1"),
        ("html", "−2.37×10<sup>-9</sup> ± 1"),
        ("markdown", "−2.37×10⁻⁹ ± 1"),
        ("rst", "−2.37×10⁻⁹ ± 1"),
        ("latex", r"\ensuremath{-2.37\times 10^{-9}\ \pm \ 1}"),
        ("asciidoc", "−2.37×10^-9^ ± 1"),
        ("org", "−2.37×10^{-9} ± 1"),
        ("typst", "−2.37×10#super[-9] ± 1"),
    ],
)
def test_each_language_has_its_markup(language: str, text: str) -> None:
    """For numbers; words are escaped, and a sentence's own words stay as they are."""
    markup = MARKUPS[language]
    assert markup.written("−2.37×10⁻⁹ ± 1", is_number=True) == text
    if language != "plain":
        assert markup.written("<b> *x* #y", is_number=False) != "<b> *x* #y"
    sentence = written(KNOWN, "k.s", '"about {text} *here*"', markup.written)
    assert sentence == f"about {markup.written('2.37×10⁻⁹', is_number=True)} *here*"


def test_counts_in_words() -> None:
    """Below a thousand, each another."""
    assert [spelled(n) for n in (0, 13, 40, 59, 312)] == [
        "zero",
        "thirteen",
        "forty",
        "fifty-nine",
        "three hundred and twelve",
    ]
    assert len({spelled(n) for n in range(1000)}) == 1000
