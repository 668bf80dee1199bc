"""A run or an audit in short: JUnit XML and Markdown for CI, badges for a README."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from verify.evidence import Check, ClaimRecord, Outcome, Proof, RunRecord, Statement, Verdict
from verify.evidence.audits import AuditRecord, Judgement, LayerRecord
from verify.evidence.words import badge, figures, most_serious, tallies
from verify.text import numbers
from verify.text.escapes import for_html, for_markdown, for_xml, prose_for_markdown
from verify.text.latex import plain

Case = tuple[str, str, str]
"""A case's name, "" or "failure", "error" or "skipped", and the message of one that does not pass."""


def to_junit(record: RunRecord | AuditRecord) -> bytes:
    """Return the XML of a run or an audit, whose failing cases are refuted and whose errors are undecided.

    Of a run, each claim is a test suite; derivation, checks and controls are its cases, and a failed
    derivation or a control that was not refuted fails as well. Properties of a suite say how its claim is
    derived, and how many of its checks are measured and exact. Each source is a suite, too, of its
    statements: one that is misprinted or wrong fails, but for those shipped that are known to be. One that is
    open is skipped, or left out where the run was asked for some claims alone. Of an audit, each layer is a
    suite, and the findings that decide are its cases.
    """
    root = ET.Element("testsuites", name="sdpa-verify")
    if isinstance(record, AuditRecord):
        for layer in record.layers:
            _add_suite(root, layer.id, f"audit.{layer.id}", _audit_cases(layer))
        return _xml(root, record.elapsed_s)
    for claim in record.claims:
        properties = {
            "derivation": claim.derivation.status.value,
            "measured-checks": claim.measured_checks,
            "exact-checks": claim.exact_checks,
        }
        _add_suite(root, claim.id, f"{claim.chapter}.{claim.id}", _cases(claim), properties)
    asked = _asked(record)
    for source in record.sources:
        statements = [statement for statement in asked if statement.source == source.id]
        if statements:
            cases = (_statement_case(record, statement) for statement in statements)
            _add_suite(root, f"source {source.id}", f"source.{source.id}", cases)
    return _xml(root, record.run.elapsed_s)


def _asked(record: RunRecord) -> list[Statement]:
    """Return the statements that a run was asked for: of one of some claims, those that these decide."""
    is_whole = not record.run.claims or record.run.own_sources or record.run.pack is not None
    return [one for one in record.statements if is_whole or one.outcome is not Outcome.OPEN]


def refused_junit(name: str, message: str) -> bytes:
    """Return the XML of a run that was refused: one failing case, of the input that is at fault."""
    root = ET.Element("testsuites", name="sdpa-verify")
    _add_suite(root, name, f"user.{name}", [("input", "failure", message)])
    return _xml(root, 0.0)


def _xml(root: ET.Element, elapsed: float) -> bytes:
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    root.set("time", f"{elapsed:.3f}")
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _add_suite(
    root: ET.Element,
    name: str,
    class_name: str,
    cases: Iterable[Case],
    properties: dict[str, str | int] | None = None,
) -> None:
    cases = list(cases)
    suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(cases)))
    for problem, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(sum(kind == problem for _, kind, _ in cases)))
    if properties:
        element = ET.SubElement(suite, "properties")
        for key, value in properties.items():
            ET.SubElement(element, "property", name=key, value=str(value))
    for case_name, problem, message in cases:
        case = ET.SubElement(suite, "testcase", classname=class_name, name=case_name)
        if problem:
            ET.SubElement(case, problem, message=for_xml(message))


def _audit_cases(layer: LayerRecord) -> Iterator[Case]:
    for finding in layer.findings:
        if finding.decides:
            problem = {Judgement.REFUTED: "failure", Judgement.UNDECIDED: "error"}.get(finding.judgement, "")
            value = ""
            if finding.estimate is not None:
                estimate, _, low, high = figures(finding)
                value = f"estimate {estimate}" + (f", interval [{low}, {high}]" if low or high else "")
            fix = f"fix: {finding.fix}" if finding.fix else ""
            yield finding.id, problem, "; ".join(filter(None, [value, finding.reason, finding.cause, fix]))


