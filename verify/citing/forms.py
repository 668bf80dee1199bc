"""What ``KEY|form`` writes: digits and notation as Python's format specifications, layouts, sentences.

A form is options with commas between them, and at the end maybe a sentence in quotation marks::

    .3f | .2e | .1% | .3g           as Python formats a number; f, e and % alone keep the digits
    .12                             of a digest, its first digits
    pm | interval | interval95 | range | low | high | words    layout
    bits                            of a value in nats
    ratio-to=KEY                    the value divided by another
    default                         the value's own text
    "{low:.1f} to {high:.1f}"       parts by their names, each with its own options or those before
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cache

from verify.citing.values import ExactNumber, Value
from verify.errors import CitationError
from verify.text import numbers
from verify.text.escapes import LOWERED, RAISED

_GROUPS = {
    "default": "default",
    "bits": "bits",
    "layout": "pm|interval|interval95|range|low|high|words",
    "ratio": r"ratio-to=\S+",
    "spec": r"(?!\.00?g)\.[0-9]{1,2}[fe%g]?|[fe%]",
}
_FORM = re.compile(r'(?P<options>[^"]*?)(?:(?:^|,)\s*"(?P<sentence>[^"\n]*)")?\s*', re.DOTALL)
_NAME = r"\{[a-z][a-z0-9-]*(?::[^{}]*)?\}"
_PART = re.compile(r"\{(?P<name>[a-z][a-z0-9-]*)(?::(?P<form>[^{}]*))?\}")
# All else beside a part would make another number of it: digits, signs, points, powers, units, other parts.
_BESIDE = re.compile(
    r"(?:^|[\s(\[{\"'“‘~>—±<=≈≤≥:]|(?<=\})–)" + _NAME + r"(?=$|[\s)\]}!?:;\"'”’–—<…-]|[.,](?!\d))"
)
_OPERATED = re.compile(
    r"(?:[×·∙⋅^/÷√−]\s*|(?:^|[^\s\d)\]}])\s*[-‐–﹣]\s*|\d[\s’']*)"
    + _NAME
    + r"|\}[\s$]*(?:[×·∙⋅^/÷%‰٪％﹪⁰¹²³⁴-⁹⁻\u0300-\u036f]|\\(?:%|times|cdot)|&(?:times|middot|sdot|#))"
    r"|\}[\s$]*(?:<su[bp]\b|\*\s?\d)"
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
_ALL = (
    "default, .Nf, .Ne, .N%, .Ng, pm, interval, interval95, range, low, high, words, bits, ratio-to=KEY, "
    '"a sentence with {low:.Nf}"'
)

Options = dict[str, str]
"""What a form asks for: ``spec``, ``layout``, ``bits``, ``ratio`` and ``default``, by these names."""


def written(
    known: Mapping[str, Value], key: str, form: str, marked: Callable[[str, bool], str] = lambda text, _: text
) -> str:
    """Return what a quotation of ``key`` in this form says.

    ``marked`` puts a value's text into a language's own markup, given whether the text is of numbers; the
    words of a sentence stay as they are.

    Raises:
        CitationError: there is no such form or part, or it does not suit the value.
    """
    options, sentence = parsed(form)
    value, whole = known[key], key.partition(":")[0]
    if sentence is None:
        return marked(_text(known, value, options), bool(value.figures))

    def part(match: re.Match[str]) -> str:
        of = value if match["name"] == "text" else known.get(f"{whole}:{match['name']}")
        if of is None:
            names = sorted(name.removeprefix(f"{whole}:") for name in known if name.startswith(f"{whole}:"))
            raise CitationError(f"{key} has no part {match['name']!r}; choose text, {', '.join(names)}")
        chosen = _options(match["form"]) if match["form"] else options if forms_of(known, of) else {}
        return marked(_text(known, of, chosen), bool(of.figures))

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
    options, sentence, shown = _options(match["options"]), match["sentence"], form[:60]
    stands_alone = "default" in options or options.get("layout") == "words"
    if stands_alone and (len(options) > 1 or sentence is not None):
        raise CitationError(f"form {shown!r}: default and words stand alone; leave out the rest")
    if not options and sentence is None:
        raise CitationError(f"an empty form; choose {_ALL}")
    if sentence is not None and {"layout", "ratio"} & options.keys():
        raise CitationError(f"form {shown!r}: in a sentence, name parts such as {{low}} in their places")
    bare = _DECORATION.sub("", sentence or "")
    if len(_BESIDE.findall(bare)) < len(_PART.findall(bare)) or _OPERATED.search(sentence or ""):
        raise CitationError(
            f"form {shown!r}: what touches a part makes another number of it; put a word there"
        )
    return options, sentence


def _options(text: str) -> Options:
    options: Options = {}
    for option in filter(None, map(str.strip, text.split(","))):
        group = next((name for name, pattern in _GROUPS.items() if re.fullmatch(pattern, option)), "")
        if not group:
            raise CitationError(f"no form {option[:40]!r}; choose {_ALL}")
        if group in options:
            raise CitationError(f"forms {options[group]} and {option} exclude each other; give one of them")
        options[group] = option.removeprefix("ratio-to=")
    return options


def forms_of(known: Mapping[str, Value], value: Value) -> tuple[str, ...]:
    """Return the forms that suit a value, besides its own text and sentences."""
    if value.unit == "digest":
        return (".N",)
    if not value.figures or value.figures[0].rounding == "fixed":
        return ()
    if value.unit == "%":
        return (".Nf", ".Ng")
    forms = [".Nf", ".Ng", ".Ne", *([".N%"] * (value.unit != "count"))]
    if len(value.figures) > 1:
        forms += ["low", "high", "interval", "range"]
    if f"{value.key}:interval95" in known:
        forms += ["interval95"]
    if _error_of(known, value):
        forms += ["pm"]
    forms += ["bits"] * (value.unit == "nats")
    forms += ["ratio-to=KEY"] * (len(value.figures) != 2)
    return (*forms, *(["words"] * (value.unit == "count" and 0 <= value.figures[0].exact < _LONGEST_WORDS)))


def _error_of(known: Mapping[str, Value], value: Value) -> Value | None:
    """Return the standard error of an estimate, None of anything else."""
    whole, _, part = value.key.partition(":")
    return known.get(f"{whole}:error") if part in {"", "estimate"} else None


def _text(known: Mapping[str, Value], value: Value, options: Options) -> str:
    if not options or "default" in options:
        return value.text
    suits = forms_of(known, value)
    names = {form.partition("=")[0] for form in suits} | ({".N%"} if "ratio" in options else set())
    for group, option in options.items():
        kind = option.lstrip(".0123456789") if group == "spec" else ""
        if {"spec": f".N{kind}", "ratio": "ratio-to"}.get(group, option) not in names:
            choice = ", ".join(("default", *suits, '"a sentence with {text}"'))
            shown = f"ratio-to={option}" if group == "ratio" else option
            raise CitationError(f"{_said(value)}, which {shown} does not suit; choose {choice}")
    if value.unit == "digest":
        digits = int(options["spec"].removeprefix("."))
        if not _LEAST_DIGEST <= digits <= len(value.text):
            raise CitationError(f"{value.key}: {digits} digits of a digest; give 12 to {len(value.text)}")
        return value.text[:digits]
    if "ratio" in options:
        return _ratio(known, value, options)
    if options.get("layout") == "words":
        return spelled(int(value.figures[0].exact))
    return _numeric(known, value, options)


def _numeric(known: Mapping[str, Value], value: Value, options: Options) -> str:
    """Return a value's figures in the digits, notation and layout asked for."""
    layout, kind = options.get("layout", ""), options.get("spec", "g")[-1]
    figures = _figures(known, value, layout)
    measured = figures[:1] if layout == "pm" else figures
    finest = min(int(figure.printed.as_tuple().exponent) for figure in measured)
    is_exact = all(figure.exact == figure.printed for figure in figures) and "bits" not in options
    if "bits" in options:
        figures = tuple(replace(figure, exact=figure.exact / _NATS_PER_BIT) for figure in figures)
    largest = max((figure.exact for figure in figures), key=abs)
    power = {"%": -2, "f": 0, "e": largest.adjusted() if largest else 0}.get(kind, own_power(value.text))
    place = _place(options, figures[0].exact, power, finest)
    if kind == "e" and largest:
        # 9.96 may round to 10.
        rounded = max(
            (numbers.rounded(figure.exact, place, _MODES[figure.rounding]) for figure in figures), key=abs
        )
        power = max(power, rounded.adjusted())
        place = _place(options, figures[0].exact, power, finest)
    if place < finest and not is_exact:
        raise CitationError(f"{_said(value)} and has no more digits that mean something; ask for fewer")
    for figure in figures if layout == "pm" else figures[:1]:
        is_lost = figure.exact and not numbers.rounded(figure.exact, place, _MODES[figure.rounding])
        if is_lost and figure.rounding != "down" and (figure.printed or place > finest):
            raise CitationError(f"{_said(value)}, of which this leaves 0; ask for more digits")
    texts = [
        numbers.at(figure.exact.scaleb(-power), place - power, _MODES[figure.rounding]) for figure in figures
    ]
    unit = "%" if kind == "%" or value.unit == "%" else numbers.times(power)
    return _laid_out(texts, layout, unit)


