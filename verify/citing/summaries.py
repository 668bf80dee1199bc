"""A run or an audit in short: JUnit XML and Markdown for CI, badges for a README."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from verify.evidence import ClaimRecord, Outcome, Proof, RunRecord, Statement, Verdict
from verify.evidence.audits import AuditRecord, Judgement, LayerRecord
from verify.evidence.words import badge, figures, most_serious, tallies
from verify.text import numbers
from verify.text.escapes import for_html, for_markdown, for_xml, prose_for_markdown
from verify.text.latex import plain

Case = tuple[str, str, str]
"""A case's name, "" or "failure", "error" or "skipped", and the message of one that does not pass."""


_TOTALS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def to_junit(record: RunRecord | AuditRecord) -> bytes:
    """Return the XML of a run or an audit, whose failing cases are refuted and whose errors are undecided.

    Of a run, each claim is a test suite; derivation, checks and controls are its cases, and a failed
    derivation or a control that was not refuted fails as well. Each source is one, too, of its statements:
    one that is misprinted or wrong fails, but for those shipped that are known to be, and one that is open
    is skipped. Properties of a suite say how its claim is
    derived, and how many of its checks are measured and exact. Of an audit, each layer is a suite, and the
    findings that decide are its cases.
    """
    elapsed = record.run.elapsed_s if isinstance(record, RunRecord) else record.elapsed_s
    root = ET.Element("testsuites", name="sdpa-verify")
    if isinstance(record, RunRecord):
        for claim in record.claims:
            suite = _suite(root, claim.id, f"{claim.chapter}.{claim.id}", _cases(claim))
            _add_properties(suite, claim)
        for source in record.sources:
            stated = (one for one in record.statements if one.source == source.id)
            _suite(root, f"source {source.id}", f"source.{source.id}", (_case(record, one) for one in stated))
    else:
        for layer in record.layers:
            _suite(root, layer.id, f"audit.{layer.id}", _audit_cases(layer))
    for total in ("tests", *_TOTALS.values()):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    root.set("time", f"{elapsed:.3f}")
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _suite(root: ET.Element, name: str, class_name: str, cases: Iterable[Case]) -> ET.Element:
    cases = list(cases)
    suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(cases)))
    for kind, total in _TOTALS.items():
        suite.set(total, str(sum(problem == kind for _, problem, _ in cases)))
    for case_name, problem, message in cases:
        case = ET.SubElement(suite, "testcase", classname=class_name, name=case_name)
        if problem:
            ET.SubElement(case, problem, message=for_xml(message))
    return suite


def _audit_cases(layer: LayerRecord) -> Iterator[Case]:
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
        message = f"the negative control was not rejected: {control.what}"
        yield f"control {control.id}", "failure" if standing else "", message


def _case(record: RunRecord, statement: Statement) -> Case:
    problem = "failure" if record.fails(statement) else "skipped" * (statement.outcome is Outcome.OPEN)
    return statement.id, problem, f"{badge(statement.outcome).word}: {plain(statement.note)}"


_MARKS = {Verdict.CONFIRMED: "✅", Verdict.APPROXIMATE: "🟡", Verdict.REFUTED: "❌", Verdict.UNDECIDED: "⚪"}


def to_markdown(record: RunRecord) -> bytes:
    """Return the page: what did not hold first, then a row for each claim, then the statements' outcomes."""
    return "\n".join(_lines(record)).encode() + b"\n"


def _lines(record: RunRecord) -> Iterator[str]:
    chosen = record.run.settings
    good = sum(map(_in_order, record.claims))
    yield f"## sdpa-verify: {good} of {len(record.claims)} claims hold"
    yield ""
    yield (
        f"Version {for_markdown(record.tool.version)}, seed {chosen.seed}, {chosen.profile} profile "
        f"(tolerance ±{chosen.tolerance:.3g}), false-alarm rate of the run {chosen.false_alarm:g}, "
        f"{record.run.elapsed_s:.0f} s."
    )
    yield ""
    controls = [control for claim in record.claims for control in claim.controls]
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    yield (
        f"{record.measured_checks} measured and {record.exact_checks} exact checks; "
        f"{refuted} of {len(controls)} negative controls rejected."
    )
    yield ""
    for claim in record.claims:
        if not _in_order(claim):
            yield f"- **`{claim.id}`: {claim.verdict}.** {prose_for_markdown(claim.reason)}"
            yield ""
    yield "| claim | derivation | measurement | measured checks | exact checks | controls refuted | digest |"
    yield "|---|---|---|--:|--:|--:|---|"
    yield from map(_row, record.claims)
    yield ""
    counts = tallies(Counter(statement.outcome for statement in record.statements), Outcome)
    yield f"Statements of the sources: {', '.join(f'{one.count} {one.word}' for one in counts)}."


