"""What was found as a Code Quality report of GitLab, which shows it in a merge request."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from verify.citing.checked import address

if TYPE_CHECKING:
    from verify.citing.checked import Checked
    from verify.citing.problems import Problem


def render(checked: Checked) -> str:
    """Return the report: a list of problems, empty where all is so."""
    found = [*checked.left, *checked.warnings]
    return json.dumps([_issue(one) for one in found], indent=2, ensure_ascii=False)


def _issue(problem: Problem) -> dict[str, Any]:
    path = address(problem.path)
    named = f"{path}\n{problem.kind}\n{problem.quote.key}\n{problem.quote.start}"
    return {
        "description": f"{problem.quote.key}: {problem.what}",
        "check_name": f"sdpa-verify/{problem.kind}",
        "fingerprint": hashlib.sha256(named.encode()).hexdigest(),
        "severity": "minor" if problem.is_warning else "major",
        "location": {"path": path, "lines": {"begin": problem.quote.line}},
    }
