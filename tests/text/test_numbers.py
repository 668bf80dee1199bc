"""Numbers as text: rounded by the error, exactly, outwards; printed figures against exact values."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.text import numbers
from verify.text.numbers import as_decimal, as_printed, rounded, rounds_to

FINITE = st.floats(-1e12, 1e12, allow_nan=False)
ERRORS = st.floats(1e-12, 1e9)
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")


def read(text: str) -> Decimal:
    """Return a printed number as its value."""
    plain = text.translate(_DIGITS).replace(numbers.GAP, "")
    value, _, power = plain.partition("×10")
    return Decimal(value).scaleb(int(power or 0))


def unit(text: str) -> Decimal:
    """Return the worth of a printed number's last digit."""
    plain = text.partition("×")[0].replace(numbers.GAP, "")
    return Decimal(1).scaleb(-len(plain.partition(".")[2]))


@pytest.mark.parametrize(
    ("value", "error", "text", "interval"),
    [
        (64.0213, 0.0912, "64.02 ± 0.09", "[63.74, 64.30]"),
        (0.00012, 0.000004, "0.000120 ± 0.000004", "[0.000108, 0.000132]"),
        (6.4e9, 3e7, "(6.400 ± 0.030)×10⁹", "[6.310, 6.490]×10⁹"),
        (0, 0.02, "0.000 ± 0.020", "[−0.060, 0.060]"),
        (-3.4e-7, 2e-8, "(−3.40 ± 0.20)×10⁻⁷", "[−4.00, −2.80]×10⁻⁷"),
        (123456, 1234, "123 500 ± 1200", "[119 700, 127 200]"),
        (1, 0.096, "1.00 ± 0.10", "[0.71, 1.29]"),
        (-0.0001, 0.2, "0.00 ± 0.20", "[−0.61, 0.60]"),
        (64, 0, "64", "[64, 64]"),
        (7 / 144, 0, "0.04861111111", "[0.04861111111, 0.04861111111]"),
    ],
)
def test_measurements(value: float, error: float, text: str, interval: str) -> None:
    """Value, error and interval share their last digit; the interval is rounded outwards."""
    centre, reach = Decimal(repr(value)), 3 * Decimal(repr(error))
    printed = numbers.estimate(value, error, (float(centre - reach), float(centre + reach)))
    assert printed.with_error.replace(numbers.NO_BREAK, " ").replace(numbers.GAP, " ") == text
    assert printed.interval.replace(numbers.NO_BREAK, " ").replace(numbers.GAP, " ") == interval


@pytest.mark.parametrize(
    ("value", "error", "digits", "text"),
    [
        (1.462, 0.031, 3, "1.5"),
        (1.462, 0.031, 1, "1"),
        (0.4996, 0.0005, 3, "0.500"),
        (0.82603, 0.0005, 6, "0.826"),
        (0.82603, 0.00051, 6, "0.83"),
        (123456, 1234, 10, "120 000"),
        (6.41e9, 3e7, 4, "6.4×10⁹"),
        (0.0004, 0.002, 3, "0.00"),
        (-2.78, 0.02, 2, "−2.8"),
        (4 / 9, 0, 3, "0.444"),
    ],
)
def test_a_value_alone_has_the_digits_that_its_error_supports(
    value: float, error: float, digits: int, text: str
) -> None:
    """At most so many, and none of which half a unit is less than the error."""
    assert numbers.supported(value, error, digits).replace(numbers.GAP, " ") == text


