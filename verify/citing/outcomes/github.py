"""What was found as commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.citing.checked import address
from verify.text.escapes import one_line

if TYPE_CHECKING:
    from verify.citing.checked import Checked
    from verify.citing.problems import Problem


def render(checked: Checked) -> str:
    """Return a line for each problem that is left and each warning, and one for all."""
    found = [*checked.left, *checked.warnings]
    count = f"{len(checked.left)} not so, held against the results of {one_line(checked.origin)}"
    return "\n".join([*map(_command, found), f"::notice title=sdpa-verify::{_message(count)}"])


def _command(problem: Problem) -> str:
    level = "warning" if problem.is_warning else "error"
    place = f"file={_property(address(problem.path))},line={problem.quote.line}"
    message = f"{problem.quote.key}: {problem.what}"
    return f"::{level} {place},title={_property(f'sdpa-verify {problem.kind}')}::{_message(message)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
