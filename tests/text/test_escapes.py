"""Foreign text means itself, whatever it goes into."""

import html
import re
from xml.etree import ElementTree as ET

from docutils.core import publish_doctree
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.strategies import examples
from verify.text.escapes import (
    CONTROLS,
    for_html,
    for_markdown,
    for_rst,
    for_terminal,
    for_tex,
    for_xml,
    one_line,
    prose_for_markdown,
    prose_for_tex,
)

TEXTS = st.text(st.characters(codec="utf-8")) | st.text(
    "<>&\"'`*_[]()|~$#\\@.:/-+!{}^% \n\t\x1b\u202eawh9", max_size=20
)
MARKDOWN = MarkdownIt("commonmark").enable("table")


@examples(80)
@given(TEXTS)
def test_a_terminal_only_shows_it(text: str) -> None:
    """No control character is left but line ends; other text is as it was."""
    shown = for_terminal(text)
    assert not CONTROLS.search(shown.replace("\n", "").replace("\t", ""))
    assert shown == text or CONTROLS.search(text.replace("\n", "").replace("\t", ""))
    assert "\n" not in one_line(text)


@examples(80)
@given(TEXTS)
def test_html_and_xml_hold_it_as_text(text: str) -> None:
    """An XML reader finds no elements, and the text that went in."""
    node = ET.fromstring(f'<a b="{for_html(text)}">{for_html(text)}</a>')  # noqa: S314 - our own
    assert len(node) == 0
    assert (node.text or "") == for_xml(text)
    assert html.unescape(for_html(text)) == for_xml(text)


@examples(100)
@given(TEXTS)
def test_markdown_holds_it_as_text(text: str) -> None:
    """One paragraph of text alone, with all its words."""
    tokens = MARKDOWN.parse(f"x {for_markdown(text)} x")
    inline = [inner for token in tokens for inner in token.children or ()]
    assert {token.type for token in inline} <= {"text", "text_special"}
    shown = "".join(token.content for token in inline)
    assert shown.split() == ["x", *one_line(text).split(), "x"]


@examples(100)
@given(TEXTS)
def test_restructured_text_holds_it_as_text(text: str) -> None:
    """One paragraph of text alone, with all its words."""
    tree = publish_doctree(f"x {for_rst(text)} x", settings_overrides={"report_level": 5})
    assert [node.tagname for node in tree.findall()] == ["document", "paragraph", "#text"]
    assert tree.astext().split() == ["x", *one_line(text).split(), "x"]


@examples(100)
@given(TEXTS)
def test_latex_holds_no_command_but_signs(text: str) -> None:
    """Of commands only those that stand for one sign; braces and dollars pair; one line."""
    written = for_tex(text)
    commands = set(re.findall(r"\\(?:[A-Za-z]+|.)", written))
    signs = {"textbackslash", "textbraceleft", "textbraceright", "textasciitilde", "textasciicircum", "ldots"}
    signs |= {"times", "pm", "le", "ge", "cdot", "surd", "infty", "approx", *"&%$#_,"}
    assert commands <= {f"\\{sign}" for sign in signs}
    assert written.count("{") == written.count("}")
    assert len(re.findall(r"(?<!\\)\$", written)) % 2 == 0
    assert len(written.splitlines()) <= 1


def test_formulas_stay_formulas() -> None:
    """In TeX with braces that BibTeX can count; in Markdown without tags and links."""
    assert prose_for_tex(r"so 5% of $\left\{a_b\right\}$") == r"so 5\% of $\left\lbrace a_b\right\rbrace $"
    assert prose_for_markdown("a_b $a<b$ $[a](b)$") == r"a\_b $a\lt b$ $[a] (b)$"
