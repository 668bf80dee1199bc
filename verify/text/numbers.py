"""Numbers as people read them: rounded by their uncertainty."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple

MINUS = "−"
GAP = "\N{NARROW NO-BREAK SPACE}"
NO_BREAK = "\N{NO-BREAK SPACE}"
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_PLAIN = range(-4, 7)  # powers of ten that are written out; others have the scientific form


def as_decimal(value: float) -> Decimal:
    """Return the shortest decimal that reads back as the float: 0.95 means 0.95, not 0.9499999…."""
    return Decimal(repr(float(value)))


def rounded(value: Decimal, place: int, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """Return ``value`` rounded to a multiple of ``10**place``, exactly, however many digits that takes.

    ``rounding`` is one of the modes of the ``decimal`` module. For ``place <= 0`` the result has exactly
    ``-place`` decimals, trailing zeros included.

    Raises:
        ValueError: the value is not finite.
    """
    if not value.is_finite():
        raise ValueError(f"{value} cannot be rounded")
    # The default precision of 28 digits is less than a float may need.
    digits = 2 + max(value.adjusted() - place, len(value.as_tuple().digits))
    return value.quantize(Decimal((0, (1,), place)), rounding, Context(prec=digits))


class EstimateText(NamedTuple):
    """A measured value as text; ``power`` is the exponent of ten that all four texts leave out."""

    value: str
    error: str
    low: str
    high: str
    power: int

    @property
    def times(self) -> str:
        """The factor left out, such as ``×10⁹``, or nothing."""
        return times(self.power)

    @property
    def alone(self) -> str:
        """The value with its power of ten, which a zero needs not."""
        return "0" if self.power and not self.value.strip("0.") else self.value + self.times

    @property
    def with_error(self) -> str:
        """Such as ``64.02 ± 0.09``, in brackets before a power of ten; without error, the value alone."""
        if not self.error:
            return self.value + self.times
        text = f"{self.value}{NO_BREAK}±{NO_BREAK}{self.error}"
        return f"({text}){self.times}" if self.power else text

    @property
    def interval(self) -> str:
        """Such as ``[63.7, 64.4]``."""
        return f"[{self.low},{NO_BREAK}{self.high}]{self.times}"


def estimate(value: float, error: float, interval: tuple[float, float]) -> EstimateText:
    """Return a value with its standard error and interval, all to the digit that the error allows.

    The interval's ends are rounded outwards, so that the printed interval covers at least as often as that
    computed. A zero error means an exact value, printed to ten significant digits.

    Raises:
        ValueError: something is not finite.
    """
    power = _power_left_out(max(map(abs, (value, error, *interval))))
    parts = [as_decimal(each).scaleb(-power) for each in (value, error, *interval)]
    if error == 0:
        shown, _, low, high = (_significant(part, 10) for part in parts)
        return EstimateText(shown, "", low, high, power)
    place = last_place(float(parts[1]))
    modes = (ROUND_HALF_EVEN, ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)
    shown, spread, low, high = (at(part, place, mode) for part, mode in zip(parts, modes, strict=True))
    return EstimateText(shown, spread, low, high, power)


def last_place(error: float) -> int:
    """Return the power of ten of the last digit to print beside this standard error.

    The rule is the Particle Data Group's: two digits of the error up to 0.354, one digit from 0.355 to
    0.949, and beyond that the error rounds up to 1.0, of which both digits show.
    """
    first = _magnitude(as_decimal(error))
    # Below 1e-300 the power of ten would not be a normal number.
    leading = round(error / 10.0 ** (first - 2)) if first > -300 else 100
    return first - 1 if leading < 355 else first


def supported(value: float, error: float, digits: int = 10) -> str:
    """Return a measured value that stands alone, in at most ``digits`` significant digits.

    None of them is finer than its standard error: half a unit of the last digit is at least that. Beside
    its error a value has one or two digits more, see ``estimate``. Without an error it is exact, and zeros
    at its end are left out.
    """
    if error == 0:
        return _to_digits(value, digits)
    power = _power_left_out(max(abs(value), error))
    shown, spread = as_decimal(value).scaleb(-power), as_decimal(error).scaleb(-power)
    finest = (2 * spread).adjusted()
    finest += Decimal(1).scaleb(finest) < 2 * spread
    text = at(shown, max(finest, _magnitude(shown) - digits + 1))
    return text + times(power) if text.strip("0.") else text


def exact(value: float, digits: int = 6, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a value that has no uncertainty, to at most ``digits`` significant digits, no padding.

    ``rounding`` is a mode of the ``decimal`` module. By default, what falls short of 1 by more than
    floating-point error is not rounded to 1: all its nines show, and the digit after them.
    """
    text = _to_digits(value, digits, rounding)
    if text != "1" or 1 - value < 1e-12 or rounding != ROUND_HALF_EVEN:
        return text
    return at(as_decimal(value), _magnitude(1 - as_decimal(value)), ROUND_FLOOR)


def _to_digits(value: float, digits: int, rounding: str = ROUND_HALF_EVEN) -> str:
    power = _power_left_out(abs(value))
    return _significant(as_decimal(value).scaleb(-power), digits, rounding) + times(power)


def beside(value: float, error: float) -> str:
    """Return an exact value to one digit more than a measurement with this standard error carries."""
    if error == 0 or value == 0:
        return _to_digits(value, 6)
    wanted = _magnitude(as_decimal(value)) - last_place(error) + 2
    return _to_digits(value, min(max(wanted, 3), 10))


def level(value: float) -> str:
    """Return a confidence level; close to one as ``1 − 6.1×10⁻⁷``, else as a percentage."""
    miss = 1 - value
    if miss == 0:
        return "1"
    return f"1{NO_BREAK}{MINUS}{NO_BREAK}{small(miss)}" if miss < 1e-3 else percent(value)


