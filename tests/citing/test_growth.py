"""Documents of any kind are read in time that grows with their length, not with its square."""

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.records import record
from verify.citing.documents import check
from verify.errors import CitationError

RUN = record()


def quoted(text: str) -> str:
    """Return a quotation of a figure."""
    return f"<!-- verify: score-variance.slope:estimate -->{text}<!-- /verify -->"


def repeated(text: str) -> Callable[[int], str]:
    """Return what makes a text of a length in characters by repeating one."""
    return lambda size: text * (size // len(text))


def inside(text: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return what makes a quotation of a length in characters by repeating a text in it."""
    return lambda size: quoted(before + text * (size // len(text)) + after)


CASES: dict[str, tuple[str, Callable[[int], str]]] = {
    "openings": (".md", repeated("<!--a:")),
    "openings that fail": (".md", repeated("<!- <!--")),
    "openings in a quotation": (".md", inside("<!- ")),
    "unclosed roles": (".md", repeated("{verify}`a ")),
    "unclosed roles in rst": (".rst", repeated(":verify:`a ")),
    "spaces in a role": (".rst", lambda size: f":verify:`a{' ' * size}`"),
    "angles in a role": (".rst", lambda size: f":verify:`{'a<' * (size // 2)}`"),
    "spaces in input": (".tex", lambda size: rf"\input{{{' ' * size}"),
    "inputs": (".tex", repeated(r"\input{a}")),
    "macros": (".tex", repeated("\\verifyvalue{score-variance.slope}{$1$}%\n")),
    "stars after a digit": (".md", inside("*", "1")),
    "digits with stars": (".md", inside("1**")),
    "stars between digits": (".md", inside("*", "1 ", " 2 x")),
    "ones": (".md", inside("1 ")),
    "brackets": (".md", inside("[1")),
    "ranges": (".md", inside("1 to ")),
    "points": (".md", inside("1.")),
    "groups": (".md", inside(",111", "1")),
    "digits": (".md", inside("1")),
    "spaces before a unit": (".md", inside(" ", "1 to", "~1")),
    "entities": (".md", inside("&#1")),
    "links": (".md", inside("](")),
    "minus signs": (".md", inside("-")),
    "ticks of every length": (
        ".md",
        lambda size: " ".join("`" * n for n in range(1, int((2 * size) ** 0.5))),
    ),
    "fences": (".md", repeated("```\n~~~\n")),
    "stale forms": (".md", repeated("<!-- verify: score-variance.slope|pm -->1<!-- /verify -->\n")),
    "spaces in a form": (".md", lambda size: f'<!-- verify: a|{" " * size}" -->1<!-- /verify -->'),
    "marks": (".md", inside("*_`$", "1 ", " 2 x")),
    "indented lines": (".md", repeated("- a\n\n      b\n\n")),
    "deeper lists": (".md", lambda size: "".join(f"{' ' * n}- a\n" for n in range(int((2 * size) ** 0.5)))),
    "openings of pre": (".md", repeated("<pre> <script>")),
    "indented paragraphs": (".adoc", repeated("\n\n a\nb\n")),
    "right quotations": (".md", repeated(quoted("1.000") + "\n")),
    "stale quotations": (".md", repeated(quoted("9.9") + "\n")),
    "quotations in code": (".md", repeated(f"`{quoted('9.9')}`\n")),
    "one mistyped key": (".md", repeated("<!-- verify: score-varianc.slope -->1<!-- /verify -->\n")),
    "mistyped keys": (
        ".md",
        lambda size: "".join(
            f"<!-- verify: score.slope{n} -->1<!-- /verify -->\n" for n in range(size // 50)
        ),
    ),
    "mistyped markers": (".md", lambda size: "".join(f"<!--verifx:{n}-->" for n in range(size // 16))),
    "words": (
        ".md",
        lambda size: f"<!-- verify: score-variance -->{'refuted ' * (size // 8)}<!-- /verify -->",
    ),
}


def seconds(path: Path, text: str) -> float:
    """Return the processor time of a check of a document."""
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    with contextlib.suppress(CitationError):  # refusing is an answer as well
        check([path], RUN)
    return time.process_time() - begun


SHORT = ("openings", "stars after a digit", "ticks of every length", "stale forms", "words")
"""Cases of each kind of reading, tried in short documents; all are in long ones, by the longer studies."""


@pytest.mark.parametrize(
    ("case", "size"),
    [
        *((case, 10_000) for case in SHORT),
        *(pytest.param(case, 100_000, marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_four_times_the_length_takes_about_four_times_the_time(tmp_path: Path, case: str, size: int) -> None:
    """A square would make it sixteen times; half of that allows for noise and for what leaves the cache."""
    kind, text = CASES[case]
    path = tmp_path / f"page{kind}"
    once = longer = math.inf
    for _ in range(4):
        # Again where another program which ran meanwhile slowed one of them.
        once, longer = min(once, seconds(path, text(size))), min(longer, seconds(path, text(4 * size)))
        if longer < 8 * once + 0.05:
            break
    else:
        pytest.fail(f"{once:.3g} s, and {longer:.3g} s for four times as much")