def _figures(known: Mapping[str, Value], value: Value, layout: str) -> tuple[ExactNumber, ...]:
    """Return the figures that a layout shows."""
    if layout == "interval95":
        return known[f"{value.key}:interval95"].figures
    error = _error_of(known, value)
    if layout == "pm" and error:
        return (value.figures[0], error.figures[0])
    ends = {"low": value.figures[-2:-1], "high": value.figures[-1:]}
    return ends.get(layout, value.figures[-2:] if layout in {"interval", "range"} else value.figures)


def _laid_out(texts: list[str], layout: str, unit: str) -> str:
    gap = numbers.NO_BREAK
    if layout in {"pm", "range"}:
        is_negative = any(text.startswith(numbers.MINUS) for text in texts)
        joined = (f"{gap}±{gap}" if layout == "pm" else " to " if is_negative else "–").join(texts)
        return f"({joined}){unit}" if unit else joined
    if len(texts) > 1:
        texts = [*texts[:-2], f"[{texts[-2]},{gap}{texts[-1]}]"]
    return " ".join(f"{text}{unit}" for text in texts)


def _place(options: Options, first: Decimal, power: int, finest: int) -> int:
    """Return the power of ten of the last digit."""
    specification = options.get("spec", "")
    if not specification.startswith("."):
        return finest
    digits = int(specification.strip(".fe%g"))
    return first.adjusted() - digits + 1 if specification.endswith("g") else power - digits


