"""A run as a static site: a page for each claim and each statement, which every citation can lead to.

All links are relative, so it works from a folder and behind any prefix.
"""

import re
import zlib
from typing import Any

from verify.citing.citations import place_on_site
from verify.citing.exports import as_svg
from verify.citing.values import SOURCE
from verify.errors import VerifyError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import origin
from verify.files import shipped_table
from verify.report.cards import decides, keys_of
from verify.report.drawings import draw_figures
from verify.report.formulas import Formulas
from verify.report.html import HtmlMedium, faces_of, joined
from verify.report.run import Report
from verify.text.latex import plain

_STYLES = ("common.css", "page.css", "rows.css", "site.css")
_INDEX = "index.html"
MARKER = ".sdpa-verify-site"
"""The file of a site that lists all others: a folder that has it may be written again."""


def site_files(
    record: RunRecord | AuditRecord, address: str = "", shown: RunRecord | None = None
) -> dict[str, bytes]:
    """Return the files of a run's site by their paths.

    ``address`` is where it will be published, if that is known; pages then name their permanent address.
    ``shown`` is what pages show, if more than the record.

    Raises:
        VerifyError: this is no run.
        RenderError: a formula or figure cannot be drawn.
    """
    if not isinstance(record, RunRecord):
        raise VerifyError("site: is made of a run only; give a results.json")
    report, formulas, figures = Report(shown or record), Formulas(), draw_figures(record)
    pages, styled = {}, ""
    for path, (template, given) in _pages(report).items():
        canonical = f"{address.rstrip('/')}/{path.removesuffix(_INDEX)}" if address else ""
        medium = HtmlMedium(formulas, figures)
        page = medium.render(template, report, root="../" * path.count("/"), canonical=canonical, **given)
        pages[path] = page.replace("/* rules */", medium.mark_rules() + medium.figure_rules(), 1)
        styled += page
    formulas.cache.save()
    own = {path: set(re.findall(r' id="([^"]+)"', page)) for path, page in pages.items()}
    places = {name: path for path, ids in own.items() for name in ids}
    for path, page in pages.items():
        # Links to a place on another page lead there; what no page has leads to the first.
        for name in set(re.findall(r' href="#([^"]+)"', page)) - own[path]:
            place = f"{places[name]}#{name}" if name in places else _INDEX
            root = "../" * path.count("/")
            pages[path] = pages[path].replace(f' href="#{name}"', f' href="{root}{place}"')
    files = {path: page.encode() for path, page in pages.items()}
    files["assets/site.css"] = (faces_of(styled) + joined(*_STYLES)).encode()
    files["assets/site.js"] = joined("site.js").encode()
    for claim in record.claims:
        files[f"badges/{claim.id}.svg"] = as_svg(claim).encode()
    files |= {"results.json": record.to_json().encode(), "objects.inv": inventory(shown or record)}
    return files


def _pages(report: Report) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return each page's template and what it is given besides the report, by its path."""
    statements = report.record.statements
    # A claim is searched for by its texts, by other names for it, and by the ids of its checks.
    searched = {
        f"statement-{stated.id}": f"{stated.id} {plain(stated.text)}".casefold() for stated in statements
    }
    called = shipped_table("aliases")
    for claim in report.record.claims:
        texts = (claim.id, claim.title, claim.statement, claim.meaning, claim.chapter_title)
        words = (*map(plain, texts), called.get(claim.id, ""), *(check.id for check in claim.checks))
        searched[claim.id] = " ".join(" ".join(words).split()).casefold()
    pages: dict[str, tuple[str, dict[str, Any]]] = {
        _INDEX: ("site-index.j2", {"searched": searched, "origin": origin(report.record)})
    }
    for card in report.cards.values():
        about = [stated for stated in statements if decides(card.claim.id, stated)]
        path = place_on_site(card.claim.id) + _INDEX
        pages[path] = "site-claim.j2", {"card": card, "stated": about}
    for source in report.sources:
        for stated in source.statements:
            path = place_on_site(f"{SOURCE}.{stated.id}") + _INDEX
            pages[path] = "site-statement.j2", {"stated": stated, "source": source}
    return pages


def inventory(record: RunRecord) -> bytes:
    """Return the site's ``objects.inv``: a label ``claim:KEY`` or ``statement:ID`` for each of its places.

    Sphinx with intersphinx, MyST and mkdocstrings read it: four lines, and a compressed line for each label.
    """
    labels = []
    for claim in record.claims:
        page = place_on_site(claim.id) + _INDEX
        labels.append(f"claim:{claim.id} std:label -1 {page} {' '.join(plain(claim.title).split())}\n")
        labels += [f"claim:{key} std:label -1 {page}#{key} {key}\n" for key in keys_of(claim)]
    for stated in record.statements:
        page = place_on_site(f"{SOURCE}.{stated.id}") + _INDEX
        labels.append(f"statement:{stated.id} std:label -1 {page} {' '.join(plain(stated.text).split())}\n")
    head = (
        "# Sphinx inventory version 2\n# Project: sdpa-verify\n"
        f"# Version: {record.tool.version}\n# The remainder of this file is compressed using zlib.\n"
    )
    return head.encode() + zlib.compress("".join(labels).encode(), 9)
