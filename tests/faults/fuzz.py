"""A seeded campaign of wrong inputs over all that reads: what must come is an answer or one clear line.

    python -m tests.faults.fuzz --inputs 100000 [--seed N] [--keep FOLDER]

prints how many of each kind were answered and refused, and what was answered otherwise; ``--keep`` keeps
these inputs, a folder for each kind. What was met once lies in ``corpus/`` in the same form, and is tried
with the tests.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.report.records import record
from tests.tool import EXAMPLE, ROOT, example_claim
from verify.auditing.recording import ARRAYS
from verify.citing.languages import language_of
from verify.citing.markers import quotes_in
from verify.citing.values import values_of
from verify.cli.main import main
from verify.engine.catalogue import read
from verify.engine.questions import question
from verify.engine.sources import read_sources
from verify.errors import CitationError, VerifyError
from verify.symbolic import notation

_SECONDS = 10.0
"""What an answer may take: several times what a whole page takes on a slow machine."""
_FOREIGN = ["", " ", "\n", "\0", "\ufeff", "\u202e", "$", "$$", "%", "#", "{", "}", "<b>", "<!--", "-->"]
_FOREIGN += ["`", "&amp;", "|", "1e999", "nan", "-0", "٣", "½", "√d·k²", "x" * 300, "9" * 50]
"""What stands in an input by mistake."""
_AROUND = [
    "```\n",
    "}%\n",
    "\n",
    "\r\n",
    " ",
    " per cent",
    " million",
    " k",
    "<!-- /verify -->",
    "<!--",
    "-->",
]
_AROUND += [
    "{verify}`",
    ":verify:`",
    "`",
    "\\verify{",
    "}{",
    "%",
    "**",
    "[",
    "]",
    "(",
    "$",
    "&nbsp;",
    "–",
    ".",
]
_AROUND += ["1.001", "-5", "1,234", "99.7%", "e-7", "1.0 [0.9, 1.1]", "0", ",", "’"]
"""What stands in and around a quotation."""
_FORMS = ["", "", "|default", "|digits=3", "|pm", "|words", "|percent", '|"{low} to {text}"', "|", "|x="]
_WORDS = [
    "values",
    "cite",
    "check-docs",
    "export",
    "badge",
    "ask",
    "list",
    "show",
    "plan",
    "render",
    "run",
    "report",
]
_WORDS += ["audit", "compare", "probe", "--help", "--format", "--url", "--results", "--out", "--seed"]
_WORDS += [
    "--profile",
    "--tolerance",
    "--workers",
    "--claims",
    "--write",
    "text",
    "html",
    "//host",
    "-1",
    "nan",
]
_WORDS += ["1e999", "quick", "0", "-", "--", ".", "*", "{}", "%s", "", " ", "\n", "x" * 300, "\udcff"]
_WORDS += ["no-such-file", "score-variance", "score-variance.slope", "run:seed"]

_QUESTIONS = ["Var(q·k)", "Var(q·k/√d_k)", "E[H(q·k/√d_k)]", "E(log(sum(exp(q·k))))", "E(max(p_scaled))"]
_QUESTIONS += ["P(q·k > 2 sqrt(d_k))", "Cov(q·k_j, q·k_l)", "quantile(q·k, 0.95)", "E(sum(p*log(p)))"]
_QUESTIONS += ["kurtosis(q·k)", "E(|k|^2)/d_k", "2 E(-p^2 n(n-1))", "2^3^2 E(q_i^4)", "median(|q·k|)"]
_FORMULAS = ["d_k", "1", "3 + 6/d_k", "sqrt(2/pi) d_k^(1/2)", "(n - 1)/n^2", "log(n)", "1e-3", "0", "2^d_k"]
"""What `ask` is asked, and what it is compared with."""


class Answer(NamedTuple):
    """What the tool answered: its exit status and what it printed."""

    status: object
    err: str

    @property
    def wrong(self) -> str:
        """What is wrong with it; nothing where it is as it must be."""
        complaints = [line for line in self.err.splitlines() if line.startswith("sdpa-verify: ")]
        if self.status not in {0, 1, 2, 3, 4}:
            return f"status {self.status!r}"
        if "Traceback" in self.err:
            return "a traceback"
        if len(complaints) != (self.status in {2, 4}):
            return f"{len(complaints)} complaints with status {self.status}: {self.err[-300:]!r}"
        return ""


class _Printed(io.StringIO):
    """What is printed, with a descriptor that the tool may send to nowhere."""

    nowhere = os.open(os.devnull, os.O_WRONLY)

    def fileno(self) -> int:
        """Return one that leads there."""
        return self.nowhere


def call(*arguments: object) -> Answer:
    """Return what a call of the tool answers, in this process and without input."""
    out, err = _Printed(), _Printed()
    status: object = None
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(map(str, arguments)))
    except SystemExit as ended:
        status = ended.code
    finally:
        sys.stdin = before
    if status in {129, 130, 143}:
        raise KeyboardInterrupt  # it is the campaign that was ended
    return Answer(status, err.getvalue())


def reading(read: Callable[[], object]) -> Answer:
    """Return what reading answers, where no command does that alone."""
    try:
        read()
    except VerifyError as error:
        return Answer(error.exit_status, "".join(f"sdpa-verify: {line}\n" for line in str(error).split("\n")))
    return Answer(0, "")


def text_with_mistakes(random: Random, text: str, others: Sequence[str] = _FOREIGN) -> str:
    """Return a text with a few stretches left out, doubled or replaced."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 2, 5, 20, 200, 2000)))
        text = text[:start] + random.choice(("", random.choice(others), text[start:end] * 2)) + text[end:]
    return text


