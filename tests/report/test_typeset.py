"""Text, formulas, marks and figures set into pages: where lines may break, and words for pictures."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, UndefinedError
from markupsafe import Markup

from tests.report.records import record
from tests.report.score_variance import SCORE_VARIANCE
from tests.strategies import examples
from verify.errors import RenderError
from verify.evidence import Verdict
from verify.evidence.words import badge
from verify.report import typeset
from verify.report.math import Formulas
from verify.report.typeset import SCALE, OnPaper, render, standalone, step_formula
from verify.report.view import view
from verify.text.latex import Prose, Tex

SHARED = Formulas()
FIGURE = '<svg viewBox="0 0 1 1"><g id="c.f.a"/><use href="#c.f.a"/><path fill="url(#c.f.a)"/></svg>'


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


@pytest.fixture
def paper() -> OnPaper:
    """Return a page of print with one figure."""
    return OnPaper({"c.f": FIGURE})


class Texts(HTMLParser):
    """Collects texts and what stands in for pictures."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.seen = ""
        self.feed(markup)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the words of an image."""
        self.seen += dict(attrs).get("alt") or ""

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.seen += data


def prose(text: str, formulas: Formulas, medium: OnPaper) -> str:
    """Return a sentence as it is set."""
    setter = typeset._Setter(formulas, medium)
    return str(setter.finish(Prose(text)))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("so $d$, that", "<>,"),
        ("so ($d$) that", "(<>)"),
        ("so “$d$” that", "“<>”"),
        ("so $d$-wise that", "<>-wise"),
        ("so ($d$, $n$) that", "(<>,"),
        ("so $d$ that", None),
    ],
)
def test_punctuation_stays_on_the_line_of_its_formula(
    formulas: Formulas, paper: OnPaper, text: str, kept: str | None
) -> None:
    """What touches a formula is kept together with it; a formula between spaces stands alone."""
    markup = re.sub(r"<img[^>]*>", "<>", prose(text, formulas, paper))
    found = re.search(r'<span class="nb">(.*?)</span>', markup)
    assert (found and found[1]) == kept


@examples(40)
@given(
    st.lists(st.sampled_from(["$d$", "$n$", " ", "a", "(", ")", "<b>", "&", ", ", "“", "10⁻⁷"]), max_size=8)
)
def test_nothing_of_a_sentence_is_lost(words: list[str]) -> None:
    """Text and words of formulas in their order, whatever touches what, and no markup of the text's own."""
    markup = prose("".join(words), SHARED, OnPaper({}))
    said = {"$d$": "d", "$n$": "n", "10⁻⁷": "10−7"}
    assert Texts(markup).seen == "".join(said.get(word, word) for word in words)
    assert "<b>" not in markup


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("6.1×10⁻⁷", "6.1×10<sup>−7</sup>"),
        ("10⁷ and 10⁻¹²", "10⁷ and 10<sup>−12</sup>"),
        ("a < b & c", "a &lt; b &amp; c"),
    ],
)
def test_negative_powers_are_raised(formulas: Formulas, paper: OnPaper, text: str, markup: str) -> None:
    """No face has a superscript minus; positive powers have signs of their own; text is escaped."""
    assert str(typeset._Setter(formulas, paper).finish(text)) == markup


def test_what_is_no_plain_text_is_left_as_it_is(formulas: Formulas, paper: OnPaper) -> None:
    """Numbers and markup that was made here pass."""
    setter = typeset._Setter(formulas, paper)
    assert setter.finish(3) == 3
    assert setter.finish(Markup("<b>")) == "<b>"


def test_steps_get_the_room_that_they_need(formulas: Formulas) -> None:
    """Beside rule and check, in the place of the check, or on lines of their own."""
    found = [
        step_formula(formulas, Tex(latex)) for latex in ("a", "a" * 50, " + ".join(["a^2"] * 60), "a" * 90)
    ]
    assert [room for _, room in found] == ["", "wide", "wide", "full"]
    # A sum breaks at its signs; where nothing breaks, lines of its own are all that can be given.
    assert 21 < found[1][0].width <= 32.5 * 1.1
    assert found[2][0].width <= 32.5 * 1.1 < found[3][0].width


def test_print_fetches_pictures_by_their_names(formulas: Formulas, paper: OnPaper) -> None:
    """The same formula is the same image; figures and marks are kept with their addresses and words."""
    formula = formulas.inline("d")
    assert paper.formula(formula, "", "d") == paper.formula(formula, "", "d")
    assert list(paper.formulas.values()) == [(formula, "d")]
    (name,) = re.findall('src="([^"]+)"', paper.figure("c.f", "words"))
    assert (paper.images[name], paper.described) == (FIGURE, {"words"})
    shown = badge(Verdict.REFUTED)
    (address,) = re.findall(r"url\(([^)]+)\)", html.unescape(paper.mark(shown)))
    assert paper.marks[address] == shown.mark


def test_a_formula_alone_is_a_whole_drawing(formulas: Formulas) -> None:
    """Its glyphs are with it, and it is as large as in the text."""
    formula = formulas.inline(r"\sqrt{d}")
    root = ET.fromstring(standalone(formula))  # noqa: S314 - our own
    assert root.get("viewBox") == formula.view_box
    assert root.get("width") == f"{formula.width * SCALE:.4f}em"
    ids = {one.get("id") for one in root.iter()}
    used = [one.get("href", "") for one in root.iter() if one.tag.endswith("use")]
    assert used
    assert {name[1:] for name in used} <= ids


def test_templates_are_filled_strictly(
    formulas: Formulas, paper: OnPaper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text is escaped, prose set, a name that is none an error, as is LaTeX that is none."""
    templates = {
        "text": "{{ report.version }}{{ more }}",
        "badges": "{{ verdicts.refuted.word }} {{ outcomes.wrong.word }} {{ proofs.proved.word }}",
        "attribute": '<a title="{{ more | attribute }}">',
        "unknown": "{{ report.nothing }}",
        "wrong": "{{ more | prose }}",
    }
    monkeypatch.setattr(typeset, "FileSystemLoader", lambda _: DictLoader(templates))
    report = view(record(SCORE_VARIANCE))

    def filled(name: str, more: object = "") -> str:
        return render(name, report, formulas, paper, more=more)

    assert filled("text", "<10⁻¹>") == "0.1.0&lt;10<sup>−1</sup>&gt;"
    assert filled("badges") == "refuted wrong proved"
    assert filled("attribute", '"10⁻¹"') == '<a title="&#34;10⁻¹&#34;">'
    with pytest.raises(UndefinedError, match="nothing"):
        filled("unknown")
    with pytest.raises(RenderError):
        filled("wrong", r"$\frac{a$")
