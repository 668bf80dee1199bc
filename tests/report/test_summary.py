"""The short of a run says no more than the run shows."""

from tests.report.records import record
from verify.evidence import Verdict
from verify.evidence.load import shipped
from verify.report.summary import FRONT, HALF, chapter_figure, panels
from verify.report.view import view


def test_an_answer_stands_only_on_what_the_run_confirmed() -> None:
    """One claim refuted or missing, and the sentence names it."""
    run = shipped()
    assert [one.against for one in view(run).summary.answer] == [(), ()]
    spoiled = tuple(
        claim.model_copy(update={"verdict": Verdict.REFUTED}) if claim.id == "sqrt-scaling-unique" else claim
        for claim in run.claims
        if claim.id != "softmax-saturation"
    )
    first, second = view(run.model_copy(update={"claims": spoiled})).summary.answer
    assert first.against == (f"“{run.claim('sqrt-scaling-unique').title}” is refuted",)
    assert second.against == ("a claim is not part of this run",)


def test_key_numbers_are_those_of_the_checks() -> None:
    """Each key number is a check of the run with its value and interval; absent ones are left out."""
    run = shipped()
    keys = view(run).summary.keys
    assert len(keys) == 5
    slope = run.claim("score-variance").check("slope")
    shown = keys[0]
    assert shown.link == "score-variance.slope"
    assert float(shown.estimate.split("\N{NO-BREAK SPACE}")[0]) == round(slope.estimate, 4)
    low, high = (float(end) for end in shown.interval.strip("[]").split(",\N{NO-BREAK SPACE}"))
    assert low <= slope.interval[0] < slope.interval[1] <= high
    assert {key.link.split(".")[0] for key in view(record()).summary.keys} <= {
        claim.id for claim in record().claims
    }


def test_panels_are_figures_of_the_run() -> None:
    """Two lead, every chapter with another figure has one, and each is drawn from the claim's own record."""
    run = shipped()
    drawn = panels(run, "report")
    seen = view(run)
    shown = {one.key for one in (*seen.summary.figures, *(c.figure for c in seen.chapters if c.figure))}
    assert shown == set(drawn)
    assert len(seen.summary.figures) == 2
    for key, figure in drawn.items():
        claim, _, name = key.removeprefix(HALF).removeprefix(FRONT).partition(".")
        assert figure in run.claim(claim).series
        assert figure.id == name
    assert chapter_figure(()) is None
    every = {f"{claim.id}.{figure.id}" for claim in run.claims for figure in claim.series}
    assert {key for key in panels(run, "full") if key.startswith(HALF)} == {HALF + key for key in every}


def test_limits_are_the_chapter_of_limits() -> None:
    """Every claim of that chapter stands there with its result."""
    run = shipped()
    limits = [claim for claim in run.claims if claim.chapter == "limits"]
    assert [one.id for one in view(run).summary.limits] == [claim.id for claim in limits]
    assert all(one.result for one in view(run).summary.limits)
