"""What the report says of a run: its first page, its claims' question, counts, sources, settings, changes."""

import re
from typing import Any

import pytest

from tests.report.builders import check, spaced, turned
from tests.report.records import CLAIMS, SCORE_VARIANCE, record
from verify.evidence import Check, Outcome, Presentation, RunRecord, Verdict
from verify.report.html import render_html
from verify.report.front import PLAN
from verify.report.run import Report
from verify.report.tables import measured


# The first page.


def test_an_answer_stands_only_on_what_the_run_confirmed(whole: Report) -> None:
    """One claim refuted or missing, and the sentence names it."""
    run = whole.record
    assert [against for _, against in whole.answer] == [(), ()]
    rests = ("score-variance", "jacobian-saturation", "vanishing-or-exploding")
    unique = run.claim("sqrt-scaling-unique")
    wrong = tuple(turned(each, Verdict.REFUTED) for each in unique.checks)
    spoiled = (unique.model_copy(update={"checks": wrong}), *map(run.claim, rests))
    (_, first), (_, second) = Report(run.model_copy(update={"claims": spoiled})).answer
    assert first == (f"“{unique.title}” is refuted",)
    assert second == ("a claim is not part of this run",)


def test_key_numbers_are_those_of_the_checks(whole: Report) -> None:
    """Each key number is a check of the run with its value and interval; absent ones are left out."""
    run, keys = whole.record, whole.keys
    assert len(keys) == 5
    slope = run.claim("score-variance").check("slope")
    assert keys[0].link == "score-variance.slope"
    shown = measured(keys[0].check)
    assert float(shown.value) == round(slope.estimate, 4)
    low, high = float(shown.low), float(shown.high)
    assert low <= slope.interval[0] < slope.interval[1] <= high
    assert {key.link.split(".")[0] for key in Report(record()).keys} <= {claim.id for claim in CLAIMS}


def test_each_claim_stands_on_one_page_of_the_short_print(whole: Report) -> None:
    """With its figures; a run without its claims has no page, and advice rests on a claim of the run."""
    printed = [card.claim.id for page in whole.pages for card in page.cards]
    assert sorted(printed) == sorted(claim for page in PLAN["pages"].values() for claim in page["claims"])
    assert [card.claim.id for card, _ in Report(record()).advice] == ["sqrt-scaling"]
    assert len(whole.advice) == 17
    assert all(card.contrast.short and card.claim.derivation.latex for card, _ in whole.advice)
    few = Report(whole.record.model_copy(update={"claims": (whole.record.claim("self-score"),)}))
    assert [(page.id, len(page.cards)) for page in few.pages] == [("limits", 1)]


# Sources and their statements.


def test_statements_link_only_to_claims_of_the_run() -> None:
    """A part names its evidence but links only to what is there; an open one says what it awaits."""

    def parts(seen: Report) -> list[tuple[str, str]]:
        decided = (statement for source in seen.sources for statement in source.decided)
        return [seen.evidence_of(part) for statement in decided for part in statement.parts]

    assert {*parts(Report(record(SCORE_VARIANCE)))} == {
        *((f"score-variance.{name}",) * 2 for name in ("slope", "at-d64", "squared"))
    }
    everything = Report(record())
    assert ("over-scaling", "over-scaling") in parts(everything)
    (waiting,) = (statement for source in everything.sources for statement in source.open)
    assert (waiting.id, everything.waits_for(waiting)) == ("b6", ("gradient-through-layers",))


def test_corrections_begin_with_what_is_wrong() -> None:
    """Then what is misprinted, then what needs conditions; what holds or is open is none."""
    assert [statement.id for statement in Report(record()).corrections] == ["v4", "b3", "v3"]


def run_of(*names: str, numbers: dict[str, str] | None = None, **words: str | None) -> RunRecord:
    """Return the made-up run with some of its claims, which were asked for by name."""
    whole = record()
    chosen = tuple(claim for claim in CLAIMS if claim.id in names)
    update = {"claims": names, "numbers": numbers or {}, "presentation": Presentation(**words)}
    return whole.model_copy(update={"claims": chosen, "run": whole.run.model_copy(update=update)}).sealed()


def refuted(*checks: Check, title: str | None = None) -> RunRecord:
    """Return a run of a claim whose checks are these, one of them refuted."""
    run = run_of("score-variance", title=title)
    return run.model_copy(update={"claims": (run.claims[0].model_copy(update={"checks": checks}).sealed(),)})


def test_a_report_of_a_claim_is_about_it() -> None:
    """Title, question, statement, numbers and figure are its own, and its number is the catalogue's."""
    report = Report(run_of("score-variance", numbers={"score-variance": "1.2"}))
    (lead,) = report.leads
    assert report.title == CLAIMS[0].title
    assert report.question == "Is it true?"
    assert lead.card.number == "1.2"
    assert [chapter.number for chapter in report.chapters] == ["1"]
    assert lead.keys
    assert {key.link for key in lead.keys} <= report.anchors
    names = [*(figure.id for figure in CLAIMS[0].series[:2]), "ratio"]
    assert [figure.key for figure in lead.figures] == [f"score-variance.{name}" for name in names]
    assert lead.derived is not None
    assert lead.derived.chains[0][1].lines
    assert not any([report.answer, report.panels, report.limits, report.lesson])
    assert all(
        statement.outcome is not Outcome.OPEN for source in report.sources for statement in source.statements
    )
    assert all(source.statements for source in report.sources)


@pytest.mark.usefixtures("no_faces")
def test_what_is_given_is_printed() -> None:
    """Title, question and author of the user's own stand in the page, its head and what machines read."""
    run = run_of(
        "score-variance", title="How $d_k$ acts", question="Does $d_k$ matter?", author="A. <b> Müller"
    )
    report = Report(run)
    assert (report.title, report.question, report.author) == tuple(run.run.presentation.model_dump().values())
    page = render_html(run)
    assert "<title>How d_k acts</title>" in page
    assert page.count("A. &lt;b&gt; Müller") >= 3
    assert 'id="lesson"' not in page
    assert "const draws" not in page
    assert "Not supported by this run" not in page


@pytest.mark.parametrize(
    ("estimate", "prediction", "relation", "words"),
    [
        (63.9, 128.0, "=", "is 63.90, not 128: off by 50%"),
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
    error = 0.1 if estimate > 60 else 0.001
    failed = check("off", estimate, prediction, error=error, scale=1.0, relation=relation)
    (failure,) = Report(refuted(failed)).failures
    assert failure.link == "score-variance.off"
    assert spaced(failure.short).endswith(words)
    assert re.search(r" in \[.*\], predicted .* \(.1%\)\.$", failure.whole)


@pytest.mark.usefixtures("no_faces")
def test_the_headline_of_a_refuted_run() -> None:
    """The largest type of the page names what failed; the failing number leads the table."""
    fine = check("fine", 1.0, 1.0, error=0.001)
    failed = check("off", 63.9, 128.0, error=0.1)
    run = refuted(fine, failed, title="My own claim").sealed()
    assert [key.link for key in Report(run).leads[0].keys] == ["score-variance.off", "score-variance.fine"]
    page = render_html(run)
    heading = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert heading is not None
    assert "Refuted:" in heading[0]
    assert "off by 50%" in heading[0]
    assert "My own claim" not in heading[0]
    assert "</a>): My own claim</p>" in page
