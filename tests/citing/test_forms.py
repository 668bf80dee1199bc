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
INNER = (figure("0.99963", "0.9996", "down"), figure("1.00203", "1.0021", "up"))
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
        Value("k.c:error", "6.1×10⁻⁴", (figure("0.00061", "0.00061"),), "k"),
        Value("k.c:interval95", "[0.9996, 1.0021]", INNER, "k"),
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
        ("k.c", ".3g", "1.00 [0.99, 1.01]"),
        ("k.c", ".3f", "1.001 [0.997, 1.004]"),
        ("k.c", "%", "100.08% [99.78, 100.39]%"),
        ("k.c", ".0%", "100% [99, 101]%"),
        ("k.c", "e", "1.0008 [0.9978, 1.0039]"),
        ("k.c", "pm", "1.0008 ± 0.0006"),
        ("k.c:estimate", "pm,.3f", "1.001 ± 0.001"),
        ("k.c", "pm,.1%", "(100.1 ± 0.1)%"),
        ("k.c", "interval95", "[0.9996, 1.0021]"),
        ("k.c", "interval95,.2f", "[0.99, 1.01]"),
        ("k.c", "low", "0.9978"),
        ("k.c", "high,.2f", "1.01"),
        ("k.c", "interval,.2f", "[0.99, 1.01]"),
        ("k.c", "range", "0.9978–1.0039"),
        ("k.c", "range,.0%", "(99–101)%"),
        ("k.c:interval", "range", "0.9978–1.0039"),
        ("k.n", "range", "−0.52 to −0.48"),
        ("k.s", "f", "0.00000000237"),
        ("k.s", ".2g", "2.4×10⁻⁹"),
        ("k.s", ".1e", "2.4×10⁻⁹"),
        ("k.t", "f", "996 000 000"),
        ("k.t", ".1e", "1.0×10⁹"),
        ("k.c:draws", ".2g", "92 000 000"),
        ("k.c:draws", ".2f", "92 414 464.00"),
        ("k.c:draws", ".2e", "9.24×10⁷"),
        ("k.c:level", ".3g", "99.4%"),
        ("k.c:level", ".0f", "99%"),
        ("k.e:estimate", "bits", "0.6608"),
        ("k.e:estimate", "bits,.3f", "0.661"),
        ("k:digest", ".12", DIGEST[:12]),
        ("run:good", "words", "fifty-seven"),
        ("run:good", "ratio-to=run:all", "0.966"),
        ("run:good", "ratio-to=run:all,%", "96.6%"),
        ("run:all", "ratio-to=run:all,%", "100%"),
        ("run:all", "ratio-to=run:good,.4f", "1.0351"),
        ("run:none", "ratio-to=run:good", "0"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth", "330"),
        ("k.c", '"{low:.1f} to {high}, {estimate:.2g}"', "0.9 to 1.0039, 1.0"),
        ("k.c", '"{low} to {high} around {estimate}"', "0.9978 to 1.0039 around 1.0008"),
        ("k.c", '.2f,"{low} < {estimate}"', "0.99 < 1.00"),
        ("k.c:low", '"at least {text}, at most {high}"', "at least 0.9978, at most 1.0039"),
        ("k.c", '"see there"', "see there"),
        ("k", '"**{text}**"', "**confirmed**"),
        ("run:seed", "default", "7"),
    ],
)
def test_what_a_form_writes(key: str, form: str, text: str) -> None:
    """Ends are rounded outwards; ± stands before the standard error."""
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
        ("k.c", "digit=3", "no form 'digit=3'; choose default, .Nf"),
        ("k.c", ".0g", "no form '.0g'"),
        ("k.c", "digits", "no form 'digits'"),
        ("k.c", "low=3", "no form 'low=3'"),
        ("k.c", "unit=miles", "no form 'unit=miles'"),
        ("k.c", "", "an empty form"),
        ("k.c", ".2g,.2f", "exclude each other"),
        ("k.c", "low,high", "exclude each other"),
        ("k.c", "default,.2g", "stand alone"),
        ("run:good", "words,.2g", "stand alone"),
        ("k.c", '"{low}",.2g', "put the sentence last"),
        ("k.c", '"{low} "{high}"', "put the sentence last"),
        ("k.c", '"{' + "x" * 500 + '}"', "at most 400"),
        ("k.c", 'pm,"{low}"', "name parts such as {low}"),
        ("k.c", '"{lo}"', "has no part 'lo'; choose text, draws, error, estimate"),
        *(("k.c", f'"a {glued} b"', "makes another number of it") for glued in GLUED.split("; ")),
        ("k.c", ".99g", "no more digits that mean something; ask for fewer"),
        ("k.c", ".5f", "no more digits"),
        ("k.c", ".3%", "no more digits"),
        ("k.c", "words", "which words does not suit; choose default, .Nf"),
        ("k.c", "bits", "which bits does not suit"),
        ("k.n", "pm", "which pm does not suit"),
        ("k.c", "pm,.2f", "of which this leaves 0"),
        ("k.c:low", "interval95", "which interval95 does not suit"),
        ("k.c:interval", "pm", "which pm does not suit"),
        ("k.c:interval", "ratio-to=run:good", "which ratio-to=run:good does not suit"),
        ("run:good", "%", "which % does not suit; choose default, .Nf"),
        ("k.c:level", "e", "does not suit"),
        ("k.c:sure", ".2g", "does not suit; choose default, "),
        ("k", ".2g", "does not suit"),
        ("run:seed", ".2g", "does not suit"),
        ("k.s", ".2f", "of which this leaves 0; ask for more digits"),
        ("k:digest", ".11", "11 digits of a digest; give 12 to 64"),
        ("run:good", "ratio-to=k.c:estimate", "a number of the same kind"),
        ("run:good", "ratio-to=nothing", "a number of the same kind"),
        ("run:good", "ratio-to=run:none", "divides by 0"),
        ("run:good", "ratio-to=run:all,.1g", "is not 1, to which this rounds it"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth,.3g", "has 2 digits that mean something"),
        ("k.c:estimate", "ratio-to=k.c:halfwidth,bits", "which bits does not suit"),
        ("run:good", "ratio-to=run:all,words", "stand alone"),
    ],
)
def test_a_form_that_does_not_suit_is_refused(key: str, form: str, what: str) -> None:
    """In one line, with those that do."""
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
    assert MARKUPS["python"].written("−2.37×10⁻⁹ ± 1", is_number=True) == "-2.37e-9 ± 1"
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
