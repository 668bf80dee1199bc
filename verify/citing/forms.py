"""What ``KEY|form`` writes: digits, notation, layout, unit, ratio, and sentences with the value's parts.

A form is options with commas between them, and at the end maybe a sentence in quotation marks::

    digits=3 | decimals=2           precision: significant digits, or digits after the point
    percent | scientific | plain    notation
    pm | low | high | interval | range | words    layout
    unit=bits                       of a value in nats
    ratio-to=KEY                    the value divided by another
    default                         the value's own text
    "{low} to {high}"               parts by their names, each in the options before it
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from verify.citing.values import ExactNumber, Value
from verify.errors import CitationError
from verify.text import numbers
from verify.text.escapes import LOWERED, RAISED

_GROUPS = {
    "digits": "precision",
    "decimals": "precision",
    "percent": "notation",
    "scientific": "notation",
    "plain": "notation",
    "pm": "layout",
    "low": "layout",
    "high": "layout",
    "interval": "layout",
    "range": "layout",
    "words": "layout",
    "unit": "unit",
    "ratio-to": "ratio",
    "default": "default",
}
_OPTION = re.compile(r"(?P<name>[a-z-]+)(?:=(?P<argument>[^\s,=]+))?")
_FORM = re.compile(r'(?P<options>[^"]*?)(?:(?:^|,)\s*"(?P<sentence>[^"\n]*)")?\s*', re.DOTALL)
_PART = re.compile(r"\{([a-z][a-z-]*)\}")
# All else beside a part would make another number of it: digits, signs, points, powers, units, other parts.
_BESIDE = re.compile(
    r"(?:^|[\s(\[{\"'“‘~>—±<=≈≤≥:]|(?<=\})–)\{[a-z][a-z-]*\}(?=$|[\s)\]}!?:;\"'”’–—<…-]|[.,](?!\d))"
)
_OPERATED = re.compile(
    r"(?:[×·∙⋅^/÷√−]\s*|(?:^|[^\s\d)\]}])\s*[-‐–﹣]\s*|\d[\s’']*)\{[a-z][a-z-]*\}"
    r"|\}[\s$]*(?:[×·∙⋅^/÷%‰٪％﹪⁰¹²³⁴-⁹⁻\u0300-\u036f]|\\(?:%|times|cdot)|&(?:times|middot|sdot|#)|<su[bp]\b|\*\s?\d)"
    r"|\}[\s$’'…]*[{\d]|\}<(?:!|[A-Za-z]+\s)"
)
_DECORATION = re.compile(r"[*_`$]+|</?[a-z]+>")
_MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_NATS_PER_BIT = Decimal(2).ln()
_RATIO_DIGITS = 3
_MOST_DIGITS = 20
_LEAST_DIGEST = 12
_LONGEST = 400
_LONGEST_WORDS = 1000

Options = dict[str, tuple[str, str]]
"""A name and an argument for each group that a form has."""


def plain_text(text: str, _is_number: bool) -> str:
    """Return a value's text as the report prints it, in Unicode."""
    return text


def written(
    known: Mapping[str, Value], key: str, form: str, marked: Callable[[str, bool], str] = plain_text
) -> str:
    """Return what a quotation of ``key`` in this form says.

    ``marked`` puts a value's text into a language's own markup, given whether the text is of numbers; the
    words of a sentence stay as they are.

    Raises:
        CitationError: there is no such form or part, or it does not suit the value.
    """
    options, sentence = parsed(form)
    value = known[key]
    if sentence is None:
        return marked(_text(known, value, options), bool(value.figures))

    def part(match: re.Match[str]) -> str:
        of = value if match[1] == "text" else known.get(f"{key.partition(':')[0]}:{match[1]}")
        if of is None:
            head = f"{key.partition(':')[0]}:"
            names = sorted(one.removeprefix(head) for one in known if one.startswith(head))
            raise CitationError(f"{key} has no part {match[1]!r}; choose text, {', '.join(names)}")
        text = _text(known, of, options) if _forms_of(of) else of.text
        return marked(text, bool(of.figures))

    return _PART.sub(part, sentence)


def formatted(known: Mapping[str, Value], key: str, form: str) -> Value:
    """Return the value of ``key`` with the text that a form gives it.

    Raises:
        CitationError: as `written`.
    """
    return replace(known[key], key=f"{key}|{form}", text=written(known, key, form))


