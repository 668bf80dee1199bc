"""Wrong inputs over all that reads: an answer or one clear line must come, in time and without a traceback.

A few of each kind are tried with the default tests, more of them among the longer studies, and as many as
``FUZZ`` says by hand (``FUZZ=1000 pytest -m slow tests/faults/test_fuzz.py``). What was met once lies in
``corpus/``, a folder for each kind.
"""

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from tests.report.records import record
from tests.tool import EXAMPLE, ROOT, Ended, Tool, example_claim
from verify.auditing.audit import audit
from verify.citing.values import values_of
from verify.engine.catalogue import read
from verify.engine.statements import read_sources
from verify.errors import VerifyError
from verify.symbolic import notation
from verify.symbolic.grammar import parse, parse_formula

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*/*"))
MANY = int(os.environ.get("FUZZ", "90"))
LIMIT_S = 10.0
"""Processor time an answer may take: several times what a whole page takes on a slow machine."""

_SIGNS = "$ % # { } <b> <!-- --> ` &amp; | 1e999 nan -0 -5 1.001 ٣ ½ √d·k²"
STRANGE = ["", " ", "\n", "\0", "\ufeff", "\u202e", "9" * 50, "\udcff", "x" * 300, *_SIGNS.split()]
_WORDS = """
values cite check-docs export badge ask list show plan render run report audit compare probe site reproduce
--help --format --results --out --seed --profile --tolerance --workers --claims --write --url //host
-1 - -- . * quick no-such-file score-variance score-variance.slope run:seed
"""
WORDS = [*_WORDS.split(), *STRANGE]
QUESTIONS = [
    ("Var(q·k/√d_k)", "1"),
    ("E[H(q·k/√d_k)]", "log(n)"),
    ("P(q·k > 2 sqrt(d_k))", "sqrt(2/pi) d_k^(1/2)"),
    ("quantile(q·k, 0.95)", "1e-3"),
    ("2^3^2 E(q_i^4) + E(log(sum(exp(q·k))))", "(n - 1)/n^2"),
]


def wrong(answer: Ended) -> str:
    """Return what is wrong with an answer; nothing where it is as it must be."""
    complaints = [line for line in answer.err.splitlines() if line.startswith("sdpa-verify: ")]
    if answer.status not in {0, 1, 2, 3, 4}:
        return f"status {answer.status!r}"
    if "Traceback" in answer.err:
        return "a traceback"
    if len(complaints) != (answer.status in {2, 4}):
        return f"{len(complaints)} complaints with status {answer.status}: {answer.err[-300:]!r}"
    return ""


def reading(read_it: Callable[[], object]) -> Ended:
    """Return what reading answers, where no command does that alone."""
    try:
        read_it()
    except VerifyError as error:
        return Ended(error.exit_status, "", f"sdpa-verify: {str(error).splitlines()[0]}\n")
    return Ended(0, "", "")


def with_mistakes(random: Random, content: bytes) -> bytes:
    """Return a text with a few stretches left out, doubled, replaced, or with bits flipped."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        start = random.randrange(len(changed) + 1)
        end = min(len(changed), start + random.choice((0, 1, 1, 2, 5, 20, 200, 2000)))
        strange = random.choice(STRANGE).encode(errors="surrogatepass")
        flipped = bytes(byte ^ 1 << random.randrange(8) for byte in changed[start : min(end, start + 3)])
        changed[start:end] = random.choice((b"", strange, strange, changed[start:end] * 2, flipped))
    return bytes(changed)


def command_line(random: Random) -> bytes:
    """Return a command line as JSON; no claim is run by it, whatever option comes last."""
    words = random.choices(WORDS, k=random.randrange(7))
    runs = {"run", "report", "plan", "probe", "ask", "reproduce"} & set(words)
    return json.dumps([*words, *(["--", "no-such-claim"] * bool(runs))]).encode()


def document(random: Random) -> bytes:
    """Return a page in Markdown that quotes five values of the record."""
    values = [value for value in values_of(record()) if value.key.startswith("score-variance.at-d")]
    quoted = random.sample(values, 5)
    marks = (f"Here <!-- verify: {value.key} -->{value.text}<!-- /verify -->" for value in quoted)
    return " and\n".join(marks).encode()


def recording(random: Random) -> bytes:
    """Return an archive of arrays, of which up to two are other ones than fit."""
    drawn = np.random.default_rng(1).standard_normal((4, 2, 2, 6, 4))
    arrays = dict(zip(("q", "k", "v", "out"), drawn, strict=True))
    queries = arrays["q"]
    others = (
        queries[:, :, : random.randrange(6)],
        queries.astype(random.choice(("<f2", ">f8", "?", "i1", "c8", "U3"))),
        np.where(queries > 1, random.choice((np.nan, np.inf, -1e300)), queries),
        np.array(random.choice((0, -1, 0.5, 1e300, np.nan, "causal"))),
    )
    names = (*arrays, "mask", "bias", "sink", "scale", "softcap", "causal", "other")
    arrays |= {random.choice(names): random.choice(others) for _ in range(random.randrange(3))}
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **arrays)
    return written.getvalue()


def sources(_: Random) -> bytes:
    """Return the tool's own list of sources with its first statement."""
    text = (ROOT / "data/sources.toml").read_text(encoding="utf-8")
    return "[[statement]]".join(text.split("[[statement]]")[:2]).encode()


def answer_to_command_line(path: Path, tool: Tool) -> Ended:
    """Call the tool in an empty folder."""
    (empty := path.parent / "empty").mkdir(exist_ok=True)
    with contextlib.chdir(empty):
        return tool(*json.loads(path.read_bytes()))


def answer_to_document(path: Path, tool: Tool) -> Ended:
    """Put a page right; where it is refused, it must stay as it was."""
    before, results = path.read_bytes(), path.with_name("good.json")
    results.write_text(record().to_json(), encoding="utf-8")
    answer = tool("check-docs", path, "--results", results, "--write")
    assert answer.status != 2 or path.read_bytes() == before, "changed though refused"
    return answer


def answer_to_question(path: Path, _tool: Tool) -> Ended:
    """Read and print a question and the formula in its second line."""
    text, _, formula = path.read_bytes().decode(errors="surrogateescape").partition("\n")

    def read_both() -> None:
        for expression in (parse(text), parse_formula(formula)):
            notation.plain(expression)
            notation.latex(expression)

    return reading(read_both)


class Kind(NamedTuple):
    """A kind of input: the name of its file, how one is made, and what the tool answers to it."""

    name: str
    make: Callable[[Random], bytes]
    answer: Callable[[Path, Tool], Ended]


KINDS = {
    "claims": Kind(EXAMPLE, lambda _: example_claim().encode(), lambda path, _: reading(lambda: read(path))),
    "command-lines": Kind("command.json", command_line, answer_to_command_line),
    "documents": Kind("page.md", document, answer_to_document),
    "questions": Kind(
        "question.txt", lambda random: "\n".join(random.choice(QUESTIONS)).encode(), answer_to_question
    ),
    "recordings": Kind("q.npz", recording, lambda path, _: reading(lambda: audit(path))),
    "results": Kind(
        "results.json",
        lambda _: record().to_json().encode(),
        lambda path, tool: tool("values", "run:seed", "--results", path),
    ),
    "sources": Kind("sources.toml", sources, lambda path, _: reading(lambda: read_sources(path))),
}


@pytest.fixture
def answer_to(tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], Ended]:
    """Return a function that returns the tool's answer to an input of a kind, which must come in time."""

    def stop(*_: object) -> None:
        pytest.fail(f"more than {LIMIT_S:g} s")

    def answer(name: str, content: bytes) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        path = tmp_path / KINDS[name].name
        path.write_bytes(content)
        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        try:
            return KINDS[name].answer(path, tool)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    return answer


Answers = Callable[[str, bytes], Ended]


@pytest.mark.parametrize("path", CORPUS, ids=[f"{path.parent.name}-{path.name}" for path in CORPUS])
def test_what_was_met_once_is_answered(answer_to: Answers, path: Path) -> None:
    """An answer or one clear line, in time."""
    assert not wrong(answer_to(path.parent.name, path.read_bytes()))


@pytest.mark.parametrize("count", [4, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KINDS)
def test_wrong_inputs_are_answered(answer_to: Answers, name: str, count: int) -> None:
    """What has mistakes in it is answered, or refused in one line; what has none, with nothing said."""
    for number in range(count):
        random = Random(f"{name} {number}")  # noqa: S311 - seeded
        content = KINDS[name].make(random)
        if name not in {"command-lines", "recordings"} and number == 0:
            answer = answer_to(name, content)
            assert (answer.status, answer.err) == (0, "")
        if name != "command-lines":
            content = with_mistakes(random, content)
        says = wrong(answer_to(name, content))
        assert not says, (number, says, content[:2000])
