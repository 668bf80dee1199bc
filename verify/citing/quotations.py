"""A quotation compared with its value: to the letter where it has a form, else number by number."""

import contextlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from verify.citing.lookup import shortened, written
from verify.citing.markers import Quote
from verify.citing.values import ExactNumber, Value
from verify.errors import CitationError
from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement
from verify.text import numbers
from verify.text.escapes import RAISED

_SPACES = re.compile(r"(?:\s|\\ |&nbsp;|&thinsp;|&#8239;)+")
_DASHES = re.compile("[‐‑‒–—−-]|&minus;|&ndash;")
_LONGEST = 1000


def normal(text: str) -> str:
    """Return a text with one kind of spaces, minus signs and dashes, by which quotations are compared."""
    # A blank line ends a paragraph, and so a number.
    spaced = _SPACES.sub(lambda run: "\n" if run[0].count("\n") > 1 else " ", text)
    return _DASHES.sub("-", spaced).strip()


_POWER = re.compile(
    rf"(?:×|\\times)\s*10\s*(?:[{RAISED}]+|(?:\^|<sup>|#super\[)\{{?[-−]?\d+(?:\}}|\^|</sup>|\])?)"
)
_GROUPED = re.compile(
    rf"(?:[-−]\s?)?(?:\d{{1,3}}(?:(?:[ ~{numbers.GAP}]|\\,)\d{{3}})+|\d+)(?:\.\d+)?(?:e-?\d+)?"
)
_AROUND = re.compile(r"\\ensuremath|\\%|%|&[lg]t;|[<>{}]|\\ |~|\s")


_WORDS = "|".join(
    ["[0-9a-f]{12,64}", "quick", "standard", "deep"]
    + [re.escape(word.replace("-", " ")) for kind in (Verdict, Proof, Outcome, Judgement) for word in kind]
)
"""Texts that are no numbers and yet can be told from an author's: digests, profiles, verdicts."""


def replaceable(text: str, new: str) -> bool:
    """Return whether a text is what a form that writes ``new`` may have written of other results."""
    # Texts of a form differ in their numbers and verdicts alone.
    shapes = set()
    for written_text in (text[: _LONGEST + 1], new):
        # What is left of numbers and verdicts in whichever markup: a sign for each, ± and brackets.
        words = re.sub(rf"\b(?:{_WORDS})\b", "@", written_text.replace(r"\pm", "±"))
        shape = _AROUND.sub("", _GROUPED.sub("#", _POWER.sub("", words)))
        shapes.add(re.sub(r"\((#±#)\)", r"\1", shape))
    return not text.strip() or (len(text) <= _LONGEST and len(shapes) == 1)


_DIGITS = rf"(?:0|[1-9][0-9]{{0,2}}(?:{numbers.GAP}[0-9]{{3}})+|[1-9][0-9]*)(?:\.[0-9]+)?"
_END = r"[0-9)\]]"
# Between two numbers a hyphen makes a range; else one before a number is its sign, as an en dash is.
_PLAIN = re.compile(
    rf"(?<![\w.,])(?<!\d['’])"
    rf"(?:(?P<sign>(?:(?<![-–—−])|(?<={_END}[-–]))(?:(?<!{_END})(?<!{_END}[ ])[-–]|−)[ ]?)"
    rf"|(?<![-–—−])|(?<={_END}[-–])|(?<={_END}[ ][-–]))"
    rf"(?P<digits>{_DIGITS})(?!\w)(?![.,'’]\d)"
)
_MOST_DIGITS = 40


class Number(NamedTuple):
    """A number in plain decimal notation: its value, the power of ten of its last digit, where it stands."""

    value: Decimal
    place: int
    start: int
    end: int

    def is_of(self, figure: ExactNumber) -> bool:
        """Return whether this is a figure rounded to what is printed; of one that is not 0, 0 is none.

        The end of an interval is rounded outwards, and anything else to the nearest.
        """
        if self.place < -_MOST_DIGITS:
            return False
        if figure.rounding == "nearest":
            is_right = abs(self.value - figure.exact) <= Decimal(1).scaleb(self.place) / 2
        else:
            mode = "ROUND_FLOOR" if figure.rounding == "down" else "ROUND_CEILING"
            is_right = self.value == numbers.rounded(figure.exact, self.place, mode)
        return is_right and (bool(self.value) or not figure.exact or not figure.printed)


def numbers_in(text: str) -> list[Number]:
    """Return the numbers in plain decimal notation, in their order; between two, a hyphen makes a range."""
    listed = []
    for match in _PLAIN.finditer(text):
        digits = Decimal(match["digits"].replace(numbers.GAP, ""))
        place = int(digits.as_tuple().exponent)
        listed.append(Number(-digits if match["sign"] else digits, place, match.start(), match.end()))
    return listed


_EMPHASIS = re.compile(r"</?(?:b|i|em|strong|code|span)>")
_MARKS = re.compile(r"(?<![\w)\]}*_`$])[*_`$]++(?=\S)|(?<=\S)(?<![*_`$])[*_`$]++(?![\w(\[{\\])")
_SIGNS = frozenset(".,:;!?()[]\"'“”‘’=≈≤≥±~…-–—−")
"""What may stand in an author's text besides letters, spaces and numbers in plain decimal notation."""


