"""The cards of claims of every outcome, and the pages of a good and a bad audit, word for word."""

import pytest

from tests.report.golden import FOLDER, audits, cards
from tests.report.records import CLAIMS


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Return the cards as they come out now."""
    return cards()


@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS])
def test_card_is_as_agreed(claim: str, drawn: dict[str, str]) -> None:
    """A card equals its golden file; after a wanted change run ``python -m tests.report.golden``."""
    assert drawn[claim] == (FOLDER / f"{claim}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("audit", ["audit-good", "audit-bad"])
def test_audit_is_as_agreed(audit: str) -> None:
    """An audit's page equals its golden file, made in the same way."""
    assert audits()[audit] == (FOLDER / f"{audit}.html").read_text(encoding="utf-8")