def bytes_with_mistakes(random: Random, content: bytes) -> bytes:
    """Return bytes with some of them flipped, cut off, doubled, or made up."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 5, 50))):
        place = random.randrange(len(changed) + 1)
        kind = random.randrange(4)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            changed[place : place + random.choice((0, 1, 3))] = random.randbytes(random.choice((1, 2, 4)))
        elif kind == 2:
            del changed[place : place + random.choice((1, 10, 1000))]
        else:
            changed[place:place] = changed[place : place + random.choice((1, 50))]
    return bytes(changed)


def _with_mistakes(random: Random, text: str) -> bytes:
    if random.random() < 0.3:
        return bytes_with_mistakes(random, text.encode())
    return text_with_mistakes(random, text).encode(errors="surrogatepass")


def document(random: Random, values: dict[str, str], kind: str) -> str:
    """Return a document that quotes: mostly well formed, with figures that are right, stale or made up."""
    text = ""
    for _ in range(random.randrange(1, 8)):
        key = random.choice(list(values)) if random.random() < 0.9 else random.choice(_FOREIGN)
        figure = random.choice((*values.values(), "", "".join(random.choices(_AROUND, k=2))))
        key += random.choice(_FORMS)
        quotation = f"<!-- verify: {key} -->{figure}<!-- /verify -->"
        if kind == "tex":
            quotation = random.choice((rf"\verify{{{key}}}", f"\n\\verifyvalue{{{key}}}{{{figure}}}%\n"))
        elif kind in {"rst", "md"} and random.random() < 0.4:
            role = ":verify:" if kind == "rst" else "{verify}"
            quotation = random.choice((f"{role}`{key}`", f"{role}`{figure} <{key}>`"))
        text += (
            random.choice(("", "Here ", *_AROUND)) + quotation + random.choice(("", "%", " and ", *_AROUND))
        )
    return text_with_mistakes(random, text, _AROUND) if random.random() < 0.3 else text


class Campaigns:
    """The kinds of input: each makes one from a random generator, and tries one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run = record()
        self.values = {value.key: value.text for value in values_of(run)}
        self.results = folder / "good.json"
        self.results.write_text(run.to_json(), encoding="utf-8")
        head, *statements = (ROOT / "data/sources.toml").read_text(encoding="utf-8").split("[[statement]]")
        self.sources = head + statements[0]
        drawn = np.random.default_rng(1).standard_normal((4, 2, 2, 6, 4))
        self.arrays = dict(zip(("q", "k", "v", "out"), drawn, strict=True))
        self.all: dict[str, tuple[Callable[[Random], bytes], Callable[[bytes], Answer | str]]] = {
            "claims": (lambda random: _with_mistakes(random, example_claim()), self.try_claim),
            "command-lines": (self.command, self.try_command),
            "documents": (self.document, self.try_document),
            "questions": (self.asked, self.try_question),
            "recordings": (self.recording, self.try_recording),
            "results": (lambda random: bytes_with_mistakes(random, run.to_json().encode()), self.try_results),
            "sources": (lambda random: _with_mistakes(random, self.sources), self.try_sources),
        }

    def _written(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def try_claim(self, content: bytes) -> Answer:
        """Load a claim file."""
        path = self._written(EXAMPLE, content)
        return reading(lambda: read(path))

    def command(self, random: Random) -> bytes:
        """Return a command line as JSON; nothing is run by it, whatever option comes last."""
        words = random.choices(_WORDS, k=random.randrange(7))
        runs = {"run", "report", "plan", "probe", "ask"} & set(words)
        return json.dumps([*words, *(["--", "no-such-claim"] * bool(runs))]).encode()

    def try_command(self, content: bytes) -> Answer:
        """Call the tool with it, in an empty folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as empty, contextlib.chdir(empty):
            return call(*json.loads(content))

    def document(self, random: Random) -> bytes:
        """Return a document's ending, a line end, and its text."""
        kind = random.choice(("md", "md", "html", "rst", "tex"))
        text = document(random, self.values, kind).encode(errors="surrogatepass")
        return b"%s\n%s" % (
            kind.encode(),
            bytes_with_mistakes(random, text) if random.random() < 0.1 else text,
        )

    def try_document(self, content: bytes) -> Answer | str:
        """Check it, put it right, check again: all that could be put right is, and nothing else changed."""
        kind, _, text = content.partition(b"\n")
        path = self._written(f"page.{kind.decode()}", text)
        arguments = ("check-docs", path, "--results", self.results)
        first, fixed = call(*arguments), call(*arguments, "--write")
        if first.wrong or fixed.wrong or first.status == 2:
            changed = first.status == 2 and path.read_bytes() != text
            return "changed though refused" if changed else first.wrong or fixed
        before, after = (self._outside(path, whole.decode()) for whole in (text, path.read_bytes()))
        if before != after:
            return "text outside the quotations was changed"
        again = call(*arguments)
        return again.wrong or ("not settled by one --write" if again.status != fixed.status else again)

    def _outside(self, path: Path, text: str) -> str:
        """Return a document's text with what it quotes left out."""
        outside, end = "", 0
        with contextlib.suppress(CitationError):
            for quote in quotes_in(path, text, language_of(path), list(self.values)):
                if quote.quoted is not None:
                    outside += text[end : quote.start]
                    end = quote.end
        return outside + text[end:]

    def asked(self, random: Random) -> bytes:
        """Return a question and a formula, a line each."""
        return _with_mistakes(random, f"{random.choice(_QUESTIONS)}\n{random.choice(_FORMULAS)}")

    def try_question(self, content: bytes) -> Answer | str:
        """Read and print both; below a complaint stands what was asked, and a mark under the wrong place."""
        text, _, formula = content.decode(errors="surrogateescape").partition("\n")

        def read() -> None:
            asked = question(text, against=formula)
            for expression in (asked.quantity, asked.against):
                notation.plain(expression)
                notation.latex(expression)

        answer = reading(read)
        complaint, *shown = answer.err.splitlines(keepends=True)[:3] or [""]
        if shown and not (len(shown) == 2 and shown[1].strip().endswith("^")):
            return f"no mark under the wrong place: {answer.err!r}"
        return answer._replace(err=complaint)

    def recording(self, random: Random) -> bytes:
        """Return a recording with other arrays than fit, or with wrong bytes."""
        arrays, queries = dict[str, Any](self.arrays), self.arrays["q"]
        others = (
            queries[:, :, : random.randrange(6)],
            queries.astype(random.choice(("<f2", ">f8", "?", "i1", "c8", "U3"))),
            np.where(queries > 1, random.choice((np.nan, np.inf, -1e300)), queries),
            np.array(random.choice((0, 1, -1, 0.5, 1e300, np.nan, "causal", "text"))),
        )
        for _ in range(random.randrange(4)):
            arrays[random.choice((*ARRAYS, "scale", "softcap", "causal", "other"))] = random.choice(others)
        written = io.BytesIO()
        np.savez(written, **arrays)
        content = written.getvalue()
        return bytes_with_mistakes(random, content) if random.random() < 0.5 else content

    def try_recording(self, content: bytes) -> Answer:
        """Audit it."""
        path = self._written("recording.npz", content)
        return call("audit", path, "--no-pages", "--workers", 1, "--out", self.folder)

    def try_results(self, content: bytes) -> Answer:
        """Read a results file."""
        return call("values", "run:seed", "--results", self._written("results.json", content))

    def try_sources(self, content: bytes) -> Answer:
        """Read statements of sources."""
        path = self._written("sources.toml", content)
        return reading(lambda: read_sources(path))


class Slow(BaseException):
    """An input took longer than it may."""


@contextlib.contextmanager
def _watched(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def attempt(
    trial: Callable[[bytes], Answer | str], content: bytes, seconds: float = _SECONDS
) -> Answer | str:
    """Return the answer to an input, or in words what is wrong with it."""
    try:
        with _watched(seconds):
            answer = trial(content)
    except Slow:
        return f"more than {seconds:g} s"
    except Exception as error:  # noqa: BLE001 - whatever comes is a fault
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"[:300]
    return answer if isinstance(answer, str) else answer.wrong or answer


def campaign(
    inputs: int, seed: int, folder: Path, keep: Path | None = None
) -> tuple[Counter[tuple[str, str]], int]:
    """Try a number of inputs, the kinds in turn; print what is answered wrongly.

    Returns how many of each kind were answered and refused, and how many wrongly.
    """
    campaigns = Campaigns(folder)
    counts: Counter[tuple[str, str]] = Counter()
    faults = 0
    for number, kind in zip(range(inputs), itertools.cycle(campaigns.all)):
        make, trial = campaigns.all[kind]
        content = make(Random(f"{seed}/{number}"))  # noqa: S311 - seeded
        answer = attempt(trial, content)
        if isinstance(answer, str):
            faults += 1
            print(f"{kind} {number}: {answer}", flush=True)
            if keep:
                (keep / kind).mkdir(parents=True, exist_ok=True)
                (keep / kind / str(number)).write_bytes(content)
        else:
            counts[kind, "refused" if answer.status == VerifyError.exit_status else "answered"] += 1
    return counts, faults


def _main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20170612)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, faults = campaign(options.inputs, options.seed, Path(folder), options.keep)
    for (kind, end), many in sorted(counts.items()):
        print(f"{kind:14} {end:8} {many:7}")
    print(f"{faults} of {options.inputs} inputs were answered wrongly")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(_main())
