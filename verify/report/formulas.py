"""Formulas from LaTeX, as MathML for the page and as operators for a PDF, both of which MathJax makes.

MathJax runs in a process of its own (`v8`).
"""

import atexit
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from verify.errors import RenderError
from verify.report.cache import DrawingCache
from verify.report.mathml import drawn_by_browsers
from verify.text.latex import in_lines

MATHJAX = "django-static-mathjax"
"""The package that carries MathJax; nothing of Django is used."""

_UNITS = 1000  # of MathJax's drawings in an em
_HREF = "{http://www.w3.org/1999/xlink}href"
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")


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
    try:
        process.stdin.write(json.dumps([latex, displayed]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        pass
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
    return glyphs | {key: Formula(drawn_by_browsers(spelled, displayed=key[0] == "d"), operators, *box)}


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
        yield from _inside(node, *corner, wider, higher)
        yield "Q"
    elif kind == "g":
        yield from _inside(node, x, y, across, down)
    elif kind != "defs":
        raise _NotDrawnError(f"<{kind}>, say for a character that the mathematical font lacks")


def _inside(node: ET.Element, *place: float) -> Iterator[str]:
    for child in node:
        yield from _operators(child, *place)


def _name(identifier: str) -> str:
    # "MJX-12-TEX-I-1D451": the number counts renderings, the rest names the glyph.
    return identifier.split("-", 2)[2]
