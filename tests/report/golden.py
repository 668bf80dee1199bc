"""Writes the golden pages again: ``python -m tests.report.golden``; read the difference afterwards."""

import re
from pathlib import Path

from markupsafe import Markup

from tests.auditing.records import bad, good
from tests.report.records import CLAIMS, record
from verify.evidence.words import Badge
from verify.report.audit import audit_report
from verify.report.formulas import Formula, Formulas
from verify.report.run import Report
from verify.report.typeset import Medium
from verify.text.latex import spoken

FOLDER = Path(__file__).parent / "golden"


class Spelled(Medium):
    """Spells pictures out, so that a golden card does not depend on fonts."""

    folds = True

    def __init__(self) -> None:
        super().__init__(Formulas(), {})

    def formula(self, formula: Formula, latex: str) -> Markup:  # noqa: ARG002
        """Return the formula as plain text."""
        return Markup("⟨{}⟩").format(spoken(latex))

    def mark(self, badge: Badge) -> Markup:
        """Return the mark's name."""
        return Markup("⟨{}⟩").format(badge.mark)

    def figure(self, key: str, words: str) -> Markup:
        """Return the figure's key and words."""
        return Markup("⟨figure {}: {}⟩").format(key, words)


def cards() -> dict[str, str]:
    """Return the card of every made-up claim as HTML, by claim id."""
    given = {"measured": "", "evidence": "results.json", "sheet": "report.pdf"}
    page = Spelled().render("report.html.j2", Report(record()), **given)
    articles = re.finditer(r'<article class="card" id="([^"]+)".*?</article>', page, flags=re.DOTALL)
    made = {article[1]: re.sub(r"\n\s*\n+", "\n", article[0]) + "\n" for article in articles}
    assert [*made] == [claim.id for claim in CLAIMS]
    return made


def audits() -> dict[str, str]:
    """Return the page of an audit in which all is well and of one with every judgement, by a name for it."""
    pages = {}
    for name, audit in (("audit-good", good(2, 2)), ("audit-bad", bad(3, 2))):
        page = Spelled().render("audit.html.j2", audit_report(audit))
        main = re.search(r"<main.*</main>", page, flags=re.DOTALL)
        assert main is not None
        # A new field of the record changes its seal, and nothing that is read.
        text = re.sub("<code>[0-9a-f]{16}</code>", "⟨seal⟩", main[0])
        pages[name] = re.sub(r"\n\s*\n+", "\n", text) + "\n"
    return pages


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in (cards() | audits()).items():
        (FOLDER / f"{name}.html").write_text(text, encoding="utf-8")
