"""Every text field of a results file, poisons for it, and what makes an output harmless."""

import enum
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from docutils.core import publish_doctree
from markdown_it import MarkdownIt
from pybtex.database import parse_string

from tests.auditing.records import bad
from tests.judged import judged
from tests.report.records import record
from verify.citing.exports import to_latex
from verify.evidence import Calibration, FalseClaims, Falsified, Presentation, Record, RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import stored_table
from verify.evidence.runs import DeviceRecord

Path = tuple[str | int, ...]
POISONS = {
    "tex": r"evil \input{evil} \write18{evil} % ^^5cinput{evil} #1 & _ ~ {",
    "tex in a new line": "evil\n\\input{evil}",
    "html": "\"'><script>evil()</script><img src=x onerror=evil()></title></svg>]]><!-- ",
    "markdown": "| **evil** <b>x</b> [a](javascript:evil) ![x](//evil) `evil` <http://evil.example> &lt; #",
    "links": "http://evil.example www.evil.example evil@evil.example [evil]: http://evil.example ](x)",
    "restructured text": "`evil <http://evil.example>`_ |evil| evil_ :raw:`x` http://evil.example **e** ..",
    "bibtex": "}, evil = {x}} @evil{evil, a = {b",
    "escape": "\x1b[2Jevil",
    "bidi": "\u202eevil",
    "nul": "evil\0",
    "half a character": "evil\ud800",
    "formula that reads": r"evil $\input{evil}$",
    "formula that links": r"evil $\href{javascript:evil()}{x}$",
    "formula with a tag": "evil $a<script>evil()</script>b$",
    "formula with a link": "evil $[a](javascript:evil)$",
    "formula that ends early": "evil $a}{b$",
    "formula in verbatim": "evil $a`b$",
    "script address": "javascript:evil()",
    "host": "//evil.example",
}


def sample() -> RunRecord:
    """Return a record in which every text field has a value."""
    run = record()
    claim, *others = run.claims[:3]
    calibration = stored_table(Calibration)
    one = calibration.together[0]
    reference = claim.references[0].model_copy(update={"url": "https://example.org/paper"})
    first = claim.derivation.routes[0].model_copy(
        update={"name": "mean", "theorem": "a = b", "subject": "a", "result": "b", "assumptions": ("So.",)}
    )
    more = {"beyond": "the remainder", "assumptions": ("So it is.",)}
    routes = (first, *claim.derivation.routes[1:])
    derivation = claim.derivation.model_copy(update=more | {"routes": routes})
    own = {"chapter": "user", "authors": ("A. Author",)}
    update: dict[str, Any] = {"references": (reference,), "derivation": derivation, **own}
    claim = claim.model_copy(update=update)
    source = run.sources[0].model_copy(
        update={"author": "A. Author", "date": "10 March 2025", "url": "https://example.org"}
    )
    device = DeviceRecord(name="cuda", model="a card", library="PyTorch 2")
    settings = {
        "settings": run.run.settings.model_copy(update={"device": device}),
        "claims": (claim.id,),
        "pack": "introductions",
        "numbers": {claim.id: "1.2"},
        "presentation": Presentation(title="A title", question="A question?", author="A. Author"),
        "phases_s": {"derive": 2.1},
        "spent_s": {claim.id: {"derivation": 1.0}},
    }
    changed = run.model_copy(
        update={
            "claims": (claim, *others),
            "sources": (source, *run.sources[1:]),
            "run": run.run.model_copy(update=settings),
            "calibration": calibration.model_copy(
                update={"rows": calibration.cells(one), "together": (one,)}
            ),
            "false_claims": stored_table(FalseClaims),
            "falsified": stored_table(Falsified),
        }
    )
    return judged(changed)


def audit_sample() -> AuditRecord:
    """Return an audit in which every text field has a value."""
    audit = bad(2, 2)
    settings = audit.settings.model_copy(update={"intended": "1/sqrt(d)", "allow_unseen": ("output",)})
    seen = {"differences": ("layers differ in their masks",), "unseen": ("calls",)}
    declared = {"weights": "clipped=0.1", "mask": "causal"}
    layers = tuple(one.model_copy(update={"declared": declared}) for one in audit.layers)
    return audit.model_copy(update={"settings": settings, "layers": layers, **seen}).sealed()


def text_fields(model: type[Record] = RunRecord) -> set[tuple[str, str]]:
    """Return model and name of every field that may hold text of any kind, of a model and all within it."""
    found: set[tuple[str, str]] = set()
    for name, field in model.model_fields.items():
        kinds = set(_kinds(field.annotation))
        if str in kinds:
            found.add((model.__name__, name))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Record):
                found |= text_fields(kind)
    return found


def _kinds(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Literal:
        return
    if origin in {Union, UnionType} or get_args(annotation):
        for one in get_args(annotation):
            yield from _kinds(one)
    elif not (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        yield annotation


def places(
    value: Any, here: Path = (), of: tuple[str, str] = ("", "")
) -> Iterator[tuple[tuple[str, str], Path]]:
    """Yield every text of a record: the model and field it stands in, and its path in the JSON form.

    Names in a dictionary count as texts; their path ends with the name and a dollar sign.
    """
    if isinstance(value, Record):
        for name, field in type(value).model_fields.items():
            yield from places(
                getattr(value, name), (*here, field.alias or name), (type(value).__name__, name)
            )
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield of, (*here, name, "$")
            yield from places(inner, (*here, name), of)
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from places(inner, (*here, number), of)
    elif type(value) is str:
        yield of, here


def poisoned(content: dict[str, Any], path: Path, text: str) -> dict[str, Any]:
    """Return a record's JSON form with one text replaced."""
    changed: dict[str, Any] = json.loads(json.dumps(content))
    is_name = path[-1] == "$"
    *outer, last = path[:-1] if is_name else path
    inside: Any = changed
    for key in outer:
        inside = inside[key]
    if is_name:
        inside[text] = inside.pop(last)
    else:
        inside[last] = text
    return changed


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
