"""What was found as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verify.citing.checked import address

if TYPE_CHECKING:
    from verify.citing.checked import Checked
    from verify.citing.problems import Problem


def render(checked: Checked) -> str:
    """Return an object with the documents' paths, the problems, and the results they were held against."""
    content = {
        "documents": [
            {"path": address(one.path), "quotations": sum(not quote.mistake for quote in one.quotes)}
            for one in checked.documents
        ],
        "results": checked.origin,
        "problems": [_problem(checked, one) for one in (*checked.problems, *checked.warnings)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _problem(checked: Checked, problem: Problem) -> dict[str, Any]:
    return {
        "path": address(problem.path),
        "line": problem.quote.line,
        "key": problem.quote.key,
        "kind": problem.kind.value,
        "level": "warning" if problem.is_warning else "error",
        "message": problem.what,
        "printed": problem.quote.quoted,
        "now": problem.new,
        "fixed": checked.is_fixed(problem),
    }
