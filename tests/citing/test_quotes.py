"""What counts as quoting a value: figures to the digits quoted, in any usual spelling."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.citing.quotes import agrees, mended, numbers_in
from verify.citing.values import Figure, Value


def value(text: str, *figures: tuple[str, str] | str) -> Value:
    """Return a value with these exact figures, each with its rounding if it is not to the nearest."""
    pairs = [(one, "nearest") if isinstance(one, str) else one for one in figures]
    return Value("k", text, tuple(Figure(Decimal(x), how) for x, how in pairs), "k")  # type: ignore[arg-type]


BOTH = value("1.0008 [0.9978, 1.0039]", "1.00083", ("0.99784", "down"), ("1.00381", "up"))


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
    assert mended(quoted, BOTH) == quoted


@pytest.mark.parametrize(
    "quoted",
    [
        "1.0009 [0.9978, 1.0039]",  # another estimate
        "1.0008 [0.9979, 1.0039]",  # an end rounded inwards
        "1.0008 [0.9978, 1.0038]",
        "1.0008 [0.998, 1.004]",
        "1.0008",  # an end is missing
        "1.0008 [0.9978, 1.0039] 7",
        "",
        "−1.0008 [0.9978, 1.0039]",
    ],
)
def test_what_is_not_so(quoted: str) -> None:
    """Another figure, a wrong rounding, one figure too many or too few; and mending makes each right."""
    assert not agrees(quoted, BOTH)
    assert agrees(mended(quoted, BOTH), BOTH)


def test_mending_keeps_words_and_digits() -> None:
    """Only what is wrong changes, to no more digits than stood there."""
    assert mended("1.002, interval 0.997 to 1.004", BOTH) == "1.001, interval 0.997 to 1.004"
    assert mended("about 2", BOTH) == "1.0008 [0.9978, 1.0039]"
    assert mended("**12,346**", value("12\N{NARROW NO-BREAK SPACE}345", "12345")) == "**12,345**"
    assert mended("`7.5e-7`", value("6.1×10⁻⁷", "0.00000061")) == "`6.1×10⁻⁷`"
    assert mended("-0.2", value("−0.061", "-0.0612")) == "-0.1"


def test_words_count_whatever_their_case() -> None:
    """Hyphens, emphasis and code marks make no difference; another word does."""
    outcome = value("holds with conditions")
    assert agrees("**Holds-with-conditions**", outcome)
    assert not agrees("holds", outcome)
    assert mended("`holds`", outcome) == "`holds with conditions`"


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
    assert agrees(f"{rounded:f}", held)
    assert not agrees(f"{rounded + 2 * unit:f}", held)
    assert not agrees(f"{rounded - 2 * unit:f}", held)
    assert agrees(mended(f"{rounded + 2 * unit:f}", held), held)
