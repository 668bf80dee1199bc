"""What no output may hold, whatever texts went into it: each is read as the program would that it is for."""

import json
import re
from html.parser import HTMLParser

from docutils.core import publish_doctree
from markdown_it import MarkdownIt
from pybtex.database import parse_string

from tests.faults.poison import sample
from verify.citing.exports import to_latex

LIVE_TEX = re.compile(r"(?<!\\)(?:\\\\)*\\(?:input|write|href|def|csname|immediate|catcode)(?![a-z])|\^\^")
OWN_HEAD = to_latex(sample(), ())
ADDRESS = "https://example.org/report/"
"""Where citations say that the report lies."""


class Page(HTMLParser):
    """The elements of a page, those that can run or fetch something, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            if name in {"href", "src"}:
                self.links.append(value or "")


def check_citation(texts: dict[str, str], links: set[str]) -> None:
    """Read a citation in every form."""
    page = Page(texts["html"])
    assert page.tags == ["p", "code", "cite", "code", "a"]
    assert set(page.links) == links
    check_markdown(texts["markdown"], links)
    check_tex(texts["latex"])
    ((_, entry),) = parse_string(texts["bibtex"], "bibtex").entries.items()
    assert set(entry.fields) == {"title", "year", "month", "howpublished", "note", "url"}
    check_tex(texts["bibtex"])
    tree = publish_doctree(texts["rst"], settings_overrides={"halt_level": 2, "report_level": 2})
    assert {node["refuri"] for node in tree.findall() if node.tagname == "reference"} == links
    assert not {node.tagname for node in tree.findall()} & {
        "raw",
        "image",
        "problematic",
        "target",
        "comment",
    }
    assert len(json.loads(texts["csl-json"])) == 1
    json.loads(texts["json"])


def check_macros(text: str) -> None:
    """Comments, our own definitions, and a line for each value."""
    head, first, rest = text.partition("\n\\verifyvalue{")
    definitions = [line for line in head.splitlines() if not line.startswith("%")]
    assert definitions == [line for line in OWN_HEAD.rstrip().splitlines() if not line.startswith("%")]
    assert all(
        re.fullmatch(r"\\verify(?:value|number)\{[^{}]+\}\{.*\}%", line)
        for line in (first + rest).split("\n")[1:-1]
    )
    check_tex(first + rest)


def check_tex(text: str) -> None:
    """No command but those of mathematics and our own, and no line that is not ours."""
    shown = re.sub(r"(?<!\\)%.*", "", text)
    assert not LIVE_TEX.search(shown.replace(r"\textasciicircum{}", "")), LIVE_TEX.search(shown)
    assert not any(line.startswith(r"\input") for line in text.splitlines())
    assert len(re.findall(r"(?<!\\)\{", shown)) == len(re.findall(r"(?<!\\)\}", shown))


def check_markdown(text: str, links: set[str]) -> None:
    """No HTML, no picture, and no link but those given, nor an address that some programs make one of."""
    parser = MarkdownIt("commonmark").enable("table")
    bare = text
    for link in links:
        bare = bare.replace(link, "")
    assert not re.search(r"https?://|www\.|\w@\w", bare)
    tokens = [inner for token in parser.parse(text) for inner in (token, *(token.children or ()))]
    assert not {token.type for token in tokens} & {"html_inline", "html_block", "image"}
    assert {str(token.attrs["href"]) for token in tokens if token.type == "link_open"} == links
