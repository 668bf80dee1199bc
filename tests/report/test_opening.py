"""The start of the report: algebra, fitted lines and ratios of the reference run, or nothing of them."""

import pytest

from tests.report.builders import spaced, turned
from verify.evidence import Proof, Verdict
from verify.evidence.load import shipped
from verify.report.front import Opening, opening, ratios
from verify.report.run import Report

CLAIMS = ("score-variance", "sqrt-scaling")


@pytest.fixture(scope="module")
def start(whole: Report) -> Opening:
    """Return the start of the reference run's report."""
    assert whole.opening is not None
    return whole.opening


def test_the_algebra_stands_line_by_line(start: Opening) -> None:
    """From the variance asked for to its value: a relation before each line, its reason beside it."""
    (_, raw), (_, scaled) = start.derived.chains
    assert raw.start == r"\operatorname{Var}(q\cdot k)"
    assert [line.relation for line in raw.lines] == ["="] * 5
    assert raw.lines[2].latex == r"\sum_{i=1}^{d_k} \mathbb{E}[q_i^2 k_i^2]"
    assert [line.latex for line in scaled.lines] == [r"\frac{\operatorname{Var}(q\cdot k)}{d_k}", "1"]
    assert raw.lines[-1].latex == "d_k"
    assert all(line.because for line in (*raw.lines, *scaled.lines))
    assert len(set(start.derived.assumptions)) == len(start.derived.assumptions) == 1


def test_only_what_coq_proved_is_called_proved(start: Opening) -> None:
    """A chain under other assumptions, or of another statement, is derived, whatever its claim is called."""
    words = {
        part.id: [card.claim.derivation.grade(chain).value for card, chain in part.chains]
        for part in (start.derived, *start.further)
    }
    assert words[""] == ["proved", "proved"]
    assert words["unique"] == ["derived", "proved"]
    assert words["again"] == ["derived", "derived"]


def test_the_lines_are_those_that_were_fitted(start: Opening) -> None:
    """Each coefficient with its interval, its band and verdict; law and sample stand at its line's head."""
    run = shipped()
    for claim, line in zip(map(run.claim, CLAIMS), start.fits, strict=True):
        fits = [check for check in claim.checks if check.method == "fit"]
        for check, (what, fitted, band) in zip(fits, line.rows, strict=True):
            assert what.startswith(check.quantity.rpartition(" of ")[0])
            assert fitted == check
            assert band.count(" to ") == 1
    about = spaced(start.fits[0].about)
    assert "normal components; 9 dimensions from 1 to 1024; 12 960 blocks, 77.3 M draws" in about
    assert start.ordinary is not None


def test_ratios_are_estimates_over_predictions() -> None:
    """With their intervals, in the band of the tolerance, beside what a control predicts."""
    run = shipped()
    claim = run.claim("score-variance")
    figure = ratios({claim.id: claim})["score-variance.ratio"]
    band, measured, wrong = figure.layers
    points = [check for check in claim.checks if check.id.startswith("variance-d")]
    assert measured.x == tuple(check.cell["d_k"] for check in points)
    assert measured.y == tuple(check.estimate / check.prediction for check in points)
    assert all(low < 1 < high for low, high in zip(measured.lo, measured.hi, strict=True))
    assert (set(band.lo), set(band.hi), wrong.y) == ({0.99}, {1.01}, (1.02,))
    # In one dimension there is none; a control is of the check in its own setting.
    (other,) = ratios({name: run.claim(name) for name in ("soft-cap", "row-variance")}).values()
    assert (other.layers[0].label, other.layers[-1].label) == ("derived, ±2%", "wrong: 4% more")
    missed = [turned(check, Verdict.UNDECIDED) for check in claim.checks]
    open_claim = claim.model_copy(update={"checks": tuple(missed)})
    assert "Within" not in ratios({claim.id: open_claim})["score-variance.ratio"].title


def test_nothing_stands_there_without_its_claims_or_their_proofs() -> None:
    """A report of some claims, or a run in which one of the two is not derived, begins as it did."""
    run = shipped()
    cards = Report(run).cards
    assert opening({name: card for name, card in cards.items() if name != "sqrt-scaling"}) is None
    claim = run.claim("sqrt-scaling")
    failed = claim.derivation.model_copy(update={"status": Proof.FAILED})
    card = cards[claim.id]._replace(claim=claim.model_copy(update={"derivation": failed}))
    assert opening(cards | {claim.id: card}) is None
    asked_for = run.run.model_copy(update={"claims": ("score-variance",)})
    alone = {"run": asked_for, "claims": (run.claim("score-variance"),)}
    assert Report(run.model_copy(update=alone)).opening is None
