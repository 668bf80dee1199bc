"""A quotation compared with its value: to the letter where it has a form, else number by number."""

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from verify.citing.forms import forms_of, spelled, written
from verify.citing.languages import MARKUPS, Markup
from verify.citing.lookup import lookup_in, shortened
from verify.citing.values import ExactNumber, Value
from verify.errors import CitationError
from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement
from verify.text import numbers
from verify.text.escapes import RAISED

_SPACES = re.compile(r"(?:\s|\\ |&nbsp;|&thinsp;|&#8239;)+")
_DASHES = re.compile("[‐‑‒–—−-]|&minus;|&ndash;")
_EMPHASIS = re.compile(r"</?(?:b|i|em|strong|code|span)>")
_MARKS = re.compile(r"(?<![\w)\]}*_`$])[*_`$]++(?=\S)|(?<=\S)(?<![*_`$])[*_`$]++(?![\w(\[{\\])")
_DIGITS = rf"(?:0|[1-9][0-9]{{0,2}}(?:{numbers.GAP}[0-9]{{3}})+|[1-9][0-9]*)(?:\.[0-9]+)?"
_END = r"[0-9)\]]"
# Between two numbers a hyphen makes a range; else one before a number is its sign, as an en dash is.
_PLAIN = re.compile(
    rf"(?<![\w.,])(?<!\d['’])"
    rf"(?:(?P<sign>(?:(?<![-–—−])|(?<={_END}[-–]))(?:(?<!{_END})(?<!{_END}[ ])[-–]|−)[ ]?)"
    rf"|(?<![-–—−])|(?<={_END}[-–])|(?<={_END}[ ][-–]))"
    rf"(?P<digits>{_DIGITS})(?!\w)(?![.,'’]\d)"
)
_SIGNS = frozenset(".,:;!?()[]\"'“”‘’<>=≈≤≥±~…-–—−")
"""What may stand in an author's text besides letters, spaces and numbers in plain decimal notation."""

# A tag that is not emphasis, as of a power, and a bullet, which may be a sign.
_MARKUP = re.compile(r"<[A-Za-z/!]|^[ \t]*-[ \t]+(?=[0-9])", re.MULTILINE)
_MOST_DIGITS = 40
_LONGEST = 1000


def same(text: str, other: str) -> bool:
    """Return whether two texts are the same but for the kinds of their spaces, minus signs and dashes."""
    return _normal(text) == _normal(other)


def _normal(text: str) -> str:
    # A blank line ends a paragraph, and so a number.
    spaced = _SPACES.sub(lambda run: "\n" if run[0].count("\n") > 1 else " ", text)
    return _DASHES.sub("-", spaced).strip()


_WORDS = {str(word).replace("-", " ") for kind in (Verdict, Proof, Outcome, Judgement) for word in kind}
_POWER = re.compile(
    rf"(?:×|\\times)\s*10\s*(?:[{RAISED}]+|(?:\^|<sup>|#super\[)\{{?[-−]?\d+(?:\}}|\^|</sup>|\])?)"
)
_GROUPED = re.compile(
    rf"(?:[-−]\s?)?(?:\d{{1,3}}(?:(?:[ ~{numbers.GAP}]|\\,)\d{{3}})+|\d+)(?:\.\d+)?(?:e-?\d+)?"
)
_AROUND = re.compile(r"\\ensuremath|\\mbox|\\%|%|&[lg]t;|[<>{}]|\\ |~|\s")


def _shape(text: str) -> str:
    """Return what is left of numbers in whichever markup: ``#`` for each, with ±, brackets and dashes."""
    shape = _GROUPED.sub("#", _POWER.sub("", text.replace(r"\pm", "±")))
    shape = _AROUND.sub("", re.sub(r"\\mbox\{(?:to|--)\}|\bto\b|[–−-]", "–", shape))
    return re.sub(r"\((#[±–]#)\)", r"\1", shape)