def _cases(claim: ClaimRecord) -> Iterator[Case]:
    derivation = claim.derivation
    yield "derivation", "failure" if derivation.status is Proof.FAILED else "", derivation.reason
    for check in claim.checks:
        problem = {Verdict.REFUTED: "failure", Verdict.UNDECIDED: "error"}.get(check.verdict, "")
        yield check.id, problem, "; ".join(filter(None, [_measured(check), check.reason]))
    for control in claim.controls:
        standing = control.verdict is not Verdict.REFUTED
        message = f"the negative control was not rejected: {control.what}"
        yield f"control {control.id}", "failure" if standing else "", message


def _measured(check: Check) -> str:
    shown = numbers.estimate(check.estimate, check.standard_error, check.interval)
    predicted = numbers.beside(check.prediction, check.standard_error)
    return f"estimate {shown.value}{shown.times}, interval {shown.interval}, predicted {predicted}"


def _statement_case(record: RunRecord, statement: Statement) -> Case:
    problem = "failure" if record.fails(statement) else "skipped" * (statement.outcome is Outcome.OPEN)
    return statement.id, problem, f"{badge(statement.outcome).word}: {plain(statement.note)}"


_MARKS = {Verdict.CONFIRMED: "✅", Verdict.APPROXIMATE: "🟡", Verdict.REFUTED: "❌", Verdict.UNDECIDED: "⚪"}
_HEAD = "| claim | derivation | measurement | measured checks | exact checks | controls refuted | digest |"


def to_markdown(record: RunRecord) -> bytes:
    """Return the page: what did not hold first, then a row for each claim, then the statements' outcomes."""
    chosen = record.run.settings
    controls = [control for claim in record.claims for control in claim.controls]
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    bad = [claim for claim in record.claims if not _holds(claim)]
    outcomes = tallies(Counter(statement.outcome for statement in _asked(record)), Outcome)
    blocks = [
        f"## sdpa-verify: {len(record.claims) - len(bad)} of {len(record.claims)} claims hold",
        (
            f"Version {for_markdown(record.tool.version)}, seed {chosen.seed}, {chosen.profile} profile "
            f"(tolerance ±{chosen.tolerance:.3g}), family-wise error rate of the run "
            f"{chosen.false_alarm:g}, {record.run.elapsed_s:.0f} s."
        ),
        (
            f"{record.measured_checks} measured and {record.exact_checks} exact checks; "
            f"{refuted} of {len(controls)} negative controls rejected."
        ),
        *(f"- **`{claim.id}`: {claim.verdict}.** {prose_for_markdown(claim.reason)}" for claim in bad),
        "\n".join([_HEAD, "|---|---|---|--:|--:|--:|---|", *map(_row, record.claims)]),
    ]
    if outcomes:
        counts = ", ".join(f"{outcome.count} {outcome.word}" for outcome in outcomes)
        blocks.append(f"Statements of the sources: {counts}.")
    return "\n\n".join(blocks).encode() + b"\n"


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


def _holds(claim: ClaimRecord) -> bool:
    is_good = claim.verdict in {Verdict.CONFIRMED, Verdict.APPROXIMATE}
    return is_good and claim.derivation.status is not Proof.FAILED


# White text on each has a contrast of at least 4.5.
COLOURS = {"good": "#12744f", "fair": "#7a5c00", "bad": "#b3261e", "idle": "#5c5f66"}
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
    if not isinstance(subject, ClaimRecord):
        worst = most_serious(subject.findings)
        label = "attention audit" if isinstance(subject, AuditRecord) else subject.id
        is_error = worst is Judgement.REFUTED
        return Shield(label, worst.value, COLOURS[badge(worst).tone], record.seal, is_error)
    status = subject.derivation.status
    verdict = Verdict.REFUTED if status is Proof.FAILED else subject.verdict
    derived = "proved, " if status is Proof.PROVED else "derived, " if status.stands else ""
    message = "derivation failed" if status is Proof.FAILED else derived + verdict.value
    colour = COLOURS[badge(verdict).tone]
    return Shield(subject.id, message, colour, subject.digest, verdict is Verdict.REFUTED)


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