@given(FINITE, ERRORS, st.floats(0, 10))
def test_printed_value_is_within_half_a_unit(value: float, error: float, width: float) -> None:
    """A printed value is the true one to half a unit of its last digit; its interval covers the true one."""
    low, high = value - width * error, value + width * error
    printed = numbers.estimate(value, error, (low, high))
    last = unit(printed.value).scaleb(printed.power) if "." in printed.value else None
    shown = read(printed.value + printed.times)
    if last is not None:
        assert abs(shown - Decimal(repr(value))) <= last / 2
    assert abs(shown - Decimal(repr(value))) <= Decimal(repr(error)) * Decimal("0.53")
    assert read(printed.low + printed.times) <= Decimal(repr(low))
    assert read(printed.high + printed.times) >= Decimal(repr(high))


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (numbers.exact(64), "64"),
        (numbers.exact(-0.5), "−0.5"),
        (numbers.exact(1e12), "1×10¹²"),
        (numbers.exact(0), "0"),
        (numbers.exact(0.9999999998554963, 8), "0.9999999998"),
        (numbers.exact(1 - 1e-15), "1"),
        (numbers.exact(1.00000001), "1"),
        (numbers.beside(0.99999999, 0.1), "1"),
        (numbers.beside(3.11111111, 0.004), "3.1111"),
        (numbers.beside(0, 0.1), "0"),
        (numbers.level(1 - 6.08e-7), "1 − 6.1×10⁻⁷"),
        (numbers.level(0.99), "99%"),
        (numbers.level(1), "1"),
        (numbers.small(9.96e-7), "1×10⁻⁶"),
        (numbers.small(-9.96e-7), "−1×10⁻⁶"),
        (numbers.small(9.96e-4), "0.001"),
        (numbers.small(0), "0"),
        (numbers.percent(0.002), "0.2%"),
        (numbers.tolerance(0.01 / 3), "0.33%"),
        (numbers.apart(6, 1), "6 times as large"),
        (numbers.apart(1.48, 1), "off by 48%"),
        (numbers.apart(1, 0), ""),
        (numbers.apart(1e300, 1e-300), ""),
        (numbers.power(0.99996), "> 0.9999"),
        (numbers.power(0), "0"),
        (numbers.count(9999), "9999"),
        (numbers.count(16777216), "16 777 216"),
        (numbers.count(-12345), "−12 345"),
        (numbers.seconds(0.312), "0.31 s"),
        (numbers.seconds(59.97), "1 min 0 s"),
        (numbers.setting("normal"), "normal"),
        (numbers.setting(0.25), "0.25"),
    ],
)
def test_other_texts(printed: str, text: str) -> None:
    """Levels, powers, counts and times read as agreed."""
    assert printed.replace(numbers.GAP, " ").replace(numbers.NO_BREAK, " ") == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-350, 320))
def test_rounding_is_exact(value: float, place: int) -> None:
    """The result is a multiple of its unit, and no other multiple is nearer; floor and ceiling enclose it."""
    exact, unit = Fraction(as_decimal(value)), Fraction(10) ** place
    nearest = Fraction(rounded(as_decimal(value), place))
    assert (nearest / unit).denominator == 1
    assert abs(nearest - exact) <= unit / 2
    low, high = (Fraction(rounded(as_decimal(value), place, mode)) for mode in (ROUND_FLOOR, ROUND_CEILING))
    assert low <= exact <= high
    assert high - low in {0, unit}


FIGURES = st.from_regex(r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,12})?%?", fullmatch=True)
ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
EVERYDAY = st.floats(-1e6, 1e6) | st.decimals(-1000, 1000, places=3).map(float)


@given(ANY_FLOAT | EVERYDAY, FIGURES)
def test_a_value_rounds_to_what_is_printed_of_it(exact: float, printed: str) -> None:
    """Writing a value at some precision and comparing it at that precision agree, for every float."""
    text = as_printed(exact, printed)
    assert rounds_to(exact, text)
    assert as_printed(exact, text) == text
    assert text.endswith("%") == printed.endswith("%")
    assert len(text.partition(".")[2]) == len(printed.partition(".")[2])


@pytest.mark.parametrize(
    ("exact", "printed", "agrees", "shown"),
    [
        (0.8807970779778824, "0.880", False, "0.881"),
        (0.8807970779778824, "0.88", True, "0.88"),
        (0.9998766054240137, "100%", True, "100%"),
        (0.285, "0.28", True, "0.28"),
        (0.285, "0.29", True, "0.29"),
        (0.285, "0.27", False, "0.29"),
        (3.5, "3", False, "4"),
        (-2.5, "-3", True, "-3"),
        (-0.001, "0.0", True, "0.0"),
        (1478.0, "1478", True, "1478"),
        (1e300, "1", False, "1" + "0" * 300),
    ],
)
def test_known_figures(exact: float, printed: str, agrees: bool, shown: str) -> None:
    """Ties, percent signs, trailing zeros, signs and sizes."""
    assert rounds_to(exact, printed) is agrees
    assert as_printed(exact, printed) == shown
