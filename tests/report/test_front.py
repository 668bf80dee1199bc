"""The first page is about the claims of the run: their question, numbers and failures, and nothing else."""

import re
from typing import Any

import pytest

from tests.report.builders import check, spaced
from tests.report.records import CLAIMS, record
from verify.engine.runner import presentation
from verify.errors import SettingsError
from verify.evidence import Check, ClaimRecord, Outcome, Presentation, RunRecord, Verdict
from verify.report import html
from verify.report.front import failures, is_led
from verify.report.html import linked_data, render_html
from verify.report.parts import Parts
from verify.report.run import report_of


def run_of(*names: str, numbers: dict[str, str] | None = None, **words: str) -> RunRecord:
    """Return the made-up run with some of its claims, which were asked for by name."""
    whole = record()
    chosen = tuple(claim for claim in CLAIMS if claim.id in names)
    update: dict[str, Any] = {
        "claims": names,
        "numbers": numbers or {},
        "presentation": Presentation(**words),
    }
    return whole.model_copy(update={"claims": chosen, "run": whole.run.model_copy(update=update)}).sealed()


def refuted(claim: ClaimRecord, *checks: Check) -> ClaimRecord:
    """Return a claim whose measured checks are these, one of them refuted."""
    return claim.model_copy(
        update={"checks": checks, "verdict": Verdict.REFUTED, "reason": "by one"}
    ).sealed()


def test_a_report_of_a_claim_is_about_it() -> None:
    """Title, question, statement, numbers and figure are its own, and its number is the catalogue's."""
    report = report_of(run_of("score-variance", numbers={"score-variance": "1.2"}))
    (lead,) = report.leads
    assert report.title == CLAIMS[0].title
    assert report.question == "Is it true?"
    assert lead.card.number == "1.2"
    assert [chapter.number for chapter in report.chapters] == ["1"]
    assert lead.keys
    assert {key.link for key in lead.keys} <= report.anchors
    assert [one.key for one in lead.figures] == [f"score-variance.{one.id}" for one in CLAIMS[0].series[:2]]
    assert (report.answer, report.panels, report.limits, report.lesson) == ((), (), (), ())
    assert all(one.outcome is not Outcome.OPEN for source in report.sources for one in source.statements)
    assert all(source.statements for source in report.sources)


@pytest.mark.usefixtures("no_faces")
def test_what_is_given_is_printed() -> None:
    """Title, question and author of the user's own stand in the page, its head and what machines read."""
    run = run_of(
        "score-variance", title="How $d_k$ acts", question="Does $d_k$ matter?", author="A. <b> Müller"
    )
    report = report_of(run)
    assert (report.title, report.question, report.author) == tuple(run.run.presentation.model_dump().values())
    data = linked_data(report)
    assert '"headline":"How d_k acts"' in data
    assert '"author":{"@type":"Person","name":"A. \\u003cb> Müller"}' in data
    page = render_html(run, Parts.of(run))
    assert "<title>How d_k acts</title>" in page
    assert page.count("A. &lt;b&gt; Müller") >= 3
    assert 'id="lesson"' not in page
    assert "const draws" not in page
    assert "Not supported by this run" not in page


def test_own_claims_need_no_chapter() -> None:
    """Where all claims are the user's own they are counted from one."""
    report = report_of(
        run_of("score-variance", "double-sum", numbers={"score-variance": "1", "double-sum": "2"})
    )
    assert (report.chapters[0].id, report.chapters[0].number) == ("chapter", "")
    assert [card.number for card in report.cards] == ["1", "2"]


@pytest.mark.parametrize(
    ("estimate", "prediction", "relation", "words"),
    [
        (63.9, 128.0, "=", "is 63.90, not 128: off by 50%"),
        (-1.0, -3.0, "=", "is −1.0000, not −3: off by 67%"),
        (6.0, 1.0, "=", "is 6.0000, not 1: 6 times as large"),
        (0.5, 0.0, "=", "is 0.5000, not 0"),
        (2.5, 2.0, "≤", "is 2.5000, above the bound 2: off by 25%"),
        (1.5, 2.0, "≥", "is 1.5000, below the bound 2: off by 25%"),
    ],
)
def test_a_refuted_run_says_by_how_much(
    estimate: float, prediction: float, relation: Any, words: str
) -> None:
    """Its first page's title is the number that failed, what was predicted, and how far off it is."""
    failed = check(
        "off", estimate, prediction, verdict=Verdict.REFUTED, error=0.001, scale=1.0, relation=relation
    )
    if estimate > 60:
        failed = check("off", estimate, prediction, verdict=Verdict.REFUTED, error=0.1)
    run = run_of("score-variance")
    run = run.model_copy(update={"claims": (refuted(run.claims[0], failed),)})
    (failure,) = failures(run)
    assert failure.link == "score-variance.off"
    assert spaced(failure.short).endswith(words)
    assert "simultaneous interval" in failure.whole


@pytest.mark.usefixtures("no_faces")
def test_the_headline_of_a_refuted_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest type of the page names what failed; the failing number leads the table."""
    fine = check("fine", 1.0, 1.0, error=0.001)
    failed = check("off", 63.9, 128.0, verdict=Verdict.REFUTED, error=0.1)
    run = run_of("score-variance", title="My own claim")
    run = run.model_copy(update={"claims": (refuted(run.claims[0], fine, failed),)}).sealed()
    assert [key.link for key in report_of(run).leads[0].keys] == ["score-variance.off", "score-variance.fine"]
    monkeypatch.setattr(html, "compact", str)
    page = render_html(run, Parts.of(run))
    heading = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert heading is not None
    assert "Refuted:" in heading[0]
    assert "off by 50%" in heading[0]
    assert "My own claim" not in heading[0]
    assert '<p class="kicker">Verification report: My own claim</p>' in page


def test_a_run_of_all_has_the_usual_question() -> None:
    """Nothing asked for by name, or all that the answer needs: then the answer stands there."""
    assert not is_led(record())
    assert report_of(record()).title.startswith("Scaled dot-product attention")
    assert is_led(run_of("score-variance"))


@pytest.mark.parametrize("words", [{"title": " "}, {"question": "$\\input{x}$"}, {"author": "a\nb"}])
def test_words_that_cannot_be_printed_are_refused(words: dict[str, str]) -> None:
    """One line names the option; nothing is measured before."""
    with pytest.raises(SettingsError, match=f"^--{next(iter(words))}"):
        presentation(**words)


def test_a_seal_without_words_still_fits() -> None:
    """A record of a version that knew none of these fields is read as it was."""
    run = record()
    assert "presentation" not in run.to_json()
    assert '"numbers"' not in run.to_json()
    named = run.presented(Presentation(title="A title"))
    assert RunRecord.model_validate_json(named.to_json()) == named
    assert named.presented(Presentation(author="A. Author")).run.presentation.title == "A title"