def _row(claim: ClaimRecord) -> str:
    refuted = sum(control.verdict is Verdict.REFUTED for control in claim.controls)
    cells = (
        f"`{claim.id}`",
        claim.derivation.status.replace("-", " "),
        f"{_MARKS[claim.verdict]} {claim.verdict}",
        str(claim.measured_checks),
        str(claim.exact_checks),
        f"{refuted} of {len(claim.controls)}",
        f"`{claim.digest[:12]}`",
    )
    return f"| {' | '.join(cells)} |"


def _in_order(claim: ClaimRecord) -> bool:
    holds = claim.verdict in {Verdict.CONFIRMED, Verdict.APPROXIMATE}
    return holds and claim.derivation.status is not Proof.FAILED


# White text on each has a contrast of at least 4.5.
_PROOFS = {
    Proof.DERIVED: "derived, ",
    Proof.CITING: "derived, ",
}
_COLOURS = {"good": "#12744f", "fair": "#7a5c00", "bad": "#b3261e", "idle": "#5c5f66"}
_ADVANCE, _SPACE, _HEIGHT = 6.6, 12, 20
_SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"
 role="img" aria-label="{label}: {message}">
<title>{label}: {message}; sdpa-verify, digest {digest}</title>
<rect width="{width}" height="{height}" rx="3" fill="#3a3d42"/>
<path d="M{split} 0h{rest}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{split}z" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{label_at}" y="14" textLength="{label_width}">{label}</text>
<text x="{message_at}" y="14" textLength="{message_width}">{message}</text>
</g>
</svg>
"""


Badged = ClaimRecord | LayerRecord | AuditRecord
"""What has a verdict that a badge can show."""


class Shield(NamedTuple):
    """What a badge says: a name, a message, a colour, and whether that is a failure."""

    label: str
    message: str
    colour: str
    digest: str
    is_error: bool


def badge_of(record: RunRecord | AuditRecord, subject: Badged) -> Shield:
    """Return the badge of a claim, of a layer or of a whole audit."""
    if isinstance(subject, ClaimRecord):
        return _of_claim(subject)
    digest = record.seal
    worst = most_serious(subject.findings)
    label = "attention audit" if isinstance(subject, AuditRecord) else subject.id
    return Shield(label, worst.value, _COLOURS[badge(worst).tone], digest, worst is Judgement.REFUTED)


def _of_claim(claim: ClaimRecord) -> Shield:
    failed = claim.derivation.status is Proof.FAILED
    verdict = Verdict.REFUTED if failed else claim.verdict
    proof = _PROOFS.get(claim.derivation.status, "")
    message = "derivation failed" if failed else proof + verdict.value
    return Shield(claim.id, message, _COLOURS[badge(verdict).tone], claim.digest, verdict is Verdict.REFUTED)


def as_svg(shield: Shield) -> str:
    """Return the badge as SVG text; what it says does not rest on its colour."""
    label_width, message_width = (round(len(text) * _ADVANCE) for text in (shield.label, shield.message))
    split = label_width + _SPACE
    width = split + message_width + _SPACE
    return _SVG.format(
        width=width,
        height=_HEIGHT,
        split=split,
        rest=width - split - 3,
        colour=shield.colour,
        label=for_html(shield.label),
        message=for_html(shield.message),
        digest=shield.digest[:16],
        label_at=split / 2,
        label_width=label_width,
        message_at=split + (width - split) / 2,
        message_width=message_width,
    )


def as_endpoint(shield: Shield) -> str:
    """Return the JSON that badge services fetch: schema, label, message and colour."""
    content = {
        "schemaVersion": 1,
        "label": shield.label,
        "message": shield.message,
        "color": shield.colour.removeprefix("#"),
        "isError": shield.is_error,
    }
    return json.dumps(content) + "\n"
