"""From a run's record to what the templates print: counts, chapters, corrections, settings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from verify.citing import citations
from verify.citing.citations import Citation, cite
from verify.evidence import Outcome, Proof, Verdict, provenance
from verify.evidence.words import counted_checks, tallies
from verify.report import imprint
from verify.report.calibration import calibration
from verify.report.cards import card
from verify.report.changes import changes
from verify.report.explorer import measured_panels
from verify.report.false_claims import false_claims, falsified
from verify.report.statements import corrections, sources
from verify.report.summary import by_chapter, chapter_figure, summary
from verify.report.views import ChapterView, ReportView
from verify.text import numbers
from verify.text.latex import Prose, Tex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.evidence import RunRecord
    from verify.report.views import CardView, FigureView

_LEADING = ("sqrt-scaling.three-scales", "score-variance.variance-line")
_EXAMPLE = "score-variance"  # the claim whose citation is shown, if it ran
_ENTRIES = (("Text", "text"), ("BibTeX", "bibtex"), ("CSL-JSON", "csl-json"), ("Markdown", "markdown"))


def view(record: RunRecord, earlier: RunRecord | None = None) -> ReportView:
    """Return what the report prints about a run, and how it differs from an ``earlier`` one, if given."""
    chapters = _chapters(record)
    cards = [one for chapter in chapters for one in chapter.cards]
    stated = sources(record)
    created = provenance.creation(record)
    example = _example(record)
    return ReportView(
        verdicts=tallies(Counter(claim.verdict for claim in record.claims), Verdict),
        proofs=tallies(Counter(claim.derivation.status for claim in record.claims), Proof),
        outcomes=tallies(Counter(statement.outcome for statement in record.statements), Outcome),
        claims=len(record.claims),
        checks=_checks(record),
        controls=sum(len(one.controls.rows) for one in cards),
        controls_refuted=sum(one.controls.refuted for one in cards),
        statements=len(record.statements),
        decided=sum(statement.outcome is not Outcome.OPEN for statement in record.statements),
        figure=_leading_figure(cards),
        example=example.key if example else "",
        entries=tuple((name, citations.FORMS[form](example)) for name, form in _ENTRIES) if example else (),
        formats=", ".join(citations.FORMS),
        chapters=chapters,
        sources=stated,
        concerns=tuple(one for one in cards if one.verdict.tone != "good" or one.alarms),
        corrections=corrections(stated),
        summary=summary(record, chapters),
        explorer=measured_panels(record),
        changes=changes(earlier, record) if earlier else None,
        settings=imprint.settings(record),
        environment=tuple(sorted(record.run.environment.items())),
        budget=imprint.budget(record),
        calibration=calibration(record.calibration),
        false_claims=false_claims(record.false_claims),
        falsified=falsified(record.falsified),
        seed=str(record.run.settings.seed),
        profile=record.run.settings.profile,
        tolerance=f"±{numbers.percent(record.run.settings.tolerance)}",
        version=record.tool.version,
        date=f"{created.day} {created:%B %Y}",
        created=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        year=str(created.year),
        digest=provenance.digest(record),
        command=provenance.command(record),
        claim_files=record.run.claim_files,
    )


def formulas(of: Any) -> Iterator[Prose | Tex]:
    """Yield every text of a view that may hold LaTeX."""
    if isinstance(of, str):
        if isinstance(of, Tex) or (isinstance(of, Prose) and "$" in of):
            yield of
    elif isinstance(of, tuple):
        for item in of:
            yield from formulas(item)
    else:
        # A number, or nothing, is no dataclass.
        for name in getattr(of, "__dataclass_fields__", ()):
            yield from formulas(getattr(of, name))


def _example(record: RunRecord) -> Citation | None:
    """Return the citation that shows how to cite: of a fit if there is one, else of any check."""
    claims = [claim for claim in record.claims if claim.checks]
    if not claims:
        return None
    claim = next((one for one in claims if one.id == _EXAMPLE), claims[0])
    check = next((one for one in claim.checks if one.method == "fit"), claim.checks[0])
    return cite(record, claim, check)


def _checks(record: RunRecord) -> str:
    """Return the number of checks, and how many of them are measured and exact."""
    total = record.measured_checks + record.exact_checks
    kinds = counted_checks(record.measured_checks, record.exact_checks)
    return f"{numbers.count(total)} {'check' if total == 1 else 'checks'} ({kinds})"


def _leading_figure(cards: Sequence[CardView]) -> FigureView | None:
    """Return the figure that sums the run up, else the first."""
    drawn = {figure.key: figure for one in cards for figure in one.figures}
    return next((drawn[key] for key in _LEADING if key in drawn), next(iter(drawn.values()), None))


def _chapters(record: RunRecord) -> tuple[ChapterView, ...]:
    return tuple(
        ChapterView(
            id=f"chapter-{number}",
            number=number,
            title=Prose(claims[0].chapter_title),
            cards=tuple(card(record, claim, f"{number}.{place}") for place, claim in enumerate(claims, 1)),
            figure=chapter_figure(claims),
        )
        for number, claims in enumerate(by_chapter(record), 1)
    )