def _ratio(known: Mapping[str, Value], value: Value, options: Options) -> str:
    key = options["ratio"]
    other = known.get(key)
    if other is None or "ratio-to=KEY" not in forms_of(known, other) or other.unit != value.unit:
        raise CitationError(f"{value.key}: ratio-to={key} needs the key of a number of the same kind")
    if {"layout", "bits"} & options.keys():
        raise CitationError(f"{value.key}: a ratio takes .Nf, .Ne, .N% or .Ng alone")
    above, below = value.figures[0], other.figures[0]
    if not below.exact:
        raise CitationError(f"{value.key}: ratio-to={key} divides by 0; choose another key")
    exact = above.exact / below.exact
    # No more digits than the one with fewer has; counts have any number.
    measured = [figure for figure in (above, below) if figure.exact != figure.printed]
    supported = min((len(figure.printed.as_tuple().digits) for figure in measured), default=_MOST_DIGITS)
    rest = {group: option for group, option in options.items() if group != "ratio"}
    power = -2 if rest.get("spec", "").endswith("%") else 0
    place = _place(rest, exact, power, exact.adjusted() - min(_RATIO_DIGITS, supported) + 1)
    printed = numbers.rounded(exact, place)
    what = f"{value.key}|ratio-to={key}"
    if place < exact.adjusted() - supported + 1:
        raise CitationError(f"{what} has {supported} digits that mean something; ask for no more")
    if (printed == 1 != exact) or (exact and not printed):
        raise CitationError(
            f"{what} is not {printed.normalize():f}, to which this rounds it; ask for more digits"
        )
    if not measured and not rest.get("spec", "").startswith("."):
        printed = printed.normalize()
    return _numeric(known, Value(what, "", (ExactNumber(printed, printed=printed),), ""), rest)


def own_power(text: str) -> int:
    """Return the power of ten that a value's own text leaves to a factor."""
    match = re.search(f"×10([{RAISED}]+)", text)
    return int(match[1].translate(LOWERED)) if match else 0


def _said(value: Value) -> str:
    return f"{value.key} is {' '.join(value.text.split())}"


_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


@cache
def spelled(count: int) -> str:
    """Return a count below 1000 in words, such as ``forty-seven`` or ``three hundred and twelve``."""
    if count < 20:
        return _ONES[count]
    if count < 100:
        ten, rest = divmod(count, 10)
        return _TENS[ten - 2] + (f"-{_ONES[rest]}" if rest else "")
    hundreds, rest = divmod(count, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {spelled(rest)}" if rest else "")
