"""From a run's record and its view to what the full edition prints."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from verify.evidence import Verdict
from verify.report.full.arguments import shared_arguments
from verify.report.full.derivations import full_routes, legend
from verify.report.full.terms import index
from verify.report.summary import HALF
from verify.report.tables import check_table
from verify.report.views import FigureView
from verify.report.views.full import FullCard, FullChapter, FullView, Numbered
from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verify.evidence import ClaimRecord, RunRecord
    from verify.report.full.arguments import Argument
    from verify.report.views import CardView, ReportView, RowView

_SHORT = 60  # letters, in two lines at most


def full_view(record: RunRecord, seen: ReportView) -> FullView:
    """Return what the full edition prints of a run; ``seen`` is the run's view."""
    claims = {claim.id: claim for claim in record.claims}
    numbers = {card.id: card.number for chapter in seen.chapters for card in chapter.cards}
    arguments = shared_arguments(record.claims)
    places = itertools.count(1)
    cards = [card for chapter in seen.chapters for card in chapter.cards]
    return FullView(
        chapters=tuple(
            FullChapter(
                chapter.id,
                chapter.number,
                chapter.title,
                tuple(_card(claims[card.id], card, arguments, numbers, places) for card in chapter.cards),
            )
            for chapter in seen.chapters
        ),
        fits=tuple((card, fit) for card in cards for fit in card.fits),
        index=index(cards),
    )


def _card(
    claim: ClaimRecord,
    card: CardView,
    arguments: Sequence[Argument],
    numbers: Mapping[str, str],
    places: Iterator[int],
) -> FullCard:
    powers = {row.power for row in card.controls.rows}
    measured = [check for check in claim.checks if check.method != "exact"]
    exact = check_table(claim.id, [one for one in claim.checks if one.method == "exact"], wide=True)
    return FullCard(
        card=card,
        routes=full_routes(claim, card.routes, arguments, numbers),
        legend=legend(claim),
        figures=tuple(
            Numbered(next(places), FigureView(HALF + one.key, one.title, one.alt)) for one in card.figures
        ),
        measured=check_table(claim.id, measured, wide=True),
        exact=exact,
        short=all(_is_short(row) for group in exact.groups for row in group.rows),
        confirmed=all(check.verdict is Verdict.CONFIRMED for check in claim.checks),
        refuted=card.controls.refuted == len(card.controls.rows),
        power=powers.pop() if len(powers) == 1 else "",
    )


def _is_short(row: RowView) -> bool:
    """Whether what an exact check compares fits well into half a page, beside its two values."""
    name = " ".join((row.title.quantity, row.title.formula, row.title.note)) if row.title else row.label
    return len(plain(f"{name} {row.remark}")) <= _SHORT