def fault_of(known: Mapping[str, Value], key: str, text: str) -> str:
    """Return what an author's own text says that is not so of a value, nothing where it is right.

    Of a value with figures each number must be in plain decimal notation and one of the value's parts, behind
    ± its standard error; of one in words, or with a figure of one form alone, the text must be the value's,
    in whatever case.
    """
    value, shown = known[key], _MARKS.sub("", _EMPHASIS.sub("", text))
    figures = value.figures
    if not figures or figures[0].rounding == "fixed":
        bare = normal(shown).casefold()
        start = bare.rstrip("….")
        is_prefix = value.is_digest and len(start) >= 12 and value.text.startswith(start)
        is_same = normal(value.text).casefold() in {bare, normal(text).casefold()}
        return "" if is_prefix or is_same else f"is not '{shortened(value.text)}'"
    plain = re.sub(r"&nbsp;|&thinsp;", " ", shown).replace(r"\pm", "±")
    plain = re.sub(rf"(?!{numbers.GAP})\s+", " ", plain).replace("&minus;", numbers.MINUS)
    plain = re.sub(r"(?<=\d)[ ]?\\?%", " ", plain) if value.text.endswith("%") else plain
    # Beside its numbers a text may have letters and a few signs; any other may make other numbers of them.
    listed, rest = numbers_in(plain), list(plain)
    for number in listed:
        rest[number.start : number.end] = " " * (number.end - number.start)
    letters = {sign for sign in rest if sign.isspace() or unicodedata.category(sign)[0] == "L"}
    others = " ".join(sorted({*rest} - letters - _SIGNS))
    if not listed or others:
        what = f"{others!r}, and not only words and numbers" if listed else "no number"
        return f"has {what} in plain decimal notation"
    whole, _, part = key.partition(":")
    error = known.get(f"{whole}:error")
    # A single figure goes by the name of its part; three are an estimate and the ends of its interval.
    names = {1: [part or "text"], 2: ["low", "high"], 3: ["estimate", "low", "high"]}[len(figures)]
    parts = dict(zip(names, figures, strict=True))
    if error and len(figures) == 3:
        parts["error"] = error.figures[0]
    # Rounding may be coarser than that of the report, but a number behind ± is the standard error alone.
    for number in listed:
        printed = shortened(plain[number.start : number.end])
        if plain[: number.start].rstrip(" ~").endswith("±"):
            if error is None or not number.is_of(error.figures[0]):
                what = f"which is {error.text} here" if error else "of which there is none here"
                return f"has ± {printed}, and ± stands for the standard error alone, {what}"
        elif not any(map(number.is_of, parts.values())):
            return f"has {printed}, which is none of {', '.join(parts)}"
    return ""


@dataclass
class Fault:
    """What is wrong with a quotation, and the ``new`` text for it, None where only its author can say.

    ``is_fixed`` says whether that has been written.
    """

    quote: Quote
    kind: str
    what: str
    new: str | None = None
    is_fixed: bool = False


def faults_of(known: Mapping[str, Value], quote: Quote) -> Iterator[Fault]:
    """Yield what is wrong with a quotation: its key, the value itself, or the text that stands there."""
    key, bar, form = (part.strip() for part in quote.key.partition("|"))
    try:
        value = known[quote.key]
    except CitationError as error:
        yield Fault(quote, "unsuitable-form" if key in known else "unknown-key", str(error))
        return
    if value.doubt:
        yield Fault(quote, "no-longer-confirmed", f"{value.doubt}; rewrite what rests on it")
    if quote.quoted is not None and bar:
        text, new = quote.quoted, written(known, key, form, quote.language.written)
        if normal(text) == normal(new):
            return
        advice = ""
        if not text and quote.is_output:
            advice = "; put what it prints below it"
        elif quote.is_code and not quote.is_output:
            advice = "; code is compared and never written: correct it by hand"
        elif not replaceable(text, new):
            advice = "; not written: more stands there; put the markers around that text alone"
        before = f"printed '{shortened(text)}'" if text else "is empty"
        yield Fault(quote, "stale", f"{before}, now '{shortened(new)}'{advice}", None if advice else new)
    elif quote.quoted is not None and (fault := fault_of(known, value.key, quote.quoted)):
        # Forms to paste; not every value has each of these parts.
        whole, forms, fit = key.partition(":")[0], [(key, "default")], []
        if f"{whole}:error" in known and ("±" in quote.quoted or r"\pm" in quote.quoted):
            forms = [(whole, form) for form in ("pm", "interval95", "interval")]
        for owner, form in forms:
            with contextlib.suppress(CitationError):
                now = written(known, owner, form, quote.language.written)
                fit.append(f"{owner}|{form} for '{shortened(now)}'")
        what = f"'{shortened(quote.quoted)}' {fault}; to have it written: {' or '.join(fit)}"
        yield Fault(quote, "unsupported-text", what)
