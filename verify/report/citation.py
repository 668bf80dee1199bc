"""Citations of a claim or of one finding, in the forms that documents and reference managers take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from verify.errors import CitationError
from verify.evidence import Check, Control, Fact
from verify.report import numbers
from verify.report.imprint import creation
from verify.report.latex import plain
from verify.report.words import badge, capitalised, cell_text, predicted

if TYPE_CHECKING:
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


def cite(
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


def without_address(cited: Citation) -> str:
    """Return one paragraph of plain text that does not say where the report lies."""
    measured = f" {capitalised(plain(cited.what))}: {cited.found}." if cited.found else ""
    return (
        f"sdpa-verify {cited.version}, {cited.key}: {plain(cited.title)}. {plain(cited.statement)}{measured} "
        f"Claim {cited.verdict}. {imprint(cited)}, digest {cited.digest}."
    )


def imprint(cited: Citation) -> str:
    """Return seed, profile and date of the run."""
    return f"Seed {cited.seed}, {cited.profile} profile, {cited.created:%Y-%m-%d}"
