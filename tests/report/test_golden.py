"""The cards of a confirmed, approximate, undecided, refuted and underivable claim, word for word."""

import pytest

from tests.report.golden import FOLDER, cards
from tests.report.records import CLAIMS


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Return the cards as they come out now."""
    return cards()


@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS])
def test_card_is_as_agreed(claim: str, drawn: dict[str, str]) -> None:
    """A card equals its golden file; after a wanted change run ``python -m tests.report.golden``."""
    assert drawn[claim] == (FOLDER / f"{claim}.html").read_text(encoding="utf-8")
