"""Keys: what a stored value depends on changes its key, and a claim made in this process has none."""

import pickle
from dataclasses import replace
from itertools import product
from typing import Any
from pathlib import Path

import pytest

from tests.tool import example_claim
from verify.engine import keys
from verify.engine.catalogue import BuiltIn, ClaimFile, InMemoryClaim, catalogue
from verify.engine.evaluate import _to_draw
from verify.engine.keys import cell_key, chunk_key, derivation_key, made_by, settled_key
from verify.engine.runner import settings
from verify.engine.sources import Wanted
from verify.montecarlo.blocks import Request
from verify.montecarlo.experiment import cells_of, every_comparison

SHIPPED = BuiltIn("raw_scores", "score-variance")
FILE = ClaimFile(
    path=Path("mine.py"), text=example_claim().encode(), beside=(("common", b"X = 1"),), id="mine"
)
CLAIMS = (
    SHIPPED,
    BuiltIn("raw_scores", "score-mean"),
    FILE,
    replace(FILE, text=FILE.text + b"\n"),
    replace(FILE, beside=(("common", b"X = 2"),)),
    replace(FILE, id="other"),
)


def test_everything_depends_on_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """On its id, the text of a file and of the modules beside it, and on what it is computed with."""
    usual = settings(profile="quick")

    def found() -> list[bytes | None]:
        return [
            *(derivation_key(claim) for claim in CLAIMS),
            *(settled_key(claim, usual, ()) for claim in CLAIMS),
            *(cell_key(claim, 1, "cell", b"pickled") for claim in CLAIMS),
        ]

    before = found()
    assert None not in before
    assert len(set(before)) == len(before)
    assert found() == before
    for name in made_by():
        monkeypatch.setattr(keys, "made_by", lambda name=name: {**made_by(), name: "other"})
        assert not set(before) & set(found())
        monkeypatch.undo()
    assert derivation_key(replace(FILE, path=Path("elsewhere/mine.py"))) == derivation_key(FILE)


def test_a_settled_claim_depends_on_its_settings_and_evidence() -> None:
    """Another seed, tolerance or rate, or other evidence wanted, is another record."""
    usual = settings(profile="quick")
    others = (settings(seed=1, profile="quick"), settings(tolerance=0.02), settings(power=0.9))
    found = {settled_key(SHIPPED, chosen, ()) for chosen in (usual, *others)}
    assert len(found | {settled_key(SHIPPED, usual, (Wanted("check:slope", "here"),))}) == 5


def test_every_part_of_a_chunk_is_in_its_key() -> None:
    """Another seed, cell, content, beginning or end is another key; what cannot be pickled has none."""
    cells = [cell_key(SHIPPED, *parts) for parts in product((1, 2**4096), ("a", "b"), (b"x", b"y"))]
    found = {chunk_key(cell, *ends) for cell in cells if cell for ends in ((0, 64), (64, 64), (0, 63))}
    assert len(found) == 2 * 2 * 2 * 3
    assert cell_key(SHIPPED, 1, "a", b"") is None


def test_a_claim_made_in_this_process_is_not_stored() -> None:
    """It may hold anything."""
    made = InMemoryClaim(catalogue()["score-variance"])
    assert derivation_key(made) is None
    assert settled_key(made, settings(), ()) is None
    assert cell_key(made, 1, "cell", b"pickled") is None


def test_the_cells_of_the_catalogue_have_lasting_keys() -> None:
    """A cell made again is the same pickle."""
    claim = catalogue()["over-scaling"]
    first, again = (cells_of(every_comparison(claim.measured_by(claim.derived(), 0.05))) for _ in range(2))
    for cell, other in zip(first, again, strict=True):
        asked = _to_draw(Request(cell, 9))
        assert asked == _to_draw(Request(other, 9))
        assert pickle.loads(asked.pickled) == cell  # noqa: S301 - made here
    local = type("Local", (type(first[0].sampler),), {})
    sampler: Any = object.__new__(local)
    vars(sampler).update(vars(first[0].sampler))
    assert _to_draw(Request(replace(first[0], sampler=sampler), 9)).pickled == b""
