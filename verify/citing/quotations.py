"""Finds what a document quotes, between markers, in roles and as output of doctests, and compares it.

Where a quotation has a form it is compared to the letter, else number by number. Documents are of any origin
and size, so everything here takes time in proportion to a document's length.
"""

import contextlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from verify.citing.languages import OUTPUT, PLAIN, Comment, Language, Passage, blank, blanked, passages
from verify.citing.values import ExactNumber, Value, shortened, written
from verify.errors import CitationError
from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement
from verify.text import numbers
from verify.text.escapes import RAISED

_TITLED = re.compile(r"(?P<text>.+?)\s*<(?P<key>[^<>]+)>", re.DOTALL)
_END = "/verify"
# From a comment in any language; words of prose are no switch.
_SWITCHED_OFF = re.compile(r"(?s)(?:<!--|/\*|//|[%#]|\.\.)[ \t]*verify:\s*off\s.*?(?:verify:\s*on(?=\s)|\Z)")
# Only a sentence, which is the last part of a form, holds spaces. In tables its bar has a backslash.
_START = re.compile(r"verify\s*:\s*(?P<key>[^\s|]+?(?:\s*\\?\|.*)?)", re.DOTALL)
_MEANT = re.compile(r"-*\s*/?\s*verify\s*(?:$|:)", re.IGNORECASE)
_DOCTEST = re.compile(
    r"^(?P<indent>[ \t]*)(?:>>>|\.\.\.)[ ][^\n]*#[ ]*verify:[ ]*(?P<key>[^\n]*\S)[ \t]*\n"
    r"(?P<output>(?:(?P=indent)(?!>>>|\.\.\.[ ]|```|~~~)[^\s\"'][^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A key in a document and what it quotes, from ``start`` to ``end``; None where it is looked up again.

    ``key_end`` is where the key ends, ``language`` that of what is quoted, ``is_code`` whether that is a
    program's, which is compared and never written, ``is_output`` whether it is what a doctest prints.
    """

    key: str
    line: int
    start: int
    end: int
    quoted: str | None
    key_end: int = 0
    language: Language = PLAIN
    is_code: bool = False
    is_output: bool = False


class _Marker(NamedTuple):
    """A comment such as ``<!-- verify: KEY -->``, or ``<!-- /verify -->``, which has no key."""

    start: int
    end: int
    key: str
    closing: str


def quotes_in(path: Path, text: str, known: Collection[str] = ()) -> list[Quote]:
    """Return what a document quotes, in its order; of what looks like code, the quotations of ``known`` keys.

    Raises:
        CitationError: a marker is misspelt, not closed, nested, or closes nothing, or a notebook is none.
    """
    lines, quotes = [0, *(end.end() for end in re.finditer("\n", text))], []
    for passage in passages(path, text):
        for begin, inside in _quotes(passage, known):
            line = bisect_right(lines, passage.place(begin, begin)[0])
            start, end = passage.place(inside.start, inside.end)
            _, key_end = passage.place(inside.key_end - 1, inside.key_end)
            placed = replace(inside, line=line, start=start, end=end, key_end=key_end)
            quotes.append(replace(placed, is_code=passage.is_code))
    return sorted(quotes, key=attrgetter("start"))


def outside(path: Path, text: str) -> Iterator[tuple[Passage, str]]:
    """Yield each passage of a document, with its prose, of which quotations and comments are blanked out."""
    for passage in passages(path, text):
        prose = passage.language.code(_switched_on(passage))
        signs, spans = list(prose), [(quote.start, quote.end) for _, quote in _quotes(passage)]
        spans += [(start, end) for start, end, _, _ in _comments(prose, passage.language)]
        for start, end in spans:
            signs[start:end] = blank("".join(signs[start:end]))
        yield passage, "".join(signs)


def split_role(inside: str) -> tuple[str | None, str]:
    """Return text and key of a role: of ``text <KEY>`` both, of any other None and the key."""
    parts = _TITLED.fullmatch(inside.strip())
    text, key = (parts["text"], parts["key"]) if parts else (None, inside)
    return text, key.strip().replace("\\|", "|")


def _switched_on(passage: Passage) -> str:
    """Return a text without what stands from ``verify: off`` to ``verify: on`` or to the end."""
    signs = list(passage.text)
    # What code shows is no switch.
    for match in _SWITCHED_OFF.finditer(passage.language.code(passage.text)):
        signs[match.start() : match.end()] = blank(passage.text[match.start() : match.end()])
    return "".join(signs)


def _quotes(passage: Passage, known: Collection[str] = ()) -> Iterator[tuple[int, Quote]]:
    """Yield the quotations of a passage, each after the place of its marker, without lines."""
    language, text = passage.language, _switched_on(passage)
    for match in _DOCTEST.finditer(text):
        printed, start = match["output"].strip(), match.start("output")
        start += len(match["output"]) - len(match["output"].lstrip()) if printed else 0
        span = (start, start + len(printed), printed, match.end("key"))
        yield match.start(), Quote(match["key"].replace("\\|", "|"), 0, *span, OUTPUT, is_output=True)
    # The comment of a doctest would be taken for a marker without an end.
    text = blanked(_DOCTEST, text)
    prose = language.code(text)
    for match in language.role.finditer(prose) if language.role else ():
        (start, end), (quoted, key) = match.span("inside"), split_role(match["inside"])
        stop = end if quoted is None else start + len(quoted)
        yield match.start(), Quote(key, 0, start, stop, quoted, end, language)
    yield from _marked(prose, text, passage, known).items()


def _marked(prose: str, text: str, passage: Passage, known: Collection[str]) -> dict[int, Quote]:
    """Return what stands between markers, by where these start; in code, of known keys alone."""
    markers, language = list(_markers(prose, text, passage)), passage.language
    # What is code cannot always be known, but a quotation of a value can.
    pairs = {
        opening.start: _between(opening, closing.start, text, language)
        for opening, closing in pairwise(markers)
        if opening.key.partition("|")[0].rstrip("\\ ") in known and not closing.key
        if not prose[opening.end : closing.start].strip()
    }
    opened: _Marker | None = None
    for marker in markers:
        if not prose[marker.start : marker.end].strip():
            continue
        if opened and marker.key:
            what = f"a marker inside that of {opened.key}; close it with {opened.closing} first"
            raise passage.error(marker.start, what)
        if opened:
            pairs[opened.start] = _between(opened, marker.start, text, language)
        elif not marker.key:
            what = f"{marker.closing} closes nothing; remove it, or correct the marker before it"
            raise passage.error(marker.start, what)
        opened = marker if marker.key else None
    if opened:
        what = f"the marker of {opened.key} is not closed; end what it quotes with {opened.closing}"
        raise passage.error(opened.start, what)
    return pairs


def _markers(prose: str, text: str, passage: Passage) -> Iterator[_Marker]:
    """Yield the markers of a text; one in its prose that is misspelt is an error."""
    for start, end, content, (opening, closing) in _comments(text, passage.language):
        inside = text[content].strip()
        match, problem = _START.fullmatch(inside), ""
        end_marker = f"{opening} {_END} {closing}".rstrip()
        if not closing and text[text.rfind("\n", 0, start) + 1 : start].strip():
            problem = "a marker at the end of a line; put it on its own line"
        elif not match and inside != _END:
            right = f"{opening} verify: KEY {closing}".rstrip()
            problem = f"misspelt marker {inside!r}; write {right} or {end_marker}"
        if problem and _MEANT.match(inside) and prose[start:end].strip():
            raise passage.error(start, problem)
        if not problem and not (match and match["key"] in {"off", "on"}):
            yield _Marker(start, end, match["key"].strip() if match else "", end_marker)


def _comments(prose: str, language: Language) -> list[tuple[int, int, slice, Comment]]:
    """Return where comments and their content start and end, in their order; of several openings, the last.

    Comments that are lines of their own are taken with their line's end.
    """
    comments: dict[int, tuple[int, int, slice, Comment]] = {}
    for style in language.comments:
        opening, closing = map(re.escape, style)
        if closing:
            # The last sign of a closing may seem to open the next one, as in */*.
            pattern = rf"{opening}(?P<content>(?s:(?!{opening}).)*?){closing}"
        else:
            # A sign within a line starts a comment only before what may be meant as a marker.
            alone = rf"^[ \t]*{opening}(?P<content>[^\n]*)(?:\n|\Z)"
            pattern = rf"{alone}|(?<=[ \t]){opening}(?P<ending>[ \t]*/?verify\b[^\n]*)$"
        for match in re.finditer(
            pattern, prose, re.MULTILINE | re.IGNORECASE | (re.DOTALL if closing else 0)
        ):
            content = slice(*match.span(match.lastgroup or 0))
            start = content.start - len(style[0])
            # Of two openings of which one is the end of the other, the longer comes first in a language.
            if start not in comments and start - 1 not in comments:
                comments[start] = (start, match.end(), content, style)
    return [comment for _, comment in sorted(comments.items())]


def _between(opened: _Marker, stop: int, text: str, language: Language) -> Quote:
    # Line ends and spaces at the markers are the document's.
    inside = text[opened.end : stop]
    start = opened.end + (len(inside) - len(inside.lstrip()) if inside.strip() else len(inside) // 2)
    end = start + len(inside.strip())
    key_end = text.rindex(opened.key, opened.start, opened.end) + len(opened.key)
    return Quote(opened.key.replace("\\|", "|"), 0, start, end, text[start:end], key_end, language)


# How what stands in a document is compared with the value.
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
_ENDING = r"[0-9)\]]"
# Between two numbers a hyphen makes a range; else one before a number is its sign, as an en dash is.
_PLAIN = re.compile(
    rf"(?<![\w.,])(?<!\d['’])"
    rf"(?:(?P<sign>(?:(?<![-–—−])|(?<={_ENDING}[-–]))(?:(?<!{_ENDING})(?<!{_ENDING}[ ])[-–]|−)[ ]?)"
    rf"|(?<![-–—−])|(?<={_ENDING}[-–])|(?<={_ENDING}[ ][-–]))"
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
        is_digest = value.key.endswith(":digest")
        is_prefix = is_digest and len(start) >= 12 and value.text.startswith(start)
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
