"""The page is one file that stands alone, is sound, and shows nothing it was not meant to show."""

import base64
import gzip
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from tests.report.records import PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.errors import RenderError
from verify.evidence import Reference, RunRecord
from verify.report import html
from verify.report.html import render_html

VOID = {"meta", "col", "link", "br", "wbr", "img", "input", "hr"}


class Reader(HTMLParser):
    """Collects what the tests ask about, and checks that tags nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.headings: list[int] = []
        self.tags: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag's ids, links and loads."""
        found = dict(attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if found.get("id"):
            self.ids.append(found["id"] or "")
        if tag == "a":
            self.links.append(found.get("href") or "")
        elif tag in {"use", "image"}:
            self.links.append(found.get("href") or found.get("xlink:href") or "")
        else:
            self.loads += [
                value for key, value in attrs if key in {"src", "href", "srcset", "action"} and value
            ]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost open tag is closed."""
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    """Return the parsed page."""
    return Reader(page)


def test_stands_alone(page: str, read: Reader) -> None:
    """Nothing is loaded from anywhere: no script, no sheet, no image, no font beyond the file itself."""
    assert read.loads == ["data:,"]
    assert "default-src 'none'" in page
    assert page.count("<script>") == 1
    assert page.count("<script") == 3
    assert page.count('<script type="application/ld+json">') == 1
    assert "@import" not in page
    assert {address[:2] for address in re.findall(r"url\('?([^)']{0,5})", page)} <= {"da", "#D"}


def test_anchors(read: Reader) -> None:
    """Ids are unique, and every link within the page arrives."""
    assert len(read.ids) == len(set(read.ids))
    inside = {link[1:] for link in read.links if link.startswith("#")}
    assert inside <= set(read.ids)
    assert {"score-variance", "score-variance.slope", "score-variance.squared", "over-scaling"} <= set(
        read.ids
    )


def test_headings_do_not_skip(read: Reader) -> None:
    """There is one title, and no heading is more than one level below its predecessor."""
    assert read.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(read.headings, read.headings[1:], strict=False))


def test_nothing_is_left_of_the_templates(page: str) -> None:
    """No template syntax, no dollar signs of LaTeX, no Python values stay behind."""
    text = re.sub(r"<(style|script|pre)\b.*?</\1>", "", page, flags=re.DOTALL)
    # What is copied is plain text, which raises digits by their own signs.
    text = re.sub(r'<p class="citation">.*?</p>', "", text)
    for leftover in ("{{", "{%", "}}", "$", "None", "undefined", "<class", "/* style */", "⁻"):
        assert leftover not in text, leftover


def test_is_small_and_the_same_every_time(page: str, run: RunRecord) -> None:
    """The same record gives the same page, which is small enough to send by mail."""
    first = render_html(run)
    assert render_html(run) == first
    assert len(first) < len(page) < 400_000


def test_formulas_are_text_in_a_face_of_their_own(page: str) -> None:
    """Each has its string, which draws it, and its plain text; the same formula has the same string."""
    places = re.findall(r'<i data-f="([^"]*)"[^>]*><b>([^<]*)</b></i>', page)
    assert len(places) == page.count("<i data-f=") > 100
    strings = {text: string for string, text in places if text == "d_k"}
    assert all(string for string, _ in places)
    assert {string for string, text in places if text == "d_k"} == set(strings.values())
    assert "font-family:Formulas" in page


def test_every_formula_has_its_mathml(page: str) -> None:
    """A line for each, in the order in which they first stand in the page."""
    places = re.findall(r'<i data-f="([^"]*)"[^>]*><b>([^<]*)</b></i>', page)
    packed = re.search(r'<script type="text/plain" id="mathml">([^<]*)</script>', page)
    assert packed
    lines = gzip.decompress(base64.b64decode(packed[1])).decode().split("\n")
    spelled = dict(zip(dict.fromkeys(places), lines, strict=True))
    assert {line for (_, text), line in spelled.items() if text == "d_k"} == {
        "<math><msub><mi>d</mi><mi>k</mi></msub></math>"
    }
    for line in lines:
        assert ET.fromstring(line).tag == "math"  # noqa: S314 - our own


def test_verdicts_are_words_and_shapes(page: str) -> None:
    """Each verdict is said in words beside its own drawn mark."""
    for mark, word in (
        ("check", "confirmed"),
        ("about", "approximate"),
        ("cross", "refuted"),
        ("open", "undecided"),
    ):
        assert re.search(rf'<i class="\w+-{mark}"></i> {word}</(?:span|td)>', page)


def test_a_failing_step_is_marked(page: str) -> None:
    """The step that does not follow says so."""
    failing = re.search(r'<li class="step[^"]* fails">.*?</li>', page, flags=re.DOTALL)
    assert failing is not None
    assert "does not follow." in failing[0]


def test_steps_are_tied_to_the_one_before(page: str) -> None:
    """Each step but the start says whether it equals the one before or follows from it."""
    relations = re.findall(r"<div class=\"?relation\"?>(?:<i [^>]*><b>([^<]*))?", page)
    assert set(relations) == {"", "=", "⇒", "≤"}
    assert relations.count("⇒") == 1


def test_alarms_cannot_be_overlooked(page: str) -> None:
    """A failed derivation and a control that stands are shown first of all, in the row and on the card."""
    for words in ("The derivation failed.", "was not refuted: the measurement settles nothing."):
        assert page.count(words) == 3
    assert page.count('class="verdict tone-bad"') == 2


def test_input_cannot_inject_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markup in a user's claim is text, wherever it stands; in a formula it is refused or text, too."""
    monkeypatch.setattr(html, "rules_for_screen", lambda _characters: "")
    monkeypatch.setattr(html, "compact", str)
    evil = '<script>alert("1")</script>'
    reference = Reference(key="evil", text=evil, url=None).model_copy(update={"url": "javascript:alert(1)"})
    claim = PAIRWISE.model_copy(
        update={
            "title": evil,
            "statement": evil,
            "meaning": f"$a < b$ {evil}",
            "reason": evil,
            "references": (reference,),
        }
    )
    figure = SCORE_VARIANCE.series[0].model_copy(update={"alt": f'"{evil}', "title": evil})
    layer = figure.layers[0].model_copy(update={"label": evil})
    figure = figure.model_copy(update={"layers": (layer, *figure.layers[1:])})
    page = render_html(record(claim.model_copy(update={"series": (figure,)})))
    assert page.count("<script") == 3
    assert "javascript:" not in page
    assert "&lt;script&gt;" in page
    Reader(page)


def test_wrong_latex_is_an_error() -> None:
    """A formula that cannot be typeset stops the page instead of printing garbage."""
    with pytest.raises(RenderError, match=r"\\frac\{a"):
        render_html(record(PAIRWISE.model_copy(update={"statement": r"wrong $\frac{a$"})))


def test_contrast() -> None:
    """Text colours reach a contrast of 4.5 on their background, light and dark."""
    from verify.files import shipped  # noqa: PLC0415

    folder = shipped.folder("templates")
    for sheet in ("common.css", "page.css"):
        block = (folder / sheet).read_text(encoding="utf-8").split(":root {", 1)[1].split("}", 1)[0]
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for name in ("ink", "soft", "link", "good", "fair", "bad", "idle"):
            for ground in ("paper", "wash"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (sheet, name, ground)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as ``#0072b2``."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
