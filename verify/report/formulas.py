"""Formulas from LaTeX as SVG and MathML, which MathJax makes in a process of its own; or as plain text."""

import atexit
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from html import unescape
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

from verify.errors import FormulaError, RenderError
from verify.report.mathml import drawn_by_browsers
from verify.text.latex import in_lines, spoken

MATHJAX = "django-static-mathjax"
"""The package that carries MathJax; nothing of Django is used."""

_UNITS = 1000.0  # MathJax draws in thousandths of an em
_LETTER, _LINE = 0.5, 1.2  # em of a letter and a line of plain text, about
_HREF = "{http://www.w3.org/1999/xlink}href"
_SHAPES = frozenset(["svg", "g", "use", "path", "rect", "line", "polyline", "polygon", "ellipse"])
_PLACES = frozenset(["x", "y", "width", "height", "x1", "y1", "x2", "y2", "cx", "cy", "rx", "ry", "points"])
_STROKES = frozenset(["stroke-width", "stroke-dasharray", "stroke-linecap", "fill"])
_LONE_GLYPH = re.compile('<use href="[^"]*"/>')
_ATTRIBUTES = _PLACES | _STROKES | {"transform", "d", "viewBox", "preserveAspectRatio"}


@dataclass(frozen=True, slots=True)
class Formula:
    """A drawn formula: lengths in em of its own font; ``body`` refers to ``glyphs`` by their ids.

    Its ``mathml`` is empty where browsers do not draw all of it.
    """

    latex: str
    is_displayed: bool
    mathml: str
    body: str
    glyphs: tuple[tuple[str, str], ...]
    view_box: str
    width: float
    height: float
    depth: float

    @property
    def is_text(self) -> bool:
        """Whether it was not drawn, and is set as plain text."""
        return not self.view_box


class Typeset(NamedTuple):
    """What MathJax makes of a formula, both from reading it once: SVG and MathML.

    Where it gives up there is no SVG, and in place of MathML its reason.
    """

    drawn: str | None
    spelled: str


class Formulas:
    """Draws each formula once; of those in ``made``, MathJax's part is done already.

    If ``as_text``, nothing is drawn, and formulas only have the sizes that their plain text has, about.
    """

    def __init__(
        self, made: Mapping[tuple[str, bool], Typeset] | None = None, *, as_text: bool = False
    ) -> None:
        self._made = made or {}
        self._as_text = as_text
        self._drawn: dict[tuple[str, bool], Formula] = {}

    def inline(self, latex: str) -> Formula:
        """Return a formula for running text.

        Raises:
            RenderError: the LaTeX is wrong or needs what the report does not draw.
        """
        return self._draw(latex, display=False)

    def display(self, latex: str, limit: float | None = None) -> Formula:
        """Return a displayed formula, broken into lines where it is wider than ``limit`` em.

        Raises:
            RenderError: the LaTeX is wrong or needs what the report does not draw.
        """
        drawn = self._draw(latex, display=True)
        if limit is None or drawn.width <= limit:
            return drawn
        lines = in_lines(latex, lambda part: self._draw(part, display=True).width, limit)
        return self._draw(lines, display=True)

    def dump(self) -> str:
        """Return all that was drawn so far as JSON, for ``load``."""
        return json.dumps([astuple(one) for one in self._drawn.values()])

    def load(self, drawings: str) -> None:
        """Take over what another drawer has drawn."""
        for latex, is_displayed, mathml, body, glyphs, *box in json.loads(drawings):
            pairs = tuple((name, outline) for name, outline in glyphs)
            formula = Formula(latex, is_displayed, mathml, body, pairs, *box)
            self._drawn.setdefault((latex, is_displayed), formula)

    def _draw(self, latex: str, *, display: bool) -> Formula:
        if self._as_text:
            return Formula(latex, display, "", "", (), "", _LETTER * len(spoken(latex)), _LINE, _LINE / 5)
        key = (latex, display)
        if key not in self._drawn:
            drawn, spelled = self._made.get(key) or typeset([key])[key]
            if drawn is None:
                raise _refusal(latex, spelled)
            self._drawn[key] = _compact(latex, drawn, display=display, mathml=drawn_by_browsers(spelled))
        return self._drawn[key]


