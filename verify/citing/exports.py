"""Results in the forms of other programs: LaTeX macros, JSON, JUnit XML, Markdown for CI, badges.

Every file of values says in its head which command wrote it, from results of which digest: by that, and by
the digest of a badge, `verify.citing.documents` finds out whether it is stale.
"""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

from verify.citing.languages import LATEX
from verify.citing.values import Evidence, Part, Value, chosen, reading, texts_of
from verify.errors import CitationError
from verify.evidence import ClaimRecord, Outcome, Proof, RunRecord, Statement, Verdict, words
from verify.evidence.audits import AuditRecord, LayerRecord
from verify.evidence.load import creation, digest, origin
from verify.files import head, shipped_folder
from verify.text.escapes import for_markdown, for_xml, prose_for_markdown
from verify.text.latex import plain

FORMATS = {"json": ".json", "latex": ".tex"}
"""The endings of the formats' files, by the formats' names."""
_SUFFIXES = (".yaml", ".yml", ".svg", *FORMATS.values())
_HEAD_SIZE = 16_384
_HEAD = re.compile(
    r"(?P<command>sdpa-verify export(?: [^\s;\"']+)* --format \w+); "
    r"sdpa-verify [^;\n]*?digest (?P<digest>\w{64})"
)
_BADGE = re.compile(r"<title>(?P<command>[\w-]+): [^<]*; sdpa-verify, digest (?P<digest>\w+)")


def macro_text(value: Value) -> str:
    """Return a value's text in LaTeX, for text and for formulas."""
    if not value.figures or re.search("[A-Za-z]", value.text):
        return rf"\verifywords{{{LATEX.words(value.text)}}}"
    text = LATEX.written(value.text, is_number=True)
    return text if text.startswith(r"\ensuremath") else LATEX.formula.format(text)


def bare_number(value: Value) -> Decimal | None:
    """Return a value's number as it is printed, None if it has not exactly one."""
    return reading(value.text) if value.figures and not value.text.endswith("%") else None


