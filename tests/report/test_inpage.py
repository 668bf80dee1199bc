"""Pictures in a page: formulas and styles once, figures as often as they stand there."""

from __future__ import annotations

import base64
import gzip
import re
from xml.etree import ElementTree as ET

import pytest

from verify.evidence import Verdict
from verify.evidence.words import badge
from verify.report.inpage import InPage
from verify.report.math import Formulas

FIGURE = (
    '<svg viewBox="0 0 1 1"><g id="c.f.a" style="fill: red"/><use xlink:href="#c.f.a" style="fill: red"/>'
    '<path fill="url(#c.f.a)"/></svg>'
)


@pytest.fixture
def page() -> InPage:
    """Return a page with one figure to show."""
    return InPage({"c.f": FIGURE}, lambda latex: f"MathML of {latex}")


def test_formulas_are_drawn_in_the_order_of_the_page(page: InPage) -> None:
    """However they were made: each has its string and its plain text, and a line of MathML once."""
    formulas = Formulas()
    latex = ("d", "n<1", "d")
    places = [page.formula(formulas.inline(one), "", one) for one in latex]
    drawn = page.draw(f"<p>{places[1]} {places[0]} {places[2]}</p>")
    found = re.findall(r'<i data-f="([^"]+)"><b>([^<]*)</b></i>', drawn.page)
    assert [text for _, text in found] == ["n&lt;1", "d", "d"]
    assert found[1] == found[2]
    assert found[0][0] != found[1][0]
    assert gzip.decompress(base64.b64decode(drawn.mathml)).decode() == "MathML of n<1\nMathML of d"
    assert "font-family:Formulas;src:url('data:font/woff2" in drawn.rules


def test_a_formula_has_the_room_that_it_needs(page: InPage) -> None:
    """One that is higher than a line, or wider than a narrow screen, says so; rules give it its height."""
    formulas = Formulas()
    low, high, wide = "d", r"\sum_{i=1}^{n} i", "+".join("abcdefghijklm")
    places = [page.formula(formulas.display(one), "", one) for one in (low, high, wide)]
    drawn = page.draw("".join(places))
    rooms = re.findall(r'<i data-f="[^"]*"([^>]*)>', drawn.page)
    assert rooms[0] == ""
    above, below = (int(tenths) for tenths in re.findall(r"[ab](\d+)", rooms[1]))
    formula = formulas.display(high)
    assert formula.depth <= below / 10 < formula.depth + 0.1
    assert formula.height - formula.depth <= above / 10 < formula.height - formula.depth + 0.1
    assert f"i.a{above}{{padding-top:{above / 10:g}em}}" in drawn.rules
    assert f"--w:{formulas.display(wide).width:.1f}" in rooms[2]


def test_strokes_are_drawn_as_they_are(page: InPage) -> None:
    """What no face can have stands as a drawing, hidden from who is read the plain text."""
    formula = Formulas().inline(r"\cancel{x}")
    drawn = page.draw(page.formula(formula, "", r"\cancel{x}")).page
    assert drawn.startswith('<i data-f=""><b>')
    picture = ET.fromstring(drawn[drawn.index("<svg") : drawn.index("</svg>") + 6])  # noqa: S314 - our own
    assert picture.get("aria-hidden") == "true"
    assert picture.find(".//{*}line") is not None


def test_a_figure_may_stand_twice(page: InPage) -> None:
    """Its ids differ each time, and its references follow them; its styles are rules, each of them one."""
    twice = [str(page.figure("c.f", 'a "b" <c>')) for _ in range(2)]
    ids = [set(re.findall(r'(?: id="|"#|\(#)([^")]+)', svg)) for svg in twice]
    assert ids == [{"D1-0"}, {"D2-0"}]
    for svg in twice:
        root = ET.fromstring(svg)  # noqa: S314 - our own
        assert (root.get("role"), root.get("aria-label")) == ("img", 'a "b" <c>')
        assert [one.get("class") for one in root] == ["C0", "C0", None]
    assert page.figure_rules() == ".C0{fill: red}"


def test_every_mark_has_a_shape(page: InPage) -> None:
    """A mark is its colour, cut out by a rule of its own; a screen reader meets nothing."""
    shown = badge(Verdict.REFUTED)
    assert page.mark(shown) == f'<i class="{shown.tone}-{shown.mark}"></i>'
    rule = f".{shown.tone}-{shown.mark}{{color:var(--{shown.tone});mask-image:url('data:image/svg+xml,"
    assert page.mark_rules().startswith(rule)
    assert page.mark_rules().count("\n") == 0
