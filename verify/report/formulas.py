"""Formulas from LaTeX, as MathML for the page and as operators for a PDF, both of which MathJax makes.

MathJax runs in a process of its own (`v8`). Its MathML is put in the terms that browsers draw, MathML Core
(https://www.w3.org/TR/mathml-core/), which has no classes of TeX, from which spaces follow, and no alphabets
but Unicode's.
"""

import atexit
import contextlib
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from verify.errors import RenderError
from verify.report.drawings import DrawingCache
from verify.text.latex import in_lines

MATHJAX = "django-static-mathjax"
"""The package that carries MathJax; nothing of Django is used."""

_UNITS = 1000  # of MathJax's drawings in an em
_HREF = "{http://www.w3.org/1999/xlink}href"
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")

# Of MathML.
_TOKENS = frozenset(["mi", "mn", "mo", "mtext", "mspace"])
_LETTERS = _TOKENS | {"mrow", "msub"}
_GROUPS = frozenset(["mrow", "mstyle"])
_ROWS = _GROUPS | {"math", "msqrt", "mtd", "mpadded", "mphantom"}
_SCRIPTED = frozenset(["msub", "msup", "msubsup", "munder", "mover", "munderover"])
_TALL = frozenset(["mfrac", "mroot", "munderover", "munder", "mtable"])
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_ATTRIBUTES = re.compile(
    "displaystyle|scriptlevel|stretchy|symmetric|largeop|movablelimits|minsize|maxsize|lspace|rspace|form|width|"
    "height|depth|voffset|linethickness|accent|accentunder|columnalign|columnspacing|rowspacing"
)
_SIGNS = frozenset("+\N{MINUS SIGN}±∓")
_CLOSING = frozenset(")]}!|‖∥′″‴")
_JOINING = _SIGNS | frozenset("=<>≤≥≠≈∼→⇒⇔∈∣,;:⋅×∧∨∩∪⊂")
_BARS = frozenset("|‖∥∣")
_LARGE = frozenset("∑∏∫∬∮⋃⋂")
_ACCENTS = {"^": "ˆ", "~": "˜", "¯": "¯", "˙": "˙", "¨": "¨", "→": "→"}
_CLOSE = {"lspace": "0", "rspace": "0"}
_THIN = "0.167em"
_STYLE = re.compile(r"(?:MATHEMATICAL )?(.*?) ?(?:CAPITAL|SMALL|DIGIT|NABLA|PARTIAL)\b")


class Formula(NamedTuple):
    """A formula that was set; its lengths are in em of its own font.

    ``operators`` draw it in a PDF, in thousandths of an em, with names of glyphs in place of their codes;
    ``left`` is where the drawing begins, and ``depth`` how far it reaches below its line.
    """

    mathml: str
    operators: str
    left: float
    width: float
    height: float
    depth: float


class Formulas:
    """Sets each formula once; ``cache`` has what was set for earlier reports, and pages save it."""

    def __init__(self) -> None:
        self.cache = DrawingCache("formulas", "mini-racer", MATHJAX)

    def inline(self, latex: str) -> Formula:
        """Return a formula for running text.

        Raises:
            RenderError: the LaTeX is wrong or needs what the report does not draw.
        """
        return self._set(latex, displayed=False)

    def display(self, latex: str, limit: float = float("inf")) -> Formula:
        """Return a displayed formula, broken into lines where it is wider than ``limit`` em.

        Raises:
            RenderError: the LaTeX is wrong or needs what the report does not draw.
        """
        formula = self._set(latex, displayed=True)
        if formula.width <= limit:
            return formula
        lines = in_lines(latex, lambda part: self._set(part, displayed=True).width, limit)
        # What cannot be broken may be longer with strokes for its fractions.
        return min(formula, self._set(lines, displayed=True), key=lambda set_: set_.width)

    def outline(self, glyph: str) -> str:
        """Return the path of a glyph that a formula is drawn with."""
        path: str = self.cache[f"glyph {glyph}"]
        return path

    def _set(self, latex: str, *, displayed: bool) -> Formula:
        key = f"{'display' if displayed else 'inline'} {latex}"
        if key not in self.cache:
            self.cache |= _read(latex, key, *_typeset(latex, displayed=displayed))
        return Formula(*self.cache[key])


@cache
def _mathjax() -> subprocess.Popen[str]:
    """Return the process of MathJax, which ends with the present process, as its input does."""
    folder = distribution(MATHJAX).locate_file("mathjax/static/mathjax/es5")
    program = [sys.executable, "-P", str(Path(__file__).with_name("v8.py")), str(folder)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - our own program
        program, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8", start_new_session=True
    )
    atexit.register(process.communicate)
    return process


# A copy of this process would read the answers to the other's questions.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mathjax.cache_clear)