def parsed(form: str) -> tuple[Options, str | None]:
    """Return the options of a form and its sentence, None without one.

    Raises:
        CitationError: an option is unknown, lacks its argument, or excludes another.
    """
    match = _FORM.fullmatch(form.strip()) if len(form) <= _LONGEST else None
    if match is None:
        raise CitationError(
            f"form {form[:60]!r}: put the sentence last, in quotation marks and on one line of at "
            "most 400 characters"
        )
    options: Options = {}
    for one in filter(None, map(str.strip, match["options"].split(","))):
        option = _OPTION.fullmatch(one)
        name, argument = (option["name"], option["argument"] or "") if option else ("", "")
        if name not in _GROUPS or not _is_argument(name, argument):
            raise CitationError(f"no form {one[:40]!r}; choose {', '.join(_ALL)}")
        group = _GROUPS[name]
        if group in options:
            raise CitationError(f"forms {options[group][0]} and {name} exclude each other; give one of them")
        options[group] = (name, argument)
    _require_together(form[:60], options, match["sentence"])
    return options, match["sentence"]


def _require_together(form: str, options: Options, sentence: str | None) -> None:
    is_whole = "default" in options or _layout(options) == "words"
    if is_whole and (len(options) > 1 or sentence is not None):
        raise CitationError(f"form {form!r}: default and words stand alone; leave out the rest")
    if not options and sentence is None:
        raise CitationError(f"an empty form; choose {', '.join(_ALL)}")
    if sentence is not None and {"layout", "ratio"} & options.keys():
        raise CitationError(f"form {form!r}: in a sentence, name parts such as {{low}} in their places")
    bare = _DECORATION.sub("", sentence or "")
    if len(_BESIDE.findall(bare)) < len(_PART.findall(bare)) or _OPERATED.search(sentence or ""):
        raise CitationError(
            f"form {form!r}: what touches a part makes another number of it; put a word there"
        )


def _is_argument(name: str, argument: str) -> bool:
    if name in {"digits", "decimals"}:
        return re.fullmatch("[0-9]{1,2}", argument) is not None and argument.strip("0") + name != "digits"
    if name == "unit":
        return argument == "bits"
    return bool(argument) == (name == "ratio-to")


def _layout(options: Options) -> str:
    return options.get("layout", ("", ""))[0]


_NUMBER = ("digits=N", "decimals=N")
_INTERVAL = ("low", "high", "interval", "range")
_ALL = (
    "default",
    *_NUMBER,
    "percent",
    "scientific",
    "plain",
    "pm",
    *_INTERVAL,
    "words",
    "unit=bits",
    "ratio-to=KEY",
    '"sentence with {low}"',
)


def _forms_of(value: Value) -> tuple[str, ...]:
    """Return the forms that suit a value, besides its own text and sentences."""
    if value.unit == "digest":
        return ("digits=N",)
    if not value.figures or value.figures[0].rounding == "fixed":
        return ()
    if value.unit == "%":
        return _NUMBER
    forms = [*_NUMBER, "scientific", "plain"] + ["percent"] * (value.unit != "count")
    if len(value.figures) > 1:
        forms += [*_INTERVAL, *(["pm"] * (len(value.figures) == 3))]
    forms += ["unit=bits"] * (value.unit == "nats")
    if len(value.figures) != 2:
        forms += ["ratio-to=KEY"]
    exact = value.figures[0].exact
    is_count = value.unit == "count" and 0 <= exact < _LONGEST_WORDS
    return (*forms, *(["words"] * is_count))


def _text(known: Mapping[str, Value], value: Value, options: Options) -> str:
    if not options or "default" in options:
        return value.text
    allowed = {one.partition("=")[0] for one in _forms_of(value)}
    if "ratio" in options:
        allowed |= {"percent"}
    for option in options.values():
        if option[0] not in allowed:
            name = "=".join(filter(None, option))
            suits = ", ".join(("default", *_forms_of(value), '"a sentence with {text}"'))
            raise CitationError(f"{_said(value)}, which {name} does not suit; choose {suits}")
    if value.unit == "digest":
        return _shortened(value, int(options["precision"][1]))
    if "ratio" in options:
        return _ratio(known, value, options)
    if _layout(options) == "words":
        return spelled(int(value.figures[0].exact))
    return _numeric(value, options)


def _shortened(value: Value, digits: int) -> str:
    if not _LEAST_DIGEST <= digits <= len(value.text):
        raise CitationError(f"{value.key}: {digits} digits of a digest; give 12 to {len(value.text)}")
    return value.text[:digits]


