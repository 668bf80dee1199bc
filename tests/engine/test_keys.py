"""Keys: what a stored value depends on changes its key, and a claim made in this process has none."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tool import example_claim
from verify.engine import tasks
from verify.engine.catalogue import Shipped, ClaimFile, InMemoryClaim, catalogue
from verify.engine.evaluate import evaluate
from verify.engine.preparing import Work
from verify.engine.runner import settings
from verify.engine.tasks import key, versions

FILE = ClaimFile(
    origin=Path("mine.py"), text=example_claim().encode(), beside=(("common", b"X = 1"),), id="mine"
)
CLAIMS = (
    Shipped("raw_scores", "score-variance"),
    Shipped("raw_scores", "score-mean"),
    FILE,
    replace(FILE, text=FILE.text + b"\n"),
    replace(FILE, beside=(("common", b"X = 2"),)),
    replace(FILE, id="other"),
)


def test_all_that_a_value_depends_on_is_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kind, its claim with the text of files, its parts, and what it is computed with."""

    def made() -> list[bytes | None]:
        return [key(kind, claim, part) for kind in ("a", "b") for claim in CLAIMS for part in (1, "1")]

    before = made()
    assert None not in before
    assert len(set(before)) == len(before)
    assert made() == before
    assert key("a", replace(FILE, origin=Path("elsewhere/mine.py"))) == key("a", FILE)
    for name in versions():
        monkeypatch.setattr(tasks, "versions", lambda name=name: {**versions(), name: "other"})
        assert not set(before) & set(made())
        monkeypatch.undo()


def test_a_claim_made_in_this_process_is_not_stored() -> None:
    """It may hold anything."""
    assert key("a", InMemoryClaim(catalogue()["score-variance"])) is None


def test_the_cells_of_the_catalogue_have_lasting_keys() -> None:
    """A cell made again is the same pickle."""
    claim = Shipped("raw_scores", "pairwise-estimator")
    works = [Work(claim, settings(profile="quick", seed=seed)) for seed in (1, 1, 2)]
    first, again, other = (
        [(cell.id, cell.pickled, cell.drawn.total.to_bytes()) for cell in stretch.cells if cell.drawn.batches]
        for stretch in (evaluate(work, "", (), 0.0) for work in works)
    )
    assert first
    assert first == again
    assert [cell[:2] for cell in first] == [cell[:2] for cell in other]
    assert first != other
