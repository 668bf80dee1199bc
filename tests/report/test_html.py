"""The page is one file that stands alone, is sound, and shows nothing it was not meant to show."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from tests.report.builders import contrast
from verify.evidence import Outcome, Proof, RunRecord, Verdict
from verify.evidence.audits import Judgement
from verify.evidence.words import badge
from verify.files import shipped_folder
from verify.report.html import render_html
from verify.report.typeset import MARKS

LINKING = {"a", "use", "image"}
VOID = {"meta", "col", "link", "br", "wbr", "img", "input", "hr"}


class Reader(HTMLParser):
    """The elements of a page with their attributes; tags that do not nest are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        assert self.open == []
        self.ids = [attributes["id"] for _, attributes in self.elements if attributes.get("id")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its attributes."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost open tag is closed."""
        assert tag in VOID or self.open.pop() == tag


def test_stands_alone(page: str) -> None:
    """No script, sheet, image or font is loaded from anywhere; ids are unique, and links within arrive."""
    read = Reader(page)
    loads = [
        value
        for tag, attributes in read.elements
        for name, value in attributes.items()
        if tag not in LINKING and name in {"src", "href", "srcset", "action"} and value
    ]
    assert loads == ["data:,"]
    assert "default-src 'none'" in page
    assert page.count("<script>") == page.count("<script") == 1
    assert "@import" not in page
    assert {address[:2] for address in re.findall(r"url\('?([^)']{0,5})", page)} <= {"da", "#D"}
    assert len(read.ids) == len(set(read.ids))
    links = [
        attributes.get("href") or attributes.get("xlink:href") or ""
        for tag, attributes in read.elements
        if tag in LINKING
    ]
    assert {link[1:] for link in links if link.startswith("#")} <= set(read.ids)
    assert {"score-variance", "score-variance.slope", "score-variance.squared", "over-scaling"} <= {*read.ids}


def test_nothing_is_left_of_the_templates(page: str) -> None:
    """No template syntax, no dollar signs of LaTeX, no Python values stay behind."""
    text = re.sub(r"<(style|script|pre)\b.*?</\1>", "", page, flags=re.DOTALL)
    # What is copied is plain text, which raises digits by their own signs.
    text = re.sub(r'<p class="citation">.*?</p>', "", text)
    for leftover in ("{{", "{%", "}}", "$", "None", "undefined", "<class", "/* style */", "⁻"):
        assert leftover not in text, leftover


def test_alarms_cannot_be_overlooked(page: str) -> None:
    """A failed derivation and a control that stands are shown first of all, in the row and on the card."""
    for words in ("The derivation failed.", "was not rejected, so the measurement is inconclusive."):
        assert page.count(words) == 3
    assert page.count('class="verdict tone-bad"') == 2


def test_is_small_and_the_same_every_time(page: str, run: RunRecord) -> None:
    """The same record gives the same page, which is small enough to send by mail."""
    first = render_html(run)
    assert render_html(run) == first
    assert first == page
    assert len(page) < 400_000


def test_formulas_are_mathml_with_their_words(page: str) -> None:
    """Each has a plain text, which is copied; in what has its name from its content, that is its label.

    A single letter or sign is its own text.
    """
    formulas = re.findall(r"<math\b.*?</math>", page)
    assert len(formulas) > 100
    for formula in formulas:
        root = ET.fromstring(formula)  # noqa: S314 - our own
        is_token = len(root) == 1 and len(root[0]) == 0
        assert ("alttext" in root.attrib) + ("aria-label" in root.attrib) == 1 or is_token
    assert '<math alttext="d_k"><msub><mi>d</mi><mi>k</mi></msub></math>' in page
    for heading in re.findall(r"<(?:h[1-5]|a|th|figcaption)\b.*?</(?:h[1-5]|a|th|figcaption)>", page):
        assert "alttext" not in heading
    assert "font-family:'STIX Two Math'" in page


def test_contrast() -> None:
    """Text colours reach a contrast of 4.5 on their background, light and dark."""
    folder = shipped_folder("templates")
    for sheet in ("common.css", "page.css"):
        block = (folder / sheet).read_text(encoding="utf-8").split(":root {", 1)[1].split("}", 1)[0]
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for name in ("ink", "soft", "link", "good", "fair", "bad", "idle"):
            for ground in ("paper", "wash"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (sheet, name, ground)


def test_verdicts_of_one_kind_differ_in_more_than_colour() -> None:
    """No two have one drawing; nothing in a drawing has a colour of its own."""
    for kind in (Verdict, Proof, Outcome, Judgement):
        drawings = [MARKS[badge(member).mark] for member in kind]
        assert len(set(drawings)) == len(drawings)
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', "".join(MARKS.values()))) <= {"currentColor"}