def replaceable(known: Mapping[str, Value], key: str, form: str, text: str, markup: Markup) -> bool:
    """Return whether all of a text is what a form writes of some results, be it of others; or is nothing.

    Of words only those of verdicts, digests, versions and counts can be told from an author's.
    """
    parts: list[tuple[str, bool]] = []
    if len(text) > _LONGEST:
        return False

    def mark(part: str, is_number: bool) -> str:
        parts.append((markup.written(part, is_number), is_number))
        return "\0"

    pattern = "(.+?)".join(map(re.escape, _normal(written(known, key, form, mark)).split("\0")))
    match = re.fullmatch(pattern, _normal(text), re.DOTALL)
    return not text.strip() or (
        match is not None
        and all(
            _is_alike(old, new, is_number)
            for old, (new, is_number) in zip(match.groups(), parts, strict=True)
        )
    )


def _is_alike(old: str, new: str, is_number: bool) -> bool:
    if is_number:
        numerals = {spelled(count) for count in range(1000)} if new.isascii() and new[:1].isalpha() else ()
        return _shape(old) == _shape(new) or (bool(numerals) and old in numerals)
    same_kind = any(
        re.fullmatch(kind, old) and re.fullmatch(kind, new)
        for kind in (r"[0-9a-f]{12,64}", r"\d+(?:\.\w+)+", r"\d{4}-\d\d-\d\d", "quick|standard|deep")
    )
    return same_kind or _normal(old) == _normal(new) or {old, new} <= _WORDS


class Number(NamedTuple):
    """A number in plain decimal notation: its value, the power of ten of its last digit, where it stands."""

    value: Decimal
    place: int
    start: int
    end: int


def numbers_in(text: str) -> list[Number]:
    """Return the numbers in plain decimal notation, in their order; between two, a hyphen makes a range."""
    found = []
    for match in _PLAIN.finditer(text):
        digits = Decimal(match["digits"].replace(numbers.GAP, ""))
        value = -digits if match["sign"] else digits
        found.append(Number(value, int(digits.as_tuple().exponent), match.start(), match.end()))
    return found


def is_of(number: Number, figure: ExactNumber) -> bool:
    """Return whether a number is a figure rounded to what is printed; of one that is not 0, 0 is none.

    The end of an interval is rounded outwards, and anything else to the nearest.
    """
    if number.place < -_MOST_DIGITS:
        return False
    if figure.rounding == "nearest":
        is_right = abs(number.value - figure.exact) <= Decimal(1).scaleb(number.place) / 2
    else:
        mode = "ROUND_FLOOR" if figure.rounding == "down" else "ROUND_CEILING"
        is_right = number.value == numbers.rounded(figure.exact, number.place, mode)
    return is_right and (bool(number.value) or not figure.exact or not figure.printed)


def parts_of(known: Mapping[str, Value], key: str) -> dict[str, ExactNumber]:
    """Return the figures that an author's own text may say of a value, by the names of parts."""
    value = known[key]
    if not value.figures or value.figures[0].rounding == "fixed":
        return {}
    if len(value.figures) == 1:
        return {key.partition(":")[2] or "text": value.figures[0]}
    if len(value.figures) == 2:
        return dict(zip(("low", "high"), value.figures, strict=True))
    others = {part: known.get(f"{key}:{part}") for part in ("halfwidth", "error")}
    named = dict(zip(("estimate", "low", "high"), value.figures, strict=True))
    return named | {part: other.figures[0] for part, other in others.items() if other}


