"""Pictures in a page: formulas and styles once, figures as often as they stand there."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from verify.evidence import Verdict
from verify.report.inpage import InPage
from verify.report.marks import MARKS
from verify.report.math import Formulas
from verify.report.words import badge

FIGURE = (
    '<svg viewBox="0 0 1 1"><g id="c.f.a" style="fill: red"/><use xlink:href="#c.f.a" style="fill: red"/>'
    '<path fill="url(#c.f.a)"/></svg>'
)


@pytest.fixture
def page() -> InPage:
    """Return a page with one figure to show."""
    return InPage({"c.f": FIGURE})


def test_a_formula_is_defined_once(page: InPage) -> None:
    """However often it stands there, with a rule for its size; each place has its words."""
    formulas = Formulas()
    one, other = formulas.inline("d"), formulas.inline("n")
    places = [
        page.formula(made, "width:1em;height:2em;", words)
        for made, words in ((one, "d"), (other, "<n>"), (one, "d"))
    ]
    assert [re.findall('href="#(F[0-9]+)"', place) for place in places] == [["F0"], ["F1"], ["F0"]]
    assert 'aria-label="&lt;n&gt;"' in places[1]
    defined = ET.fromstring(page.definitions())  # noqa: S314 - our own
    ids = [one.get("id") for one in defined.iter() if one.get("id")]
    assert ids == ["F0", "F1"]
    rules = page.formula_rules()
    classes = {re.findall('class="f ([^"]+)"', place)[0] for place in places}
    assert len(classes) == 2
    for name in classes:
        # The height follows from the width, wherever that is made smaller.
        assert re.search(rf"\.{name}{{width:1em;;?aspect-ratio:\d+/\d+}}", rules)


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
    assert page.mark(shown) == f'<i class="mark tone-{shown.tone} m-{shown.mark}"></i>'
    rules = page.mark_rules()
    assert re.findall(r"^\.m-(\w+){mask-image:url\('data:image/svg\+xml,[^'<>\"]+'\)}$", rules, re.M) == list(
        MARKS
    )