@cache
def _mathjax() -> subprocess.Popen[str]:
    """Return the process of MathJax, which ends with this one, as its input does."""
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


def typeset(formulas: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], Typeset]:
    """Return what MathJax makes of formulas, each with whether it is displayed: one call for all is faster.

    Where it cannot read one, its drawing says so.

    Raises:
        FormulaError: MathJax's process has ended.
    """
    process = _mathjax()
    assert process.stdin is not None  # noqa: S101 - they are pipes
    assert process.stdout is not None  # noqa: S101
    answer = ""
    try:
        process.stdin.write(json.dumps(formulas) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except BrokenPipeError:
        pass
    if not answer:
        _mathjax.cache_clear()
        atexit.unregister(process.communicate)
        process.communicate()
        raise FormulaError(
            f"formulas are plain text, as the process that sets them ended with status {process.returncode}; "
            "its JavaScript engine takes gigabytes of address space: raise `ulimit -v`, then render again"
        )
    return {one: Typeset(*made) for one, made in zip(formulas, json.loads(answer), strict=True)}


def glyph_definitions(formulas: Iterable[Formula], prefix: str) -> str:
    """Return the glyphs of several formulas as SVG paths, each once, sorted by id."""
    glyphs = dict(sorted(glyph for formula in formulas for glyph in formula.glyphs))
    return "".join(f'<path id="{prefix}{name}" d="{outline}"/>' for name, outline in glyphs.items())


def _refusal(latex: str, why: str) -> RenderError:
    return RenderError(f"the LaTeX ${latex}$ cannot be typeset: {' '.join(why.split())}; fix it in the claim")


def _compact(latex: str, svg: str, *, display: bool, mathml: str) -> Formula:
    # Of "Misplaced &" MathJax makes no XML.
    if wrong := re.search(r'data-mjx-error="([^"]*)"', svg):
        raise _refusal(latex, unescape(wrong[1]))
    root = ET.fromstring(svg)  # noqa: S314 - our own renderer's output
    box = root.get("viewBox")
    if box is None:
        raise _refusal(latex, "numbered equations are not supported")
    _, top, width, height = (float(number) for number in box.split())
    glyphs = {
        _name(path.attrib["id"]): path.attrib["d"] for path in root.iter(_tag("path")) if "id" in path.attrib
    }
    body = "".join(_shape(child, latex) for child in root if child.tag != _tag("defs"))
    return Formula(
        latex=latex,
        is_displayed=display,
        mathml=mathml,
        body=body,
        glyphs=tuple(sorted(glyphs.items())),
        view_box=box,
        width=width / _UNITS,
        height=height / _UNITS,
        depth=(top + height) / _UNITS,
    )


def _tag(name: str) -> str:
    return "{http://www.w3.org/2000/svg}" + name


def _name(identifier: str) -> str:
    # "MJX-12-TEX-I-1D451": the number counts renderings, the rest names the glyph.
    return identifier.split("-", 2)[2]


def _shape(node: ET.Element, latex: str) -> str:
    """Return a node as SVG text, leaving out whatever does not draw."""
    kind = node.tag.rpartition("}")[2]
    if kind not in _SHAPES:
        raise _refusal(latex, f"it needs <{kind}>, say for a character that the mathematical font lacks")
    inner = "".join(_shape(child, latex) for child in node)
    if kind == "use":
        where = "".join(
            f" {key}={quoteattr(node.attrib[key])}" for key in ("transform",) if key in node.attrib
        )
        return f'<use href="#{_name(node.attrib[_HREF][1:])}"{where}/>'
    kept = {
        key: value for key, value in node.attrib.items() if key in _ATTRIBUTES and value != "currentColor"
    }
    kept = {key: value for key, value in kept.items() if (kind, key) != ("g", "stroke-width")}
    if kind == "g" and not kept:
        return inner
    if kind == "g" and not inner:
        return ""
    written = "".join(f" {key}={quoteattr(value)}" for key, value in kept.items())
    if kind == "g" and _LONE_GLYPH.fullmatch(inner):
        return f"{inner[:-2]}{written}/>"
    return f"<{kind}{written}>{inner}</{kind}>" if inner else f"<{kind}{written}/>"
