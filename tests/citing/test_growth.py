"""Long documents are read in time that grows with their length, not with its square."""

import contextlib
import math
import time
from pathlib import Path

import pytest

from tests.report.records import record
from verify.citing.documents import check
from verify.errors import CitationError

RUN = record()
QUOTED = "<!-- verify: score-variance.slope:estimate{} -->{}<!-- /verify -->\n"
CASES = {
    "right quotations": (".md", QUOTED.format("", "1.000")),
    "stale forms": (".md", QUOTED.format("|pm", "1")),
    "quotations in code": (".md", f"`{QUOTED.format('', '9.9').strip()}`\n"),
    "a mistyped key": (".md", QUOTED.format("", "1").replace("slope", "slop")),
    "lists and code": (".md", "- a\n\n      b\n\n```\n~~~\n"),
    "one long word": (".html", "A"),
    "doctests": (".md", ">>> f()  # verify: score-variance.slope:estimate|.3f\n1.000\n"),
    "empty quotations": (".tex", "% verify: score-variance.slope|pm\n% /verify\n"),
    "switches": (".md", "<!-- verify: off -->\n<!-- verify: on -->\n"),
    "roles": (".rst", ":verify:`score-variance.slope` "),
    "inputs and macros": (".tex", "\\input{a}\n\\verifyvalue{score-variance.slope}{$1$}%\n"),
    "paragraphs": (".adoc", "\n\n a\nb\n"),
}
"""The ending of a document's name, and what it repeats."""


def seconds(path: Path, text: str) -> float:
    """Return the processor time of a check of a document."""
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    with contextlib.suppress(CitationError):  # refusing is an answer as well
        check([path], RUN)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case == "stale forms" else pytest.mark.slow) for case in CASES]
)
def test_four_times_the_length_takes_about_four_times_the_time(tmp_path: Path, case: str) -> None:
    """A square would make it sixteen times; half of that allows for noise and for what leaves the cache."""
    kind, text = CASES[case]
    path, repeats = tmp_path / f"page{kind}", 20_000 // len(text)
    once = longer = math.inf
    for _ in range(4):
        # Again where another program which ran meanwhile slowed one of them.
        once = min(once, seconds(path, text * repeats))
        longer = min(longer, seconds(path, text * 4 * repeats))
        if longer < 8 * once + 0.05:
            break
    else:
        pytest.fail(f"{once:.3g} s, and {longer:.3g} s for four times as much")