def fault_of(known: Mapping[str, Value], key: str, text: str) -> str:
    """Return what an author's own text says that is not so of a value, nothing where it is right.

    Of a value with figures each number must be in plain decimal notation and one of the value's parts, behind
    ± its standard error; of one in words, or with a figure of one form alone, the text must be the value's,
    in whatever case.
    """
    value, parts = known[key], parts_of(known, key)
    shown = _MARKS.sub("", _EMPHASIS.sub("", text))
    if not parts:
        return _fault_of_words(value, text, shown)
    markup = _MARKUP.search(shown)
    if markup:
        return f"has {markup[0].strip()!r}, and not only words and numbers in plain decimal notation"
    plain = re.sub(r"&nbsp;|&thinsp;", " ", shown).replace(r"\pm", "±")
    plain = re.sub(rf"(?!{numbers.GAP})\s+", " ", plain).replace("&minus;", numbers.MINUS)
    plain = re.sub(r"(?<=\d)[ ]?\\?%", " ", plain) if value.unit == "%" else plain
    found = numbers_in(plain)
    rest = list(plain)
    for number in found:
        rest[number.start : number.end] = " " * (number.end - number.start)
    if not found:
        return "has no number in plain decimal notation"
    others = {sign for sign in rest if not sign.isspace() and unicodedata.category(sign)[0] != "L"} - _SIGNS
    if others:
        signs = " ".join(sorted(others))
        return f"has {signs!r}, and not only words and numbers in plain decimal notation"
    return _fault_of_numbers(known, key, plain, found, parts)


def _fault_of_numbers(
    known: Mapping[str, Value],
    key: str,
    plain: str,
    found: Sequence[Number],
    parts: Mapping[str, ExactNumber],
) -> str:
    for number, following in itertools.pairwise(found):
        if not plain[number.end : following.start].strip(" ~"):
            pair = shortened(plain[number.start : following.end])
            return f"has {pair}, which reads as one number; put a word or a comma between the two"
    for number in found:
        shown = shortened(plain[number.start : number.end])
        if plain[: number.start].rstrip(" ~").endswith("±"):
            error = known.get(f"{key.partition(':')[0]}:error")
            if error is None or not is_of(number, error.figures[0]):
                what = f"which is {error.text} here" if error else "of which there is none here"
                return f"has ± {shown}, and ± stands for the standard error alone, {what}"
        elif not any(is_of(number, figure) for figure in parts.values()):
            return f"has {shown}, which is none of {', '.join(parts)}"
    return ""


def _fault_of_words(value: Value, text: str, shown: str) -> str:
    bare = _normal(shown).casefold()
    start = bare.rstrip("….")
    is_prefix = value.unit == "digest" and len(start) >= 12 and value.text.startswith(start)
    is_same = _normal(value.text).casefold() in {bare, _normal(text).casefold()}
    return "" if is_prefix or is_same else f"is not '{shortened(value.text)}'"


def fault_of_text(known: Mapping[str, Value], key: str, text: str, markup: Markup = MARKUPS["plain"]) -> str:
    """Return what is not so of the text of a role: with a form of the tool's, else of its author's."""
    whole, bar, form = (part.strip() for part in key.partition("|"))
    if not bar:
        return fault_of(known, lookup_in(known, whole).key, text)
    return "" if same(text, written(known, whole, form, markup.written)) else "is not what its form writes"


_NOTATIONS = (("%", ".1%"), ("×", ".2e"), ("bits", "bits"))


def fitting(known: Mapping[str, Value], key: str, text: str, markup: Markup) -> list[tuple[str, str]]:
    """Return forms that may be meant by an author's text that is not right, each with what it writes."""
    wanted = [form for sign, form in _NOTATIONS if sign in text]
    if "±" in text or r"\pm" in text:
        wanted = ["pm", "interval95", "interval"]
    for owner in dict.fromkeys((key, key.partition(":")[0])):
        suits = forms_of(known, known[owner]) if owner in known else ()
        keys = [f"{owner}|{form}" for form in wanted if form.translate(_DIGIT) in suits]
        with contextlib.suppress(CitationError):
            if keys:
                return [(option, shortened(_written(known, option, markup))) for option in keys]
    return [(f"{key}|default", shortened(_written(known, f"{key}|default", markup)))]


_DIGIT = str.maketrans("12", "NN")


def _written(known: Mapping[str, Value], key: str, markup: Markup) -> str:
    whole, _, form = key.partition("|")
    return written(known, whole, form, markup.written)
