"""What was found as SARIF 2.1.0, which code scanning and editors read, with the changes that fix it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verify.citing.checked import address
from verify.citing.problems import Kind
from verify.version import __version__

if TYPE_CHECKING:
    from verify.citing.checked import Checked
    from verify.citing.problems import Problem

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    Kind.STALE: "A quoted figure or word is no longer what the results say.",
    Kind.UNKNOWN: "A document quotes a key that the results do not have.",
    Kind.DOUBT: "A document rests on a claim that is no longer confirmed.",
    Kind.MISTYPED: "A comment looks like a marker of a quotation, and is none.",
    Kind.RAW_LINE: "A marker at the start of a line turns the line's Markdown into raw HTML.",
    Kind.MENTION: "A document names a claim that is not confirmed.",
}


def render(checked: Checked) -> str:
    """Return the log of one run."""
    rules = [{"id": kind.value, "shortDescription": {"text": text}} for kind, text in _RULES.items()]
    driver = {"name": "sdpa-verify", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in (*checked.left, *checked.warnings)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _result(problem: Problem) -> dict[str, Any]:
    artifact = {"artifactLocation": {"uri": address(problem.path)}}
    result: dict[str, Any] = {
        "ruleId": problem.kind.value,
        "ruleIndex": list(_RULES).index(problem.kind),
        "level": "warning" if problem.is_warning else "error",
        "message": {"text": f"{problem.quote.key}: {problem.what}"},
        "locations": [{"physicalLocation": {**artifact, "region": {"startLine": problem.quote.line}}}],
    }
    if problem.new is not None:
        start, end = problem.quote.start, problem.quote.end
        region = {"charOffset": start, "charLength": end - start}
        change = {
            **artifact,
            "replacements": [{"deletedRegion": region, "insertedContent": {"text": problem.new}}],
        }
        result["fixes"] = [{"description": {"text": "Write the present value."}, "artifactChanges": [change]}]
    return result
