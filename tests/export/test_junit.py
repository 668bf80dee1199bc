"""JUnit XML: every derivation, check and control is a case, and every outcome has its kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tests.auditing.records import bad
from verify.citing.summaries import to_junit
from verify.evidence import Proof, Verdict

if TYPE_CHECKING:
    from verify.evidence import ClaimRecord, RunRecord
    from verify.evidence.audits import AuditRecord


def _suites(record: RunRecord | AuditRecord) -> dict[str, ET.Element]:
    root = ET.fromstring(to_junit(record))  # noqa: S314 - our own
    assert root.tag == "testsuites"
    return {suite.attrib["name"]: suite for suite in root}


def _problems(suite: ET.Element) -> dict[str, str]:
    return {case.attrib["name"]: child.tag for case in suite.iter("testcase") for child in case}


def _with(record: RunRecord, claim: ClaimRecord) -> RunRecord:
    return record.model_copy(update={"claims": (claim,)})


def test_a_good_run_has_cases_and_no_problems(quick: RunRecord) -> None:
    """One suite for each claim; derivation, checks and controls are its cases, each named once."""
    suites = _suites(quick)
    assert list(suites) == [claim.id for claim in quick.claims]
    for claim in quick.claims:
        suite = suites[claim.id]
        cases = [case.attrib["name"] for case in suite.iter("testcase")]
        properties = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
        assert properties == {
            "derivation": claim.derivation.status,
            "measured-checks": str(sum(check.blocks > 0 for check in claim.checks)),
            "exact-checks": str(sum(check.blocks == 0 for check in claim.checks)),
        }
        controls = [f"control {one.id}" for one in claim.controls]
        assert cases == ["derivation", *(check.id for check in claim.checks), *controls]
        assert suite.attrib["tests"] == str(len(cases))
        if claim.verdict is Verdict.CONFIRMED:
            assert suite.attrib["failures"] == suite.attrib["errors"] == "0"
            assert _problems(suite) == {}


def test_every_kind_of_bad_outcome(small: RunRecord) -> None:
    """Refuted and a failed derivation are failures, undecided is an error, and so is what happened."""
    good = small.claims[0]
    refuted = good.checks[0].model_copy(update={"verdict": Verdict.REFUTED})
    undecided = good.checks[1].model_copy(update={"verdict": Verdict.UNDECIDED})
    standing = good.controls[0].model_copy(update={"verdict": Verdict.CONFIRMED})
    bad = good.model_copy(
        update={
            "checks": (refuted, undecided, *good.checks[2:]),
            "controls": (standing, *good.controls[1:]),
            "derivation": good.derivation.model_copy(
                update={"status": Proof.FAILED, "reason": 'step 2 <does> & "not" follow'}
            ),
        }
    )
    (suite,) = _suites(_with(small, bad)).values()
    assert _problems(suite) == {
        "derivation": "failure",
        refuted.id: "failure",
        undecided.id: "error",
        f"control {standing.id}": "failure",
    }
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("3", "1")
    messages = [child.attrib["message"] for case in suite.iter("testcase") for child in case]
    assert messages[0] == 'step 2 <does> & "not" follow'
    assert f"predicted {refuted.prediction:g}" in messages[1]
    assert messages[3] == f"the wrong version was not refuted: {standing.what}"


def test_approximate_is_no_failure(small: RunRecord) -> None:
    """Within the tolerance, though not exact, is what a tolerance allows."""
    good = small.claims[0]
    near = good.checks[0].model_copy(update={"verdict": Verdict.APPROXIMATE})
    (suite,) = _suites(_with(small, good.model_copy(update={"checks": (near, *good.checks[1:])}))).values()
    assert _problems(suite) == {}


def test_an_audit_has_a_suite_for_each_layer() -> None:
    """The findings that decide are its cases: refuted ones fail, undecided ones are errors, others pass."""
    audit = bad(2, 2)
    suites = _suites(audit)
    assert list(suites) == [layer.id for layer in audit.layers]
    for layer in audit.layers:
        suite = suites[layer.id]
        deciding = [one for one in layer.findings if one.decides]
        assert [case.attrib["name"] for case in suite.iter("testcase")] == [one.id for one in deciding]
        kinds = {"refuted": "failure", "undecided": "error"}
        wanted = {one.id: kinds[one.judgement] for one in deciding if one.judgement in kinds}
        assert _problems(suite) == wanted
        assert suite.attrib["failures"] == str(sum(kind == "failure" for kind in wanted.values()))
    messages = [one.attrib["message"] for one in suites[audit.layers[0].id].iter("failure")]
    assert all("fix: divide by" in message for message in messages)


def test_totals_and_rounded_messages(small: RunRecord) -> None:
    """The whole file says how many there are; nobody reads sixteen digits."""
    good = small.claims[0]
    refuted = good.checks[0].model_copy(update={"verdict": Verdict.REFUTED})
    record = _with(small, good.model_copy(update={"checks": (refuted, *good.checks[1:])}))
    root = ET.fromstring(to_junit(record))  # noqa: S314 - our own
    for total in ("tests", "failures", "errors"):
        assert int(root.attrib[total]) == sum(int(suite.attrib[total]) for suite in root)
    assert root.attrib["failures"] == "1"
    messages = [one.attrib["message"] for one in root.iter("failure")]
    assert messages[0].startswith("estimate ")
    assert not any(re.search(r"\d\.\d{9}", message) for message in messages)
