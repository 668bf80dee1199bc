"""What the report says about a run: its counts, and every formula of it."""

from tests.report.builders import check, exact_check, spaced
from tests.report.records import CLAIMS, PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.report.view import formulas, view


def test_counts_add_up() -> None:
    """The summary's counts are those of the record."""
    seen = view(record())
    assert sum(tally.count for tally in seen.verdicts) == seen.claims == len(CLAIMS)
    assert {tally.badge.word: tally.count for tally in seen.proofs} == {
        "proved": 2,
        "derivation failed": 1,
        "not claimed": 2,
    }
    assert (seen.controls, seen.controls_refuted) == (5, 4)
    assert (seen.statements, seen.decided) == (5, 4)
    assert [one.id for one in seen.corrections] == ["v4", "b3", "v3"]
    assert [card.id for card in seen.concerns] == [
        "pairwise-estimator",
        "sqrt-scaling",
        "over-scaling",
        "double-sum",
    ]
    assert [chapter.number for chapter in seen.chapters] == [1, 2]
    assert seen.figure is not None
    assert seen.figure.key == "score-variance.line"


def test_a_run_of_one_claim_without_figure_or_statements() -> None:
    """The smallest run still has a report."""
    seen = view(record(PAIRWISE, statements=()))
    assert seen.figure is None
    assert seen.sources == ()


def test_checks_are_counted_as_measured_and_exact() -> None:
    """Wherever their number stands it says how many rest on draws; of one kind alone, that kind."""
    exact = exact_check("e", 0.5, "1/2", "p")
    claim = SCORE_VARIANCE.model_copy(update={"checks": (check("a", 64, 64), check("b", 64, 64), exact)})
    seen = view(record(claim))
    assert seen.checks == "3 checks (2 measured, 1 exact)"
    assert spaced(seen.chapters[0].cards[0].counted) == "2 + 1"
    assert view(record(claim.model_copy(update={"checks": (exact,)}))).checks == "1 check (1 exact)"


def test_every_formula_is_found() -> None:
    """The walk over a view finds titles, steps and cells that hold LaTeX, and only those."""
    found = list(formulas(view(record(SCORE_VARIANCE))))
    assert any("\\varphi" in text for text in found)
    assert "The variance of a score is $d_k$" in found
    assert all("$" in text or "\\" in text or "=" in text for text in found)