def small(value: float) -> str:
    """Return a small number to two significant digits, such as ``6.1×10⁻⁷``."""
    shown = as_decimal(value)
    # Rounded first, as 9.96 becomes 10, which the next power of ten takes.
    shown = rounded(shown, min(_magnitude(shown) - 1, 0))
    power = 0 if _magnitude(shown) >= -3 else _magnitude(shown)
    return _significant(shown.scaleb(-power), 2) + times(power)


def percent(value: float) -> str:
    """Return a fraction as a percentage of at most four significant digits."""
    return _to_digits(value * 100, 4) + "%"


def tolerance(value: float) -> str:
    """Return a tolerance as a percentage: a third of 1%, whose digits do not end, as ``0.33%``."""
    # A tolerance of a few digits is printed with them, any other with two.
    digits = 4 if abs(float(f"{value:.4g}") - value) < 1e-9 * value else 2
    return _to_digits(value * 100, digits) + "%"


def apart(value: float, expected: float) -> str:
    """Return how far a value is from what was expected, ``off by 48%`` or ``6 times as large``.

    Nothing beside an expected 0, of which there is no share, or next to that.
    """
    if not expected or math.isinf(value / expected):
        return ""
    ratio = value / expected
    return f"{exact(ratio, 2)} times as large" if ratio >= 2 else f"off by {exact(100 * abs(ratio - 1), 2)}%"


def power(value: float) -> str:
    """Return a probability of detection, never rounded up to certainty."""
    if value > 0.9999:
        return f">{NO_BREAK}0.9999"
    return at(as_decimal(value), -4, ROUND_FLOOR).rstrip("0").rstrip(".")


def count(value: int) -> str:
    """Return a count, with thin spaces between groups of three from five digits on."""
    text = f"{abs(value):,}".replace(",", GAP) if abs(value) >= 10_000 else str(abs(value))
    return MINUS + text if value < 0 else text


def counted(value: int, what: str) -> str:
    """Return a count of things, such as "1 layer" or "2 layers"."""
    return f"{count(value)} {what}{'' if value == 1 else 's'}"


def seconds(value: float) -> str:
    """Return a duration: ``0.31 s``, ``12.4 s``, ``2 min 5 s``."""
    if value < 0.995:
        return f"{value:.2f}{GAP}s"
    if value < 59.95:
        return f"{value:.1f}{GAP}s"
    minutes, rest = divmod(round(value), 60)
    return f"{count(minutes)}{GAP}min {rest}{GAP}s"


def setting(value: float | str) -> str:
    """Return the value of a cell's setting: counts grouped, fractions short, words as they are."""
    if isinstance(value, str):
        return value
    return count(value) if isinstance(value, int) else exact(value)


def times(power: int) -> str:
    """Return a factor such as ``×10⁹``, or nothing for the power 0."""
    return "×10" + str(power).translate(_SUPERSCRIPTS) if power else ""


def at(value: Decimal, place: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a value rounded to a multiple of ``10**place`` by a mode of the ``decimal`` module."""
    text = f"{rounded(value, place, rounding):f}"
    whole, point, fraction = text.lstrip("-").partition(".")
    grouped = count(int(whole)) if len(whole) > 4 else whole
    # Zero has no sign.
    sign = MINUS if text.startswith("-") and text.strip("-0.") else ""
    return sign + grouped + point + fraction


def _magnitude(value: Decimal) -> int:
    return value.adjusted() if value else 0


def _power_left_out(size: float) -> int:
    place = _magnitude(as_decimal(size))
    return 0 if place in _PLAIN else place


def _significant(value: Decimal, digits: int, rounding: str = ROUND_HALF_EVEN) -> str:
    text = at(value, min(_magnitude(value) - digits + 1, 0), rounding)
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_figure(text: str) -> bool:
    """Return whether ``text`` is a decimal number as printed, such as ``"0.880"`` or ``"26.89%"``."""
    return re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?%?", text) is not None


def rounds_to(exact: float, printed: str, *, about: bool = False) -> bool:
    """Return whether ``exact`` rounds to the figure ``printed``, at the precision of its digits.

    A float stands for its shortest decimal, so 0.285 is a tie at two decimals; at a tie both rounding
    half up and half to even are right. A percent sign means hundredths; trailing zeros count. A figure that
    is said to be ``about`` may be off by less than one unit of its last digit: "roughly 22" is true of 22.6.
    """
    value, figure, place = _in_unit(exact, printed)
    if about:
        return abs(value - figure) < Decimal(1).scaleb(place)
    return figure in {rounded(value, place, ROUND_HALF_UP), rounded(value, place)}


def as_printed(exact: float, printed: str) -> str:
    """Return ``exact`` rounded and written as ``printed`` is: as many decimals, a percent sign or none.

    Where ``printed`` is right this is the same number; at a tie otherwise it is rounded half up.
    """
    value, figure, place = _in_unit(exact, printed)
    chosen = figure if rounds_to(exact, printed) else rounded(value, place, ROUND_HALF_UP)
    # Zero has no sign on paper.
    return f"{chosen if chosen else chosen.copy_abs():f}" + "%" * printed.endswith("%")


def _in_unit(exact: float, printed: str) -> tuple[Decimal, Decimal, int]:
    """Return ``exact`` in the unit of ``printed``, hundredths for a percentage, that figure and its place."""
    figure = Decimal(printed.removesuffix("%"))
    value = as_decimal(exact).scaleb(2 if printed.endswith("%") else 0)
    return value, figure, int(figure.as_tuple().exponent)
