"""Notations of a figure with its interval: understood and written, or left alone and reported."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.records import record
from tests.strategies import examples
from verify.citing.agreement import agrees, fixed
from verify.citing.documents import check, fix
from verify.citing.figures import counts_in, spelled
from verify.citing.lookup import lookup
from verify.citing.values import DATE, DIGEST, Figure, Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = record()
LOW, HIGH = Figure(Decimal("0.99784"), "down"), Figure(Decimal("1.00381"), "up")
BOTH = Value("k", "1.0008 [0.9978, 1.0039]", (Figure(Decimal("1.00083")), LOW, HIGH), "k")
ENDS = Value("k:interval", "[0.9978, 1.0039]", (LOW, HIGH), "k")
ONE = Value("k:estimate", "1.0008", (Figure(Decimal("1.00083")),), "k")
HALF = Value("k:halfwidth", "0.0031", (Figure(Decimal("0.00299"), "up"),), "k")
COUNT = Value("run:confirmed", "50", (Figure(Decimal(50)),), "k", total=Figure(Decimal(50)))
DAY = Value("run:date", "2026-11-21", (), "k", kind=DATE)
SEAL = Value("k:digest", "5ca526eb32" + "0f" * 27, (), "k", kind=DIGEST)


@pytest.mark.parametrize(
    ("quoted", "value", "new"),
    [
        ("1.02 ± 0.0031", ENDS, "1.0008 ± 0.0031"),
        ("1.02 ± 0.0031", BOTH, "1.0008 ± 0.0031"),
        (r"$1.02 \pm 0.0040$", BOTH, r"$1.0008 \pm 0.0031$"),
        ("1.02 +/- 0.004", BOTH, "1.001 +/- 0.004"),
        ("102 ± 1%", BOTH, "100 ± 1%"),
        (r"$1.02^{+0.0035}_{-0.0020}$", BOTH, r"$1.0008^{+0.0031}_{-0.0030}$"),
        (r"$1.02_{-0.0020}^{+0.0035}$", BOTH, r"$1.0008_{-0.0030}^{+0.0031}$"),
        ("1.02 (+0.0035/−0.0020)", BOTH, "1.0008 (+0.0031/−0.0030)"),
        ("1.02<sup>+0.0035</sup><sub>−0.0020</sub>", BOTH, "1.0008<sup>+0.0031</sup><sub>−0.0030</sub>"),
        ("1.0200(31)", BOTH, "1.0008(31)"),
        ("1.020(31)", ENDS, "1.001(4)"),
        ("+0.5", ONE, "+1.0"),
        ("-0.5", ONE, "1.0"),
        ("+0.5", Value("k", "−0.4", (Figure(Decimal("-0.41")),), "k"), "−0.4"),
        ("±0.0050", HALF, "±0.0030"),
        ("0,512", ONE, None),
        ("0,51", ONE, "1,00"),
        ("1,0213 (0,99 bis 1,03)", BOTH, None),
        ("1,0213 (0,9900 to 1,0300)", BOTH, "1,0008 (0,9978 to 1,0039)"),
        ("47 of 47", COUNT, "50 of 50"),
        ("forty-seven", COUNT, "fifty"),
        ("Forty-seven claims", COUNT, "Fifty claims"),
        ("20 November 2026", DAY, "21 November 2026"),
        ("Nov 2, 2026", DAY, "Nov 21, 2026"),
        ("2.11.2026", DAY, "21.11.2026"),
        ("`abcdefabcdef`", SEAL, f"`{SEAL.text[:12]}`"),
        (r"$\beta_1 = 1.02$", ONE, r"$\beta_1 = 1.00$"),
        (r"$R^2 = 1.02$", ONE, r"$R^2 = 1.00$"),
    ],
)
def test_a_notation_is_kept(quoted: str, value: Value, new: str | None) -> None:
    """The new figures stand in the old notation, and are right when they are read again."""
    assert not agrees(quoted, value)
    assert fixed(quoted, value) == new
    assert new is None or agrees(new, value)


@pytest.mark.parametrize(
    ("quoted", "value"),
    [
        ("1.02 ± 0.0031 (95%)", BOTH),
        ("1.02 (n = 16)", ENDS),
        ("1.02 (n = 16)", ONE),
        ("1.0008(31)", ONE),
        ("1.02 ± 0.0031", ONE),
        ("1.02 ± -0.0031", ENDS),
        ("1.02 × 0.0031", ENDS),
        ("1.02/0.0031", ENDS),
        ("1.02^{0.5}", ENDS),
        ("1.02 and a standard deviation of 0.3", ENDS),
        ("< 0.9", ONE),
        ("at most 0.9", ONE),
        ("minus 0.9", ONE),
        ("±0.9", ONE),
        ("0.9²", ONE),
        ("0.9/d", ONE),
        (r"\sqrt{0.9}", ONE),
        ("1,021", ONE),
        ("04/05/2026", DAY),
        ("abcdef", SEAL),
        ("47 and forty", COUNT),
        ("forty and fifty-one", COUNT),
    ],
)
def test_what_is_not_understood_is_never_written(quoted: str, value: Value) -> None:
    """Neither is it called right."""
    assert not agrees(quoted, value)
    assert fixed(quoted, value) is None


@pytest.mark.parametrize("quoted", ["0.9978 ± 1.0039", "0.9978 (n = 1.0039)", "0.9978(1.0039)"])
def test_the_right_figures_in_a_wrong_notation_are_wrong(quoted: str) -> None:
    """Once these were written, and then called right."""
    assert not agrees(quoted, ENDS)


@pytest.mark.parametrize(
    ("quoted", "value"),
    [
        ("1.0008 ± 0.0031", ENDS),
        ("1.0008(31)", BOTH),
        ("1,0008", ONE),
        ("fifty", COUNT),
        ("50 of 50", COUNT),
        ("21 November 2026", DAY),
        (SEAL.text[:12], SEAL),
        ("1.001, interval = 0.997 to 1.004", BOTH),
    ],
)
def test_usual_notations_are_right(quoted: str, value: Value) -> None:
    """And are left as they are."""
    assert fixed(quoted, value) == quoted


def test_an_interval_that_is_not_even_is_not_written_with_plus_minus() -> None:
    """It would say what was not found; with both errors it can be written."""
    skewed = Value("k", "1.0 [0.5, 3.0]", (Figure(Decimal(1)), *ends("0.5", "3")), "k")
    assert fixed("2.0 ± 0.1", skewed) is None
    assert fixed("$2.0^{+0.1}_{-0.1}$", skewed) == "$1.0^{+2.0}_{-0.5}$"


def ends(low: str, high: str) -> tuple[Figure, Figure]:
    """Return the figures of an interval."""
    return Figure(Decimal(low), "down"), Figure(Decimal(high), "up")


@given(st.integers(0, 999))
def test_counts_in_words_are_read_as_they_are_written(count: int) -> None:
    """Every count below a thousand."""
    assert counts_in(f"All {spelled(count)} of them.") == ((count, 4, 4 + len(spelled(count))),)


# The grammar: a template for two or three figures, and a reader of its own that gives the interval back.
NUMBER = r"([+\-−]?\d+(?:\.\d+)?)"
Reader = "Callable[..., tuple[Decimal, Decimal]]"


def even(centre: str, half: str) -> tuple[Decimal, Decimal]:
    """Read c ± h."""
    return number(centre) - number(half), number(centre) + number(half)


def uneven(centre: str, above: str, below: str) -> tuple[Decimal, Decimal]:
    """Read c + u − d, where u and d have their signs."""
    return number(centre) + number(below), number(centre) + number(above)


def in_digits(centre: str, half: str) -> tuple[Decimal, Decimal]:
    """Read c(h)."""
    unit = Decimal(1).scaleb(-len(centre.partition(".")[2]))
    return number(centre) - number(half) * unit, number(centre) + number(half) * unit


def range_after(_: str, low: str, high: str) -> tuple[Decimal, Decimal]:
    """Read an estimate and the ends."""
    return number(low), number(high)


def number(text: str) -> Decimal:
    """Return a plain number, whatever its minus sign."""
    return Decimal(text.replace("−", "-"))


KNOWN: list[tuple[str, Callable[..., tuple[Decimal, Decimal]]]] = [
    ("{c} ± {h}", even),
    (r"${c} \pm {h}$", even),
    ("**{c}** +/- {h}", even),
    ("{c}({i})", in_digits),
    ("${c}^{{+{h}}}_{{-{k}}}$", uneven),
    ("{c} (+{h}/−{k})", uneven),
    ("{c} [{l}, {u}]", range_after),
    ("{c}, interval {l} to {u}", range_after),
]
UNKNOWN = [
    "{c} ± {h} (95%)",
    "{c} ± {h} ± {k}",
    "{c} (n = {i})",
    "{c} × {h} + {k}",
    "{c} ± {h}, N = {i}",
    "{c}^{h}/{k}",
    "{c} of {h} and {k} more",
    "{c} sigma {h} tau {k}",
]
SLOPE = "score-variance.slope"


@st.composite
def stale(draw: st.DrawFn, templates: list[str]) -> str:
    """Return a quotation with figures of any size in one of the notations."""
    plain = st.decimals("-20", "20", places=draw(st.integers(1, 4)), allow_nan=False)
    small = st.decimals("0.001", "2", places=draw(st.integers(3, 5)), allow_nan=False)
    return draw(st.sampled_from(templates)).format(
        c=draw(plain), h=draw(small), k=draw(small), i=draw(st.integers(1, 999)), l=draw(plain), u=draw(plain)
    )


def rewritten(folder: Path, quoted: str, after: str = " here.") -> tuple[str, bool]:
    """Return what a quotation is after ``--write``, and whether anything is left to complain of."""
    page = folder / "page.md"
    page.write_text(f"It is <!-- verify: {SLOPE} -->{quoted}<!-- /verify -->{after}\n", encoding="utf-8")
    documents = check([page], RUN)
    fix(documents)
    found = re.search(r"-->(.*)<!--", page.read_text(encoding="utf-8"))
    assert found
    return found[1], any(not problem.fixable for problem in documents[0].problems)


@examples(60)
@given(
    stale([template for template, _ in KNOWN]),
    st.sampled_from(["", " here", " k here", " M", "\nk is", "\n% a line", "\nA line", " can be"]),
)
def test_what_is_written_gives_the_value_back(
    tmp_path_factory: pytest.TempPathFactory, quoted: str, after: str
) -> None:
    """To a reader of its own, who covers the interval and no more than its digits allow."""
    text, is_left = rewritten(tmp_path_factory.getbasetemp(), quoted, after)
    if is_left:
        assert text == quoted
        return
    estimate, low, high = (figure.exact for figure in lookup(RUN, SLOPE).figures)
    ((match, reader),) = [
        (match, reader) for template, reader in KNOWN if (match := re.fullmatch(pattern(template), text))
    ]
    read_low, read_high = reader(*match.groups())
    decimals = min(len(one.partition(".")[2]) for one in match.groups()[1:])
    decimals = decimals or len(match[1].partition(".")[2])
    slack = 3 * Decimal(1).scaleb(-decimals)
    assert abs(number(match[1]) - estimate) <= Decimal(1).scaleb(-len(match[1].partition(".")[2])) / 2
    assert low - slack <= read_low <= low
    assert high <= read_high <= high + slack


def pattern(template: str) -> str:
    """Return what reads a template back."""
    text = re.escape(template.format(c="C", h="H", k="K", i="I", l="L", u="U"))
    for sign in (r"\+H", r"\-K", "−K", "C", "H", "I", "L", "U"):
        text = text.replace(sign, NUMBER)
    return text


@examples(60)
@given(stale(UNKNOWN))
def test_what_no_reader_knows_stays(tmp_path_factory: pytest.TempPathFactory, quoted: str) -> None:
    """Unchanged to the last sign, and complained of."""
    assert rewritten(tmp_path_factory.getbasetemp(), quoted) == (quoted, True)


# What may follow a quotation, and the powers of ten that it may stand for to a reader.
FOLLOWING: dict[str, tuple[int, ...]] = {
    "": (0,), ".": (0,), " of all": (0,), " can be": (0,), " ok": (0,), "\nk is": (0,), "\n% a": (0,),
    "\nA line": (0,), "\nM": (0,), " k and": (0, 3), " M": (0, 6), "k": (3,), "M": (6,), "%": (-2,),
    " %": (-2,), " per cent": (-2,), "\nper cent": (-2,), " per\ncent": (-2,), "  million": (6,),
    "\n  thousand": (3,), "‰": (-3,),
}  # fmt: skip


@examples(100)
@given(
    st.decimals("0.01", "999", places=2),
    st.sampled_from([-6, -3, -2, 0, 2, 3, 6]),
    st.decimals("-999", "999", places=2),
    st.sampled_from(sorted(FOLLOWING)),
    st.booleans(),
)
def test_what_follows_a_figure_is_read_with_it(
    exact: Decimal, power: int, old: Decimal, after: str, is_near: bool
) -> None:
    """What is called right or written is the value to a reader of what follows, and nothing is in doubt."""
    held = Figure(exact.scaleb(power))
    value = Value("k:estimate", f"{held.exact:f}", (held,), "k")
    quoted = f"{exact + old / 10000 if is_near else old:f}"
    powers = FOLLOWING[after]
    right = [one for one in powers if agrees(quoted, value, after)]
    new = fixed(quoted, value, after)
    assert not right or new == quoted
    if new is None:
        return
    assert len(powers) == 1 or new == quoted, "a unit in doubt is its author's to settle"
    digits = Decimal(new)
    unit = Decimal(1).scaleb(int(digits.as_tuple().exponent))
    assert any(abs(digits.scaleb(one) - held.exact) <= (unit / 2).scaleb(one) for one in powers)
