"""What the report says about a run: counts, sentences, corrections, the command to repeat it."""

import pytest

from tests.report.builders import check
from tests.report.records import CLAIMS, PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Settings, Verdict
from verify.report.numbers import GAP, NO_BREAK
from verify.report.tables import aligned
from verify.report.view import formulas, view
from verify.report.words import cell_text, closest_call, sentence


def spaced(text: str) -> str:
    """Return a text with plain spaces."""
    return text.replace(NO_BREAK, " ").replace(GAP, " ")


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
    assert [one.id for one in seen.corrections] == ["v4", "b3"]
    assert [card.id for card in seen.concerns] == [
        "pairwise-estimator",
        "sqrt-scaling",
        "over-scaling",
        "double-sum",
    ]
    assert [chapter.number for chapter in seen.chapters] == [1, 2]
    assert seen.figure_claim is not None
    assert seen.figure_claim.id == "score-variance"


def test_statements_link_only_to_claims_of_the_run() -> None:
    """A statement whose claim did not run has no dead link."""
    seen = view(record(SCORE_VARIANCE))
    links = {one.claim for source in seen.sources for one in source.statements}
    assert links == {"", "score-variance"}


def test_a_run_of_one_claim_without_figure_or_statements() -> None:
    """The smallest run still has a report."""
    seen = view(record(PAIRWISE, statements=()))
    assert seen.figure is None
    assert seen.sources == ()


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        (Verdict.CONFIRMED, "it lies within ±1% of the prediction and holds the derived 64."),
        (
            Verdict.APPROXIMATE,
            "it lies within ±1% of the prediction around the predicted 64, but leaves that value itself out.",
        ),
        (Verdict.REFUTED, "it lies wholly outside ±1% of the prediction around the predicted 64."),
        (
            Verdict.UNDECIDED,
            "it is neither within nor outside ±1% of the prediction around the predicted 64.",
        ),
    ],
)
def test_sentences(verdict: Verdict, ending: str) -> None:
    """One sentence holds value, error, interval, level, tolerance and prediction, for each verdict."""
    made = check("at", 64.02, 64, verdict=verdict, cell={"d_k": 64, "law": "normal"}, quantity="Var")
    assert spaced(sentence(made, proved=verdict is Verdict.CONFIRMED)) == (
        "Var at $d_{k}$ = 64, law normal: 64.02 ± 0.10, simultaneous interval [63.54, 64.52] "
        f"at level 1 − 6.1×10⁻⁷; {ending}"
    )


def test_closest_call_is_the_gravest_then_the_tightest() -> None:
    """An undecided check goes before confirmed ones; among equals the one nearest its band's edge."""
    calm, close = check("calm", 64, 64), check("close", 64.1, 64)
    undecided = check("undecided", 64, 64, verdict=Verdict.UNDECIDED)
    assert closest_call((calm, close)) is close
    assert closest_call((calm, undecided, close)) is undecided
    assert closest_call(()) is None


def test_cells_read_well() -> None:
    """Symbols are set as mathematics, words as words."""
    assert spaced(cell_text({"d_k": 1000, "n_keys": 20000, "sigma": 0.5, "block": "64×64"})) == (
        "$d_{k}$ = 1000, $n_{\\mathrm{keys}}$ = 20 000, $\\sigma$ = 0.5, block 64×64"
    )


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (Settings(), "sdpa-verify report --seed 20170612 --profile standard"),
        (Settings(profile="quick", tolerance=0.05), "sdpa-verify report --seed 20170612 --profile quick"),
        (
            Settings(seed=1, profile="deep", tolerance=0.01, false_alarm=1e-4, power=0.9),
            "sdpa-verify report --seed 1 --profile deep --tolerance 0.01 --false-alarm 0.0001 --power 0.9",
        ),
    ],
)
def test_command_repeats_the_run(settings: Settings, command: str) -> None:
    """The colophon's command names every setting that differs from the default."""
    made = record()
    again = made.model_copy(update={"run": made.run.model_copy(update={"settings": settings})})
    assert view(again).command == command


def test_decimal_points_line_up() -> None:
    """What stands right of the point, and its padding, is equally wide in all cells of a column."""
    cells = aligned(["1", "22.5", "3.125", ""])
    assert [cell.pad for cell in cells] == [1.74, 0.994, 0.0, 0.0]


def test_every_formula_is_found() -> None:
    """The walk over a view finds titles, steps and cells that hold LaTeX, and only those."""
    found = list(formulas(view(record(SCORE_VARIANCE))))
    assert any("\\varphi" in text for text in found)
    assert "The variance of a score is $d_k$" in found
    assert all("$" in text or "\\" in text or "=" in text for text in found)