def exported(record: Evidence, names: Sequence[str], form: str) -> str:
    """Return the text of a file with the values that ``names`` stand for, all if there is none.

    Raises:
        CitationError: a name stands for nothing, or asks for a sentence.
    """
    for name in names:
        # The head names the command, and is read again.
        if re.search(r"[\s;\"']", name):
            raise CitationError(f"{name!r}: a sentence cannot be exported; give keys, such as KEY or KEY|.3f")
    values, sealed = chosen(record, names), digest(record)
    command = " ".join(["sdpa-verify export", *names, "--format", form])
    head = f"{command}; sdpa-verify {record.tool.version}, {origin(record)}, digest {sealed}"
    # The head is a comment of LaTeX, and an entry of JSON, which has no comments.
    if form == "latex":
        macros = (shipped_folder("templates") / "macros.tex").read_text(encoding="utf-8")
        lines = [f"% {head}\n{macros}"]
        for value in values:
            lines.append(f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n")
            if (number := bare_number(value)) is not None:
                lines.append(f"\\verifynumber{{{value.key}}}{{{number}}}%\n")
        return "".join(lines)
    texts: dict[str, str] = {}
    numbers: dict[str, int | float] = {}
    for value in values:
        # As every language takes names: score-variance.slope:estimate is score_variance_slope_estimate.
        name = re.sub(r"^(?=\d)|\W", "_", value.key, flags=re.ASCII)
        while name in texts:
            name += "_"  # a check may have the name of a part
        texts[name] = value.text
        if (number := bare_number(value)) is not None:
            numbers[name] = int(number) if int(number.as_tuple().exponent) >= 0 else float(number)
    about = {"written_by": head, "date": f"{creation(record):%Y-%m-%d}", "digest": sealed}
    content = {"about": about, "texts": texts, "numbers": numbers}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def exported_by(path: Path) -> tuple[str, str] | None:
    """Return the command that wrote a file, or a badge's claim, and the digest it carries; None of others."""
    kind, match = path.suffix.lower(), None
    if kind in _SUFFIXES:
        with contextlib.suppress(OSError, ValueError):
            start = head(path, _HEAD_SIZE).decode(errors="replace")
            match = (_BADGE if kind == ".svg" else _HEAD).search(start)
    return (match["command"], match["digest"]) if match else None


# What CI reads.
Case = tuple[str, str, str]
"""A case's name, "" or "failure", "error" or "skipped", and the message of one that does not pass."""

_COUNTED = {"": "tests", "failure": "failures", "error": "errors", "skipped": "skipped"}
_PROBLEMS = {"refuted": "failure", "undecided": "error"}


def to_junit(record: RunRecord | AuditRecord) -> bytes:
    """Return the XML of a run or an audit, whose failing cases are refuted and whose errors are undecided.

    Of a run, each claim is a test suite; derivation, checks and controls are its cases, and a failed
    derivation or a control that was not refuted fails as well. Each source is a suite, too, of its
    statements: one that is misprinted or wrong fails, but for those shipped that are known to be. One that is
    open is skipped, or left out where the run was asked for single claims. Of an audit, each layer is a
    suite, and the findings that decide are its cases.
    """
    if isinstance(record, AuditRecord):
        layers = [(layer.id, f"audit.{layer.id}", _cases(layer)) for layer in record.layers]
        return _xml(layers, record.elapsed_s)
    suites: list[tuple[str, str, Iterable[Case]]] = [
        (claim.id, f"{claim.chapter}.{claim.id}", _cases(claim)) for claim in record.claims
    ]
    for source in record.sources:
        cases = []
        for statement in (statement for statement in _asked(record) if statement.source == source.id):
            skipped = "skipped" * (statement.outcome is Outcome.OPEN)
            message = f"{words.badge(statement.outcome).word}: {plain(statement.note)}"
            cases.append((statement.id, "failure" if record.fails(statement) else skipped, message))
        if cases:
            suites.append((f"source {source.id}", f"source.{source.id}", cases))
    return _xml(suites, record.run.elapsed_s)


def refused_junit(message: str) -> bytes:
    """Return the XML of a run that was refused: one failing case, whose message names what is at fault."""
    return _xml([("sdpa-verify", "user", [("input", "failure", message)])], 0.0)


def _asked(record: RunRecord) -> list[Statement]:
    """Return the statements that a run was asked for: of a run of few claims, those that these decide."""
    is_whole = not record.run.claims or record.run.own_sources or record.run.pack is not None
    return [statement for statement in record.statements if is_whole or statement.outcome is not Outcome.OPEN]


def _xml(suites: Iterable[tuple[str, str, Iterable[Case]]], elapsed: float) -> bytes:
    """Return the XML of suites, each with its name, the class name of its cases, and these."""
    root = ET.Element("testsuites", name="sdpa-verify")
    counts = {root: Counter[str]()}
    for name, class_name, cases in suites:
        suite = ET.SubElement(root, "testsuite", name=name)
        counts[suite] = Counter()
        for case_name, problem, message in cases:
            case = ET.SubElement(suite, "testcase", classname=class_name, name=case_name)
            if problem:
                ET.SubElement(case, problem, message=for_xml(message))
            # A case counts as one of all, and as one of its kind.
            counts[suite].update({"", problem})
        counts[root].update(counts[suite])
    for element, counted in counts.items():
        for problem, total in _COUNTED.items():
            element.set(total, str(counted[problem]))
    root.set("time", f"{elapsed:.3f}")
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _numbers(part: Part) -> str:
    """Return a number with its interval and prediction, as far as there are such."""
    said = texts_of(part)
    names = [name for name in ("estimate", "interval", "prediction") if f":{name}" in said]
    return ", ".join(f"{name} {said[f':{name}'][0]}" for name in names)


def _cases(of: ClaimRecord | LayerRecord) -> Iterator[Case]:
    """Yield the cases of a claim or of an audit's layer, each with its numbers and reasons."""
    if isinstance(of, LayerRecord):
        for finding in (finding for finding in of.findings if finding.decides):
            says = [_numbers(finding), finding.reason, finding.cause, finding.fix and f"fix: {finding.fix}"]
            yield finding.id, _PROBLEMS.get(finding.judgement, ""), "; ".join(filter(None, says))
        return
    failed = of.derivation.status is Proof.FAILED
    yield "derivation", "failure" if failed else "", of.derivation.reason
    for check in of.checks:
        reason = "; ".join(filter(None, [_numbers(check), check.reason]))
        yield check.id, _PROBLEMS.get(check.verdict, ""), reason
    for control in of.controls:
        problem = "" if control.verdict is Verdict.REFUTED else "failure"
        yield f"control {control.id}", problem, f"the negative control was not rejected: {control.what}"


_MARKS = {Verdict.CONFIRMED: "✅", Verdict.APPROXIMATE: "🟡", Verdict.REFUTED: "❌", Verdict.UNDECIDED: "⚪"}
_COLUMNS = "| claim | derivation | measurement | measured checks | exact checks | controls refuted | digest |"


def to_markdown(record: RunRecord) -> bytes:
    """Return the page: what did not hold first, then a row for each claim, then the statements' outcomes."""
    chosen = record.run.settings
    rows, refuted, bad = [_COLUMNS, "|---|---|---|--:|--:|--:|---|"], 0, []
    for claim in record.claims:
        # A derivation that failed stands before the verdict: it is what the author has to mend.
        failed = "derivation failed, " * (claim.derivation.status is Proof.FAILED)
        if failed or claim.verdict not in {Verdict.CONFIRMED, Verdict.APPROXIMATE}:
            reason = prose_for_markdown(claim.reason)
            bad.append(f"- **`{claim.id}`: {failed}{claim.verdict}.** {reason}")
        rejected = sum(control.verdict is Verdict.REFUTED for control in claim.controls)
        refuted += rejected
        cells = (
            f"`{claim.id}`",
            claim.derivation.status.replace("-", " "),
            f"{_MARKS[claim.verdict]} {claim.verdict}",
            str(claim.measured_checks),
            str(claim.exact_checks),
            f"{rejected} of {len(claim.controls)}",
            f"`{claim.digest[:12]}`",
        )
        rows.append(f"| {' | '.join(cells)} |")
    blocks = [
        f"## sdpa-verify: {len(record.claims) - len(bad)} of {len(record.claims)} claims hold",
        (
            f"Version {for_markdown(record.tool.version)}, seed {chosen.seed}, {chosen.profile} profile "
            f"(tolerance ±{chosen.tolerance:.3g}), family-wise error rate of the run "
            f"{chosen.false_alarm:g}, {record.run.elapsed_s:.0f} s."
        ),
        (
            f"{record.measured_checks} measured and {record.exact_checks} exact checks; {refuted} of "
            f"{sum(len(claim.controls) for claim in record.claims)} negative controls rejected."
        ),
        *bad,
        "\n".join(rows),
    ]
    if outcomes := words.tallies(Counter(statement.outcome for statement in _asked(record)), Outcome):
        counts = ", ".join(f"{outcome.count} {outcome.word}" for outcome in outcomes)
        blocks.append(f"Statements of the sources: {counts}.")
    return "\n\n".join(blocks).encode() + b"\n"


# White text on each has a contrast of at least 4.5.
_COLOURS = {"good": "#12744f", "fair": "#7a5c00", "bad": "#b3261e", "idle": "#5c5f66"}


def as_svg(claim: ClaimRecord) -> str:
    """Return the badge of a claim, which does not rest on its colour."""
    status, name = claim.derivation.status, claim.id
    verdict = Verdict.REFUTED if status is Proof.FAILED else claim.verdict
    derived = "proved, " if status is Proof.PROVED else "derived, " if status.stands else ""
    message = "derivation failed" if status is Proof.FAILED else derived + verdict.value
    # A letter is 6.6 pixels wide, and each text has six on both sides.
    name_width, message_width = (round(len(text) * 6.6) for text in (name, message))
    split, rest = name_width + 12, message_width + 12
    width, colour = split + rest, _COLOURS[words.badge(verdict).tone]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20"
 role="img" aria-label="{name}: {message}">
<title>{name}: {message}; sdpa-verify, digest {claim.digest[:16]}</title>
<rect width="{width}" height="20" rx="3" fill="#3a3d42"/>
<path d="M{split} 0h{rest - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{split}z" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{split / 2}" y="14" textLength="{name_width}">{name}</text>
<text x="{split + rest / 2}" y="14" textLength="{message_width}">{message}</text>
</g>
</svg>
"""
