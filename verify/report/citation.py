"""Citations of a claim or of one finding, in the forms that documents and reference managers take."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from verify.errors import CitationError
from verify.escapes import (
    for_html,
    for_markdown,
    for_rst,
    for_tex,
    prose_for_markdown,
    prose_for_rst,
    prose_for_tex,
)
from verify.evidence import Check, Control, Fact
from verify.report import numbers
from verify.report.imprint import creation
from verify.report.latex import plain
from verify.report.words import badge, capitalised, cell_text, predicted

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from verify.evidence import ClaimRecord, RunRecord

AUTHORS = "The sdpa-verify authors"

# No sign that ends a link in Markdown, or a field or an argument in BibTeX and LaTeX.
_PATH = r"(?:[\w.~/@+,=-]|%[0-9A-Fa-f]{2})"
_ADDRESS = re.compile(rf"(?:https?://[A-Za-z0-9](?:{_PATH}|:\d)*|(?!//){_PATH}+)", re.ASCII)

Finding = Check | Control | Fact


@dataclass(frozen=True, slots=True)
class Citation:
    """What a reader needs to check a result.

    ``found`` says in one sentence what was measured, or nothing for a whole claim; ``verdict`` is the
    claim's. ``statement`` and ``what`` may hold LaTeX between dollar signs. ``anchor`` is the place in
    ``report.html`` and the named destination in ``report.pdf``, which lie at ``address``.
    """

    key: str
    claim: str
    title: str
    statement: str
    what: str
    found: str
    verdict: str
    digest: str
    seed: int
    profile: str
    version: str
    created: datetime
    anchor: str
    address: str

    @property
    def page(self) -> str:
        """The place in the HTML report."""
        return f"{self.address}report.html#{quote(self.anchor)}"

    @property
    def sheet(self) -> str:
        """The place in the PDF report."""
        return f"{self.address}report.pdf#nameddest={quote(self.anchor)}"


def citation(
    record: RunRecord, claim: ClaimRecord, finding: Finding | None = None, address: str = ""
) -> Citation:
    """Return the citation of a claim, or of one of its findings.

    ``address`` is where the report is published, a folder's URL; nothing means beside the document.
    """
    key = f"{claim.id}.{finding.id}" if finding else claim.id
    if address and not address.endswith("/"):
        address += "/"
    return Citation(
        key=key,
        claim=claim.id,
        title=claim.title,
        statement=claim.statement,
        what=_what(finding),
        found=_found(finding),
        verdict=badge(claim.verdict).word,
        digest=claim.digest,
        seed=record.run.settings.seed,
        profile=record.run.settings.profile,
        version=record.tool.version,
        created=creation(record),
        anchor=key,
        address=address,
    )


def check_address(address: str) -> None:
    """Check that every form of a citation can carry a folder's address; an empty one is fine.

    Raises:
        CitationError: it is no http address and no path, or has signs that end a link or a field.
    """
    if address and not _ADDRESS.fullmatch(address):
        raise CitationError(
            f"--url {address!r}: give a folder's http(s) address or path, of letters, digits and "
            "- . _ ~ / @ + , = alone, a path not starting with //; write other signs as in %20"
        )


def _what(finding: Finding | None) -> str:
    if isinstance(finding, Check):
        where = cell_text(finding.cell)
        if finding.method == "fit" and {"points", "from", "to"} <= finding.cell.keys():
            points, low, high = (numbers.setting(finding.cell[name]) for name in ("points", "from", "to"))
            return f"{finding.quantity}, fitted through {points} points from {low} to {high}"
        return f"{finding.quantity} at {where}" if where else finding.quantity
    if isinstance(finding, Control):
        return f"wrong version, {finding.what}"
    return finding.what if finding else ""


def _found(finding: Finding | None) -> str:
    if finding is None:
        return ""
    if isinstance(finding, Fact):
        return numbers.exact(finding.value)
    level = ""
    # A control has no standard error of its own; its interval shows which digits are significant.
    error = (finding.interval[1] - finding.interval[0]) / 10
    if isinstance(finding, Check):
        error, level = finding.standard_error, f" at level {numbers.level(finding.level)}"
    found = numbers.estimate(finding.estimate, error, finding.interval)
    interval = f", simultaneous interval {found.interval}{level}" if finding.blocks else ""
    return (
        f"{found.value}{found.times}{interval}; predicted {predicted(finding, error)}; "
        f"{badge(finding.verdict).word}"
    )


def as_text(of: Citation) -> str:
    """Return one paragraph of plain text."""
    return f"{without_address(of)} {of.page}, {of.sheet}"


def without_address(of: Citation) -> str:
    """Return one paragraph of plain text that does not say where the report lies."""
    measured = f" {capitalised(plain(of.what))}: {of.found}." if of.found else ""
    return (
        f"sdpa-verify {of.version}, {of.key}: {plain(of.title)}. {plain(of.statement)}{measured} "
        f"Claim {of.verdict}. {_imprint(of)}, digest {of.digest}."
    )


def as_markdown(of: Citation) -> str:
    """Return Markdown; formulas stay between dollar signs."""
    measured = f" {capitalised(prose_for_markdown(of.what))}: {of.found}." if of.found else ""
    return (
        f"[sdpa-verify {for_markdown(of.version)}, `{of.key}`]({of.page}): *{prose_for_markdown(of.title)}.* "
        f"{prose_for_markdown(of.statement)}{measured} "
        f"Claim {of.verdict}. {_imprint(of)}, digest `{of.digest}` ([PDF]({of.sheet}))."
    )


def as_html(of: Citation) -> str:
    """Return a paragraph of HTML; formulas are in words."""
    measured = f" {for_html(capitalised(plain(of.what)))}: {for_html(of.found)}." if of.found else ""
    return (
        f'<p class="citation"><a href="{for_html(of.page)}">sdpa-verify {for_html(of.version)}, '
        f"<code>{for_html(of.key)}</code></a>: <cite>{for_html(plain(of.title))}.</cite> "
        f"{for_html(plain(of.statement))}{measured} Claim {of.verdict}. {_imprint(of)}, "
        f'digest <code>{of.digest}</code> (<a href="{for_html(of.sheet)}">PDF</a>).</p>'
    )


def as_rst(of: Citation) -> str:
    """Return reStructuredText; formulas are math roles."""
    measured = f" {capitalised(prose_for_rst(of.what))}: {of.found}." if of.found else ""
    return (
        f"`sdpa-verify {for_rst(of.version)}, {of.key} <{of.page}>`__: {prose_for_rst(of.title)}. "
        f"{prose_for_rst(of.statement)}{measured} Claim {of.verdict}. {_imprint(of)}, digest ``{of.digest}`` "
        f"(`PDF <{of.sheet}>`__)."
    )


def as_latex(of: Citation) -> str:
    r"""Return LaTeX for running text; needs the package url."""
    measured = f" {capitalised(prose_for_tex(of.what))}: {for_tex(of.found)}." if of.found else ""
    return (
        f"sdpa-verify {for_tex(of.version)}, \\texttt{{{for_tex(of.key)}}}: "
        f"\\emph{{{prose_for_tex(of.title)}.}} {prose_for_tex(of.statement)}{measured} "
        f"Claim {of.verdict}. {_imprint(of)}, digest \\texttt{{{of.digest[:16]}}}. \\url{{{of.page}}}"
    )


def as_bibtex(of: Citation) -> str:
    """Return a BibTeX entry."""
    note = f"Claim {of.verdict}. {_imprint(of)}, digest {of.digest}"
    if of.found:
        note = f"{capitalised(prose_for_tex(of.what))}: {for_tex(of.found)}. {note}"
    entries = {
        "author": f"{{{AUTHORS}}}",
        "title": f"{{sdpa-verify, claim {of.claim}: {prose_for_tex(of.title)}}}",
        "year": f"{of.created:%Y}",
        "month": f"{of.created:%b}".lower(),
        "howpublished": f"Software, version {for_tex(of.version)}",
        "note": note,
        "url": of.page,
    }
    lines = (
        f"  {name} = {value}," if name == "month" else f"  {name} = {{{value}}},"
        for name, value in entries.items()
    )
    return "\n".join((f"@misc{{sdpa-verify:{of.key},", *lines, "}"))


def as_csl(of: Citation) -> str:
    """Return a list of one item in CSL-JSON, which reference managers and Pandoc read."""
    note = f"claim {of.verdict}; {_imprint(of).lower()}; digest {of.digest}"
    item: dict[str, Any] = {
        "id": f"sdpa-verify:{of.key}",
        "type": "software",
        "title": f"sdpa-verify, claim {of.claim}: {plain(of.title)}",
        "author": [{"literal": AUTHORS}],
        "issued": {"date-parts": [[of.created.year, of.created.month, of.created.day]]},
        "version": of.version,
        "note": f"{plain(of.what)}: {of.found}; {note}" if of.found else note,
        "URL": of.page,
    }
    fields = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in item.items())
    return "[{\n  " + ",\n  ".join(fields) + "\n}]"


def as_json(of: Citation) -> str:
    """Return all that a citation holds, for programs."""
    content = {**dataclasses.asdict(of), "created": of.created.isoformat()}
    content |= {"html": of.page, "pdf": of.sheet}
    return json.dumps(content, ensure_ascii=False, indent=1)


FORMATS: dict[str, Callable[[Citation], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "html": as_html,
    "rst": as_rst,
    "latex": as_latex,
    "bibtex": as_bibtex,
    "csl-json": as_csl,
    "json": as_json,
}
"""The forms of a citation, by the names they have on the command line."""


def _imprint(of: Citation) -> str:
    return f"Seed {of.seed}, {of.profile} profile, {of.created:%Y-%m-%d}"