def _typeset(latex: str, *, displayed: bool) -> tuple[str | None, str]:
    """Return what MathJax makes of a formula: SVG and MathML, or None and why it gives up.

    Raises:
        RenderError: MathJax's process has ended.
    """
    process = _mathjax()
    assert process.stdin is not None  # noqa: S101 - they are pipes
    assert process.stdout is not None  # noqa: S101
    answer = ""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps([latex, displayed]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    if not answer:
        _mathjax.cache_clear()
        atexit.unregister(process.communicate)
        process.communicate()
        raise RenderError(
            f"formulas cannot be set, as the process for that ended with status {process.returncode}; "
            "its JavaScript engine takes gigabytes of address space: raise `ulimit -v`, then render again"
        )
    drawn, spelled = json.loads(answer)
    return drawn, spelled


def _read(latex: str, key: str, drawn: str | None, spelled: str) -> dict[str, object]:
    """Return a formula that MathJax has set under its key, and its glyphs under theirs."""

    def refusal(why: str) -> RenderError:
        return RenderError(
            f"the LaTeX ${latex}$ cannot be typeset: {' '.join(why.split())}; fix it in the claim"
        )

    if drawn is None:
        raise refusal(spelled)
    # Of "Misplaced &" MathJax makes no XML.
    if wrong := re.search(r'data-mjx-error="([^"]*)"', drawn):
        raise refusal(unescape(wrong[1]))
    root = ET.fromstring(drawn)  # noqa: S314 - our own renderer's output
    if "viewBox" not in root.attrib:
        raise refusal("numbered equations are not supported")
    try:
        operators = "\n".join(part for node in root for part in _operators(node))
    except _NotDrawnError as error:
        raise refusal(f"it needs {error}, which the report does not draw") from error
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    box = (length / _UNITS for length in (left, width, height, top + height))
    glyphs = {
        f"glyph {_name(path.attrib['id'])}": path.attrib["d"] for path in root.iter() if "id" in path.attrib
    }
    math = _settled(ET.fromstring(spelled.replace(_NAMESPACE, "")))  # noqa: S314 - MathJax's output
    if key.startswith("display"):
        math.set("displaystyle", "true")
    mathml = ET.tostring(math, encoding="unicode").replace(" />", "/>")
    return glyphs | {key: Formula(mathml, operators, *box)}


class _NotDrawnError(Exception):
    """What a formula needs that is neither a glyph nor a bar."""


def _operators(
    node: ET.Element, x: float = 0, y: float = 0, across: float = 1, down: float = 1
) -> Iterator[str]:
    """Yield a node of MathJax's SVG as operators, its coordinates moved to (x, y) and scaled."""
    # A transformation moves the origin, or changes the scale.
    for change, arguments in _TRANSFORM.findall(node.get("transform", "")):
        first, *rest = map(float, re.split(r"[\s,]+", arguments.strip()))
        if change == "translate":
            x, y = x + across * first, y + down * sum(rest)
        else:
            across, down = across * first, down * (rest or [first])[0]
    kind = node.tag.rpartition("}")[2]
    if {node.get(name, "currentColor") for name in ("fill", "stroke")} != {"currentColor"}:
        raise _NotDrawnError("a frame")
    if kind == "use":
        yield f"BT {across:.6g} 0 0 {down:.6g} {x:.6g} {y:.6g} Tm <{_name(node.attrib[_HREF][1:])}> Tj ET"
    elif kind in {"rect", "svg"}:
        left, top, width, height = (float(node.get(name, 0)) for name in ("x", "y", "width", "height"))
        place = f"{x + across * left:.6g} {y + down * top:.6g} {across * width:.6g} {down * height:.6g} re"
        if kind == "rect":
            yield f"{place} f"
            return
        # A tall bracket has a piece of a glyph, seen through a window.
        inner_left, inner_top, inner_width, inner_height = map(float, node.attrib["viewBox"].split())
        wider, higher = across * width / inner_width, down * height / inner_height
        corner = x + across * left - wider * inner_left, y + down * top - higher * inner_top
        yield f"q {place} W n"
        for child in node:
            yield from _operators(child, *corner, wider, higher)
        yield "Q"
    elif kind == "g":
        for child in node:
            yield from _operators(child, x, y, across, down)
    elif kind != "defs":
        raise _NotDrawnError(f"<{kind}>, say for a character that the mathematical font lacks")


def _name(identifier: str) -> str:
    # "MJX-12-TEX-I-1D451": the number counts renderings, the rest names the glyph.
    return identifier.split("-", 2)[2]


def characters_in(page: str) -> str:
    """Return the characters that the formulas of a page are drawn with, sorted."""
    used = set("√")  # which stands in no text
    for formula in re.findall(r"<math\b.*?</math>", page, re.DOTALL):
        used.update(unescape(re.sub(r"<[^>]*>", "", formula)))
        # A browser draws a variable of one letter in italics.
        letters = re.findall(r"<mi>([^<]|&\w+;)</mi>", formula)
        used.update(_letter("italic", unescape(letter)) for letter in letters)
    return "".join(sorted(used))


def _settled(node: ET.Element, *, is_script: bool = False) -> ET.Element:
    """Return a node as browsers need it."""
    scripts = node[1:] if node.tag in _SCRIPTED else []
    children = [_settled(child, is_script=is_script or child in scripts) for child in node]
    role = node.get("data-mjx-texclass", "")
    attributes = {name: value for name, value in node.attrib.items() if _ATTRIBUTES.fullmatch(name)}
    # A group of one node says nothing but its class, from which the space around a sign follows.
    if node.tag in _GROUPS and len(children) == 1 and (not attributes or children[0].tag == "mspace"):
        if role == "ORD" and children[0].tag == "mo":
            children[0].attrib |= _CLOSE
        return children[0]
    made = ET.Element(node.tag, attributes)
    if node.tag in _TOKENS:
        made.text, variant = (node.text or "").strip(), node.get("mathvariant", "")
        # An alphabet's letters are Unicode's; an upright token of a single letter says so.
        if variant == "normal" and len(made.text) == 1 and _letter("italic", made.text) != made.text:
            made.set("mathvariant", variant)
        elif variant not in {"", "normal"}:
            made.text = "".join(_letter(variant, letter) for letter in made.text)
        if node.tag == "mo":
            _set_spaces(made, "ORD" if is_script and made.text in _JOINING else role)
        return made
    for child in _spaced(children) if node.tag in _ROWS else children:
        # Brackets that do not grow, with what they hold, need no row of their own.
        ends = [*child[:1], *child[-1:]] if child.tag == "mrow" and not child.attrib else []
        is_low = ends and all(end.text in {*"()[]"} and end.get("stretchy") == "false" for end in ends)
        made.extend(child if is_low and node.tag in _ROWS else [child])
    _set_heights(made, role)
    return made


def _set_heights(node: ET.Element, role: str) -> None:
    """Say what need not grow, for which browsers would leave room, and what is an accent."""
    inside = [part for child in node for part in child.iter()]
    # What needs brackets or a root higher than a letter.
    is_tall = any(part.tag in _TALL or (part.text or "") in _LARGE for part in inside)
    if node.tag == "msqrt" and not is_tall and _LETTERS.issuperset(part.tag for part in inside):
        node.set("class", "low")
    elif node.tag == "mover" and "accent" not in node[1].attrib and node[1].text in _ACCENTS:
        node.set("accent", "true")
        node[1].text = _ACCENTS[node[1].text]
    elif role == "INNER" and not is_tall:
        for bracket in (*node[:1], *node[-1:]):
            if bracket.tag == "mo":
                bracket.set("stretchy", "false")


def _set_spaces(operator: ET.Element, role: str) -> None:
    """Put the spaces that follow from a class of TeX in MathML's terms, where its own would be others."""
    text = operator.text or ""
    if text in _BARS and role in {"OPEN", "CLOSE"}:
        operator.set("form", "prefix" if role == "OPEN" else "postfix")
    elif role == "ORD" or text in {"…", "⋯"}:
        operator.attrib |= _CLOSE
    elif text.isalpha():
        operator.attrib |= {"lspace": "0", "rspace": _THIN}


def _spaced(row: list[ET.Element]) -> Iterator[ET.Element]:
    """Yield a row in which signs that join nothing stand close, and names of functions apart."""
    for before, node, after in zip([None, *row], row, [*row[1:], None], strict=False):
        text = node.text or ""
        follows = before is not None and (before.tag != "mo" or before.text in _CLOSING)
        core = node[0] if node.tag in _SCRIPTED else node
        if node.tag == "mo" and text in _SIGNS and not follows:
            node.set("form", "prefix")
        elif core.text in _LARGE and not follows:
            core.set("lspace", "0")
        elif text == "\N{FUNCTION APPLICATION}" and after is not None:
            first = next(iter(after), after) if after.tag == "mrow" else after
            if first.text not in {"(", "[", "{"}:
                node.attrib |= {"lspace": "0", "rspace": _THIN}
        elif node.tag == "mi" and len(text) > 1 and text.isalpha() and follows:
            yield ET.Element("mspace", {"width": _THIN})
        yield node


@cache
def _letters() -> dict[tuple[frozenset[str], str], str]:
    """Return Unicode's mathematical letters by the words of their alphabet and the plain letter."""
    letters = {}
    for code in (*range(0x2102, 0x2135), *range(0x1D400, 0x1D800)):
        style = _STYLE.match(unicodedata.name(chr(code), ""))
        if style and style[1]:
            words = style[1].replace("BLACK-LETTER", "FRAKTUR").replace("-", " ").lower().split()
            letters[frozenset(words), unicodedata.normalize("NFKC", chr(code))] = chr(code)
    letters[frozenset(["italic"]), "h"] = "\N{PLANCK CONSTANT}"
    return letters


def _letter(variant: str, letter: str) -> str:
    return _letters().get((frozenset(variant.replace("-", " ").split()), letter), letter)
