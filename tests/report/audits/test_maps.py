"""Maps of layers × heads: what they show, as words and as a table."""

from __future__ import annotations

from tests.auditing.records import STATISTICAL, bad, good
from tests.report.audits.shown import grid
from verify.evidence.audits import Judgement
from verify.report.audits.maps import grids, map_view, overview, row_names

BAD = bad()


def test_each_statistical_kind_has_a_map() -> None:
    """And no exact one; one head alone needs none."""
    assert [one.name for one in grids(BAD)] == [*(kind.name for kind in STATISTICAL), "largest-score"]
    assert not grids(good(1, 1))


def test_a_map_says_in_words_what_it_shows() -> None:
    """Extremes with their places, the median, and how many cells are marked; the table has each value."""
    seen = map_view(grid("row-variance", BAD), narrow=True)
    assert seen.figure.alt.endswith(
        "4 layers by 4 heads: smallest 0.72 in decoder.layers.2.self_attn head 1, median 1.055, "
        "largest 1.309 in decoder.layers.0.self_attn head 1; 4 undecided."
    )
    assert "hatched where undecided" in seen.figure.title
    assert seen.claims == ("score-variance",)
    assert seen.matrix.heads == ("0", "1", "2", "3")
    assert seen.matrix.rows[0] == (
        "decoder.layers.0.self_attn",
        ("1.137\N{NO-BREAK SPACE}undecided", "1.309", "1.263", "1.032"),
    )
    assert map_view(grid("entropy", BAD), narrow=True).note == "At unit variance the catalogue derives 0.922."


def test_the_overview_shows_the_most_serious_judgement() -> None:
    """A finding on a whole layer counts for all its heads."""
    whole = overview(BAD)
    assert whole is not None
    judged = {place: one.judgement for place, one in whole.cells.items()}
    assert len(judged) == 16
    assert {judged[layer, head] for layer in range(3) for head in range(4)} == {Judgement.REFUTED}
    assert [judged[3, head] for head in range(4)] == [
        Judgement.UNDECIDED,
        Judgement.REFUTED,
        Judgement.UNDECIDED,
        Judgement.UNDECIDED,
    ]
    assert overview(good(1, 1)) is None


def test_layers_are_numbered_where_only_a_number_differs() -> None:
    """Else they keep their names."""
    assert row_names(("h.0.attn", "h.1.attn")) == ("0", "1")
    assert row_names(("encoder", "decoder")) == ("encoder", "decoder")
