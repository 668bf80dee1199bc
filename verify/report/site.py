"""A run as a static site: a page for each claim and each statement, which every citation can lead to.

All links are relative, so it works from a folder and behind any prefix.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verify.citing.citations import place_on_site
from verify.citing.summaries import as_svg
from verify.citing.values import SOURCE
from verify.errors import FormulaError, RenderError, ResultsError
from verify.evidence import ClaimRecord, RunRecord, Statement
from verify.evidence.audits import AuditRecord
from verify.evidence.load import origin
from verify.executors.workers import Workers
from verify.files.names import shipped_folder
from verify.files.writing import write_folder
from verify.report.cards import aliases
from verify.report.formulas import Formulas
from verify.report.html import faces_of, make_page
from verify.report.parts import Parts, draw_figures, draw_formulas
from verify.report.run import Report, report_of
from verify.text.latex import plain

_STYLES = ("common.css", "page.css", "rows.css", "site.css")
_INDEX = "index.html"
_ID = re.compile(r' id="([^"]+)"')
_LINK = re.compile(r' href="#([^"]+)"')


MARKER = ".sdpa-verify-site"
"""The file of a site that lists all others: a folder that has it may be written again."""


def write_site(
    record: RunRecord | AuditRecord,
    out: Path,
    address: str = "",
    workers: Workers | int | None = None,
    shown: RunRecord | None = None,
) -> RenderError | None:
    """Write a run's site into the folder ``out``, whole or not at all, and return what was not rendered.

    ``shown`` is what its pages show, if that is more than the record.

    Raises:
        OutputError: ``out`` holds what is no part of a site, or cannot be written.
        VerifyError: see `site_files`.
    """
    files, problem = site_files(record, address, workers, shown)
    write_folder(out, files, MARKER)
    return problem


def site_files(
    record: RunRecord | AuditRecord,
    address: str = "",
    workers: Workers | int | None = None,
    shown: RunRecord | None = None,
) -> tuple[dict[str, bytes], RenderError | None]:
    """Return the files of a run's site by their paths, and what could not be rendered, if anything.

    ``address`` is where it will be published, if that is known; pages then name their permanent address.
    Where formulas cannot be set they are plain text. ``shown`` is what pages show, if more than the record.

    Raises:
        ResultsError: this is no run.
        RenderError: a figure cannot be drawn.
    """
    if not isinstance(record, RunRecord):
        raise ResultsError("site: only a run has one; give a results.json")
    index = inventory(shown or record)
    report, problem = report_of(shown or record), None
    figures = draw_figures(record, workers)
    try:
        formulas = draw_formulas(report, workers)
    except FormulaError as error:
        formulas, problem = Formulas(as_text=True), error
    parts = Parts(report, formulas, figures)
    made = {}
    for path, (template, given) in _pages(report).items():
        root = "../" * path.count("/")
        canonical = f"{address.rstrip('/')}/{path.removesuffix(_INDEX)}" if address else ""
        made[path] = make_page(template, parts, root=root, canonical=canonical, **given)
    pages = {
        path: one.page.replace("/* rules */", one.mark_rules + one.figure_rules, 1)
        for path, one in made.items()
    }
    files = {path: page.encode() for path, page in _linked(pages).items()}
    files["assets/site.css"] = (faces_of(pages.values()) + "".join(map(_template, _STYLES))).encode()
    files["assets/site.js"] = _template("site.js").encode()
    for claim in record.claims:
        files[f"badges/{claim.id}.svg"] = as_svg(record, claim).encode()
    return files | {"results.json": record.to_json().encode(), "objects.inv": index}, problem


def _template(name: str) -> str:
    return (shipped_folder("templates") / name).read_text(encoding="utf-8")


def _pages(report: Report) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return each page's template and what it is given besides the report, by its path."""
    claims, statements = report.record.claims, report.record.statements
    searched = {claim.id: _searched(claim) for claim in claims}
    searched |= {f"statement-{one.id}": f"{one.id} {plain(one.text)}".casefold() for one in statements}
    pages: dict[str, tuple[str, dict[str, Any]]] = {
        _INDEX: ("site-index.j2", {"searched": searched, "origin": origin(report.record)})
    }
    for card in report.cards:
        given = {"card": card, "stated": _stated(card.claim.id, statements)}
        pages[place_on_site(card.claim.id) + _INDEX] = ("site-claim.j2", given)
    for source in report.sources:
        for one in source.statements:
            path = place_on_site(f"source.{one.id}") + _INDEX
            pages[path] = ("site-statement.j2", {"stated": one, "source": source})
    return pages


def _searched(claim: ClaimRecord) -> str:
    """Return the words that a claim is found by: its texts, other names for it, and the ids of its checks."""
    texts = (claim.id, claim.title, claim.statement, claim.meaning, claim.chapter_title)
    words = (*map(plain, texts), aliases().get(claim.id, ""), *(check.id for check in claim.checks))
    return " ".join(" ".join(words).split()).casefold()


def _stated(claim: str, statements: tuple[Statement, ...]) -> list[Statement]:
    return [one for one in statements if claim in {one.claim, *(part.claim for part in one.parts)}]


def _linked(pages: Mapping[str, str]) -> dict[str, str]:
    """Return pages whose links to a place on another page lead there; what no page has leads to the first."""
    own = {path: set(_ID.findall(page)) for path, page in pages.items()}
    places = dict(_places(own))

    def linked(path: str, page: str) -> str:
        root = "../" * path.count("/")

        def led(found: re.Match[str]) -> str:
            if found[1] in own[path]:
                return found[0]
            place = places.get(found[1])
            return f' href="{root}{place}#{found[1]}"' if place else f' href="{root}{_INDEX}"'

        return _LINK.sub(led, page)

    return {path: linked(path, page) for path, page in pages.items()}


def _places(own: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    for path, ids in own.items():
        for name in ids:
            yield name, path


def inventory(record: RunRecord) -> bytes:
    """Return the site's ``objects.inv``: a label ``claim:KEY`` or ``statement:ID`` for each of its places.

    Sphinx with intersphinx, MyST and mkdocstrings read it: four lines, and a compressed line for each label.
    """
    head = (
        "# Sphinx inventory version 2\n# Project: sdpa-verify\n"
        f"# Version: {record.tool.version}\n# The remainder of this file is compressed using zlib.\n"
    )
    lines = (f"{name} std:label -1 {uri} {title}\n" for name, uri, title in _labels(record))
    return head.encode() + zlib.compress("".join(lines).encode(), 9)


def _labels(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the place and the title of each thing that a document may link to."""
    for claim in record.claims:
        page = f"{place_on_site(claim.id)}index.html"
        yield f"claim:{claim.id}", page, _line(claim.title)
        parts = [one.id for some in (claim.checks, claim.controls, claim.facts) for one in some]
        for key in (f"{claim.id}.{part}" for part in parts):
            yield f"claim:{key}", f"{page}#{key}", key
    for statement in record.statements:
        page = f"{place_on_site(f'{SOURCE}.{statement.id}')}index.html"
        yield f"statement:{statement.id}", page, _line(statement.text)


def _line(text: str) -> str:
    return " ".join(plain(text).split())
