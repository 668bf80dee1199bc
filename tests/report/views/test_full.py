"""The view of all evidence: its claims and figures in one row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from verify.report.views.full import FullView


def test_claims_and_figures_are_in_the_order_of_their_chapters() -> None:
    """However they are shared among chapters and claims."""
    chapters: Any = (
        SimpleNamespace(cards=[SimpleNamespace(figures=["a", "b"]), SimpleNamespace(figures=[])]),
        SimpleNamespace(cards=[]),
        SimpleNamespace(cards=[SimpleNamespace(figures=["c"])]),
    )
    view = FullView(chapters, (), ())
    assert view.cards == tuple(card for chapter in chapters for card in chapter.cards)
    assert [str(one) for one in view.figures] == ["a", "b", "c"]
