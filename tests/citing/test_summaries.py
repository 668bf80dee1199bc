"""JUnit XML, the Markdown summary and badges: every outcome is said, bad ones first."""

from xml.etree import ElementTree as ET

import pytest

from tests.auditing.records import bad
from tests.report.builders import turned
from tests.report.records import CLAIMS, record
from verify.citing.exports import as_svg, to_junit, to_markdown
from verify.evidence import ClaimRecord, Outcome, Proof, RunRecord, Verdict
from verify.evidence.audits import AuditRecord


def suites_of(record: RunRecord | AuditRecord) -> dict[str, ET.Element]:
    """Return the test suites of a record's XML by their names."""
    root = ET.fromstring(to_junit(record))  # noqa: S314 - our own
    assert root.tag == "testsuites"
    return {suite.attrib["name"]: suite for suite in root}


def cases_of(suite: ET.Element) -> list[str]:
    """Return the names of a suite's cases."""
    return [case.attrib["name"] for case in suite.iter("testcase")]


def problems_of(suite: ET.Element) -> dict[str, str]:
    """Return what kinds of problems a suite's cases have."""
    return {case.attrib["name"]: child.tag for case in suite.iter("testcase") for child in case}


def test_a_good_run_has_cases_and_no_problems(reference: RunRecord) -> None:
    """One suite for each claim; derivation, checks and controls are its cases, each named once."""
    suites = suites_of(reference)
    sources = [f"source {source.id}" for source in reference.sources]
    assert list(suites) == [*(claim.id for claim in reference.claims), *sources]
    cases = [case for name in sources for case in cases_of(suites[name])]
    assert cases == [statement.id for statement in reference.statements]
    assert all(problems_of(suites[name]) == {} for name in sources)
    for claim in reference.claims:
        suite = suites[claim.id]
        controls = [f"control {control.id}" for control in claim.controls]
        assert cases_of(suite) == ["derivation", *(check.id for check in claim.checks), *controls]
        assert suite.attrib["tests"] == str(len(cases_of(suite)))
        if claim.verdict is Verdict.CONFIRMED:
            assert suite.attrib["failures"] == suite.attrib["errors"] == "0"
            assert problems_of(suite) == {}


def test_every_kind_of_bad_outcome(small: RunRecord) -> None:
    """Refuted and a failed derivation are failures, undecided is an error, and so is what happened."""
    good = small.claims[0]
    refuted = turned(good.checks[0], Verdict.REFUTED)
    undecided = turned(good.checks[1], Verdict.UNDECIDED)
    standing = turned(good.controls[0], Verdict.CONFIRMED)
    failed = {"status": Proof.FAILED, "reason": 'step 2 <does> & "not" follow'}
    update = {
        "checks": (refuted, undecided, *good.checks[2:]),
        "controls": (standing, *good.controls[1:]),
        "derivation": good.derivation.model_copy(update=failed),
    }
    suite = suites_of(small.model_copy(update={"claims": (good.model_copy(update=update),)}))[good.id]
    failures = dict.fromkeys(("derivation", refuted.id, f"control {standing.id}"), "failure")
    assert problems_of(suite) == failures | {undecided.id: "error"}
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("3", "1")
    messages = [child.attrib["message"] for case in suite.iter("testcase") for child in case]
    assert messages[0] == failed["reason"]
    assert f"prediction {refuted.prediction:g}" in messages[1]
    assert messages[3] == f"the negative control was not rejected: {standing.what}"


@pytest.mark.parametrize("own", [False, True])
def test_statements_are_cases(reference: RunRecord, own: bool) -> None:
    """One of the user's own that is misprinted fails; one that ships and is known to be does not.

    Open ones are skipped, and left out of a run that was asked for one claim.
    """
    run = reference.model_copy(update={"run": reference.run.model_copy(update={"own_sources": own})})
    first = reference.statements[0]
    open_part = first.parts[0].model_copy(update={"holds": None})
    opened = first.model_copy(update={"parts": (open_part, *first.parts[1:])})
    run = run.model_copy(update={"statements": (opened, *reference.statements[1:])})
    false = {Outcome.MISPRINTED, Outcome.WRONG}
    wrong = {statement.id: "failure" for statement in run.statements if own and statement.outcome in false}
    suites = suites_of(run)
    sources = [suites[f"source {source.id}"] for source in run.sources]
    problems = {name: kind for suite in sources for name, kind in problems_of(suite).items()}
    assert problems == wrong | {opened.id: "skipped"}
    assert run.exit_status == int(own)
    asked = run.model_copy(update={"run": run.run.model_copy(update={"claims": ("score-variance",)})})
    cases = [case for suite in suites_of(asked).values() for case in cases_of(suite)]
    assert (opened.id in cases) is own


def test_an_audit_has_a_suite_for_each_layer() -> None:
    """The findings that decide are its cases: refuted ones fail, undecided ones are errors, others pass."""
    audit = bad(2, 2)
    suites = suites_of(audit)
    assert list(suites) == [layer.id for layer in audit.layers]
    for layer in audit.layers:
        suite = suites[layer.id]
        deciding = [finding for finding in layer.findings if finding.decides]
        assert cases_of(suite) == [finding.id for finding in deciding]
        kinds = {"refuted": "failure", "undecided": "error"}
        wanted = {finding.id: kinds[finding.judgement] for finding in deciding if finding.judgement in kinds}
        assert problems_of(suite) == wanted
        assert suite.attrib["failures"] == str(sum(kind == "failure" for kind in wanted.values()))
    messages = [failure.attrib["message"] for failure in suites[audit.layers[0].id].iter("failure")]
    assert all("fix: divide by" in message for message in messages)


def test_every_claim_has_a_row_and_failures_a_sentence() -> None:
    """Bad news is not hidden in the table."""
    text = to_markdown(record()).decode()
    head, table = text.split("| claim |")
    exact = sum(check.blocks == 0 for claim in CLAIMS for check in claim.checks)
    measured = sum(len(claim.checks) for claim in CLAIMS) - exact
    assert f"{measured} measured and {exact} exact checks; 4 of 5 negative controls rejected." in head
    for claim in CLAIMS:
        assert f"| `{claim.id}` | {claim.derivation.status.replace('-', ' ')} |" in table
        assert f" {claim.verdict} | {claim.measured_checks} | {claim.exact_checks} |" in table
        is_bad = claim.verdict in {"refuted", "undecided"} or claim.derivation.status == "failed"
        failed = "derivation failed, " * (claim.derivation.status == "failed")
        assert (f"- **`{claim.id}`: {failed}{claim.verdict}.**" in head) is is_bad
    assert {line.count("|") for line in table.splitlines()[1:] if line.startswith("|")} == {8}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_badge_is_read_without_its_colour(claim: ClaimRecord) -> None:
    """The verdict is in the text; the SVG is well formed and has a name."""
    root = ET.fromstring(as_svg(claim))  # noqa: S314 - made here
    name, message = root.attrib["aria-label"].split(": ")
    assert name == claim.id
    failed = claim.derivation.status is Proof.FAILED
    assert message == "derivation failed" if failed else message.endswith(claim.verdict)
