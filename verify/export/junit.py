"""A run as a JUnit XML file, the form that CI systems read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from verify.escapes import for_xml
from verify.evidence import ClaimRecord, Proof, RunRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator


def to_junit(record: RunRecord) -> bytes:
    """Return the XML of a run: a test suite for each claim; derivation, checks and controls are its cases.

    A failing case is one that is refuted, a failed derivation, or a control that was not refuted; an
    undecided check is an error, for it says that the run could not decide. Properties of a suite say how
    its claim is derived, and how many of its checks are measured and exact.
    """
    root = ET.Element("testsuites", name="sdpa-verify", time=f"{record.run.elapsed_s:.3f}")
    for claim in record.claims:
        cases = list(_cases(claim))
        suite = ET.SubElement(root, "testsuite", name=claim.id, tests=str(len(cases)))
        for kind in ("failure", "error"):
            suite.set(f"{kind}s", str(sum(problem == kind for _, problem, _ in cases)))
        _add_properties(suite, claim)
        for name, problem, message in cases:
            case = ET.SubElement(suite, "testcase", classname=f"{claim.chapter}.{claim.id}", name=name)
            if problem:
                ET.SubElement(case, problem, message=for_xml(message))
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _add_properties(suite: ET.Element, claim: ClaimRecord) -> None:
    properties = ET.SubElement(suite, "properties")
    said = {
        "derivation": claim.derivation.status.value,
        "measured-checks": str(claim.measured_checks),
        "exact-checks": str(claim.exact_checks),
    }
    for name, value in said.items():
        ET.SubElement(properties, "property", name=name, value=value)


def _cases(claim: ClaimRecord) -> Iterator[tuple[str, str, str]]:
    """Yield (name, "" or "failure" or "error", message) of every case of a claim."""
    derivation = claim.derivation
    yield "derivation", "failure" if derivation.status is Proof.FAILED else "", derivation.reason
    for check in claim.checks:
        message = (
            f"estimate {check.estimate:g}, interval {list(check.interval)}, predicted {check.prediction:g}"
        )
        message = "; ".join(filter(None, [message, check.reason]))
        problem = {Verdict.REFUTED: "failure", Verdict.UNDECIDED: "error"}.get(check.verdict, "")
        yield check.id, problem, message
    for control in claim.controls:
        standing = control.verdict is not Verdict.REFUTED
        message = f"the wrong version was not refuted: {control.what}"
        yield f"control {control.id}", "failure" if standing else "", message
