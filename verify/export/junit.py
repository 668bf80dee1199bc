"""A run or an audit as a JUnit XML file, the form that CI systems read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from verify.evidence import ClaimRecord, Proof, RunRecord, Verdict
from verify.evidence.audits import Judgement
from verify.text import numbers
from verify.text.escapes import for_xml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.evidence.audits import AuditRecord, LayerRecord


Case = tuple[str, str, str]
"""A case's name, "" or "failure" or "error", and the message of one that does not pass."""


def to_junit(record: RunRecord | AuditRecord) -> bytes:
    """Return the XML of a run or an audit, whose failing cases are refuted and whose errors are undecided.

    Of a run, each claim is a test suite; derivation, checks and controls are its cases, and a failed
    derivation or a control that was not refuted fails as well. Properties of a suite say how its claim is
    derived, and how many of its checks are measured and exact. Of an audit, each layer is a suite, and the
    findings that decide are its cases.
    """
    elapsed = record.run.elapsed_s if isinstance(record, RunRecord) else record.elapsed_s
    root = ET.Element("testsuites", name="sdpa-verify")
    if isinstance(record, RunRecord):
        for claim in record.claims:
            suite = _suite(root, claim.id, f"{claim.chapter}.{claim.id}", _cases(claim))
            _add_properties(suite, claim)
    else:
        for layer in record.layers:
            _suite(root, layer.id, f"audit.{layer.id}", _audit_cases(layer))
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    root.set("time", f"{elapsed:.3f}")
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _suite(root: ET.Element, name: str, class_name: str, cases: Iterable[Case]) -> ET.Element:
    cases = list(cases)
    suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(cases)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(problem == kind for _, problem, _ in cases)))
    for case_name, problem, message in cases:
        case = ET.SubElement(suite, "testcase", classname=class_name, name=case_name)
        if problem:
            ET.SubElement(case, problem, message=for_xml(message))
    return suite


def _audit_cases(layer: LayerRecord) -> Iterator[Case]:
    from verify.evidence.words import figures  # noqa: PLC0415 - not needed for a run

    for one in layer.findings:
        if one.decides:
            problem = {Judgement.REFUTED: "failure", Judgement.UNDECIDED: "error"}.get(one.judgement, "")
            value = "" if one.estimate is None else _measured(*figures(one))
            fix = f"fix: {one.fix}" if one.fix else ""
            yield one.id, problem, "; ".join(filter(None, [value, one.reason, one.cause, fix]))


def _measured(estimate: str, _error: str, low: str, high: str) -> str:
    return f"estimate {estimate}" + (f", interval [{low}, {high}]" if low or high else "")


def _add_properties(suite: ET.Element, claim: ClaimRecord) -> None:
    properties = ET.Element("properties")
    suite.insert(0, properties)
    said = {
        "derivation": claim.derivation.status.value,
        "measured-checks": str(claim.measured_checks),
        "exact-checks": str(claim.exact_checks),
    }
    for name, value in said.items():
        ET.SubElement(properties, "property", name=name, value=value)


def _cases(claim: ClaimRecord) -> Iterator[Case]:
    derivation = claim.derivation
    yield "derivation", "failure" if derivation.status is Proof.FAILED else "", derivation.reason
    for check in claim.checks:
        found = numbers.estimate(check.estimate, check.standard_error, check.interval)
        predicted = numbers.beside(check.prediction, check.standard_error)
        value = f"estimate {found.value}{found.times}, interval {found.interval}, predicted {predicted}"
        message = "; ".join(filter(None, [value, check.reason]))
        problem = {Verdict.REFUTED: "failure", Verdict.UNDECIDED: "error"}.get(check.verdict, "")
        yield check.id, problem, message
    for control in claim.controls:
        standing = control.verdict is not Verdict.REFUTED
        message = f"the wrong version was not refuted: {control.what}"
        yield f"control {control.id}", "failure" if standing else "", message