def _numeric(value: Value, options: Options) -> str:
    layout, notation = _layout(options), options.get("notation", ("", ""))[0]
    figures = {"low": value.figures[-2:-1], "high": value.figures[-1:]}.get(layout, value.figures)
    if layout in {"interval", "range"}:
        figures = figures[-2:]
    finest = min(int(figure.printed.as_tuple().exponent) for figure in figures)
    is_exact = all(figure.exact == figure.printed for figure in figures)
    if "unit" in options:
        figures = tuple(replace(one, exact=one.exact / _NATS_PER_BIT) for one in figures)
        is_exact = False
    largest = max((figure.exact for figure in figures), key=abs)
    power = {"percent": -2, "plain": 0, "scientific": largest.adjusted() if largest else 0}.get(
        notation, own_power(value.text)
    )
    place = _place(options, figures[0].exact, power, finest)
    if notation == "scientific" and largest:
        # 9.96 may round to 10.
        rounded = max((numbers.rounded(one.exact, place, _MODES[one.rounding]) for one in figures), key=abs)
        power = max(power, rounded.adjusted())
        place = _place(options, figures[0].exact, power, finest)
    if place < finest and not is_exact:
        raise CitationError(f"{_said(value)} and has no more digits that mean something; ask for fewer")
    first = figures[0]
    is_lost = first.exact and not numbers.rounded(first.exact, place, _MODES[first.rounding])
    if is_lost and first.rounding != "down" and (first.printed or place > finest):
        raise CitationError(f"{_said(value)}, of which this leaves 0; ask for more digits")
    unit = "%" if notation == "percent" or value.unit == "%" else numbers.times(power)
    return _laid_out(figures, layout, place, power, unit)


def _place(options: Options, first: Decimal, power: int, finest: int) -> int:
    """Return the power of ten of the last digit."""
    name, argument = options.get("precision", ("", ""))
    if name == "decimals":
        return power - int(argument)
    return first.adjusted() - int(argument) + 1 if name == "digits" else finest


def _laid_out(figures: tuple[ExactNumber, ...], layout: str, place: int, power: int, unit: str) -> str:
    def shown(number: Decimal, rounding: str) -> str:
        return numbers.at(number.scaleb(-power), place - power, _MODES[rounding])

    gap = numbers.NO_BREAK
    if layout == "pm":
        # The farther end is reached from the centre as it is printed.
        centre = numbers.rounded(figures[0].exact, place)
        half = max(figures[2].exact - centre, centre - figures[1].exact)
        text = f"{shown(centre, 'nearest')}{gap}±{gap}{shown(half, 'up')}"
        return f"({text}){unit}" if unit else text
    texts = [shown(figure.exact, figure.rounding) for figure in figures]
    if layout == "range":
        is_negative = any(text.startswith(numbers.MINUS) for text in texts)
        text = (" to " if is_negative else "–").join(texts)
        return f"({text}){unit}" if unit else text
    if len(figures) > 1:
        texts[-2:] = [f"[{texts[-2]},{gap}{texts[-1]}]"]
    return " ".join(f"{text}{unit}" for text in texts)


def _ratio(known: Mapping[str, Value], value: Value, options: Options) -> str:
    key = options["ratio"][1]
    other = known.get(key)
    if other is None or "ratio-to=KEY" not in _forms_of(other) or other.unit != value.unit:
        raise CitationError(f"{value.key}: ratio-to={key} needs the key of a number of the same kind")
    if {"layout", "unit"} & options.keys():
        raise CitationError(f"{value.key}: a ratio takes digits=N, decimals=N and a notation alone")
    above, below = value.figures[0], other.figures[0]
    if not below.exact:
        raise CitationError(f"{value.key}: ratio-to={key} divides by 0; choose another key")
    exact = above.exact / below.exact
    # No more digits than the one with fewer has; counts have any number.
    measured = [one for one in (above, below) if one.exact != one.printed]
    supported = min((len(one.printed.as_tuple().digits) for one in measured), default=_MOST_DIGITS)
    rest = {group: one for group, one in options.items() if group != "ratio"}
    power = -2 if rest.get("notation", ("",))[0] == "percent" else 0
    place = _place(rest, exact, power, exact.adjusted() - min(_RATIO_DIGITS, supported) + 1)
    printed = numbers.rounded(exact, place)
    what = f"{value.key}|ratio-to={key}"
    if place < exact.adjusted() - supported + 1:
        raise CitationError(f"{what} has {supported} digits that mean something; ask for no more")
    if (printed == 1 != exact) or (exact and not printed):
        raise CitationError(
            f"{what} is not {printed.normalize():f}, to which this rounds it; ask for more digits"
        )
    if not measured and "precision" not in rest:
        printed = printed.normalize()
    return _numeric(Value(what, "", (ExactNumber(printed, printed=printed),), ""), rest)


def own_power(text: str) -> int:
    """Return the power of ten that a value's own text leaves to a factor."""
    match = re.search(f"×10([{RAISED}]+)", text)
    return int(match[1].translate(LOWERED)) if match else 0


def _said(value: Value) -> str:
    return f"{value.key} is {' '.join(value.text.split())}"


_ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spelled(count: int) -> str:
    """Return a count below 1000 in words, such as ``forty-seven`` or ``three hundred and twelve``."""
    if count < 20:
        return _ONES[count]
    if count < 100:
        ten, one = divmod(count, 10)
        return _TENS[ten - 2] + (f"-{_ONES[one]}" if one else "")
    hundreds, rest = divmod(count, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {spelled(rest)}" if rest else "")
