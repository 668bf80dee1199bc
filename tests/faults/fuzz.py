"""A seeded campaign of wrong inputs over all that reads: what must come is an answer or one clear line.

``python -m tests.faults.fuzz --inputs 100000`` runs it and prints its table; ``--keep DIR`` keeps what fails,
a folder for each campaign. What was found once lies in ``corpus/`` in
the same form and is tried with the tests.
"""

import argparse
import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.faults import mistakes
from tests.faults.mistakes import REFUSALS, attempt, call, reading
from tests.faults.poison import audit_sample, sample
from tests.tool import EXAMPLE, ROOT, example_claim
from verify import api
from verify.auditing.recording import ARRAYS
from verify.citing import citations
from verify.citing.languages import language_of
from verify.citing.markers import quotes_in
from verify.citing.summaries import to_junit, to_markdown
from verify.citing.values import values_of as values
from verify.engine.catalogue import load as load_claim
from verify.engine.sources import read_sources
from verify.errors import CitationError
from verify.evidence import Calibration, RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load, load_audit, stored_table
from verify.report.html import render_html
from verify.report.parts import draw_figures, report_on
from verify.report.run import report_of

_WORDS = (
    "values", "cite", "check-docs", "export", "badge", "list", "show", "plan", "render", "run", "report",
    "--help", "--format", "text", "html", "--url", "//host", "javascript:x", "https://a.b/c", "--results",
    "--out", "--seed", "-1", "nan", "1e999", "--profile", "quick", "--tolerance", "0", "--false-alarm",
    "--power", "--workers", "--claims", "--sources", "--write", "--junit", "--summary", "", " ", "\n",
    "\x1b[2J", "-", "--", "/dev/null", "/dev/zero", "/", ".", "no-such-file", "score-variance",
    "score-variance.slope", "run:seed", "x"*5000, "\udcff", "*", "{}", "%s",
)  # fmt: skip
_NOT_RUN = "no-such-claim"
_BESIDE = ("scale", "softcap", "causal", "documents", "intended", "intended_mask", "weights", "other", "x/q")
"""What stands in a recording beside its arrays, and what does not."""


@dataclass(frozen=True)
class Fault:
    """An input that was not answered as it must be, and what came instead."""

    campaign: str
    number: int
    what: str
    input: bytes


class Campaigns:
    """The campaigns by name: each makes an input from a random generator, and tries one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = sample()
        self.content = json.loads(self.run.to_json())
        self.places = mistakes.places(self.content)
        self.audit = json.loads(audit_sample().to_json())
        self.audit_places = mistakes.places(self.audit)
        self.keys = [value.key for value in values(self.run)]
        self.texts = [value.text for value in values(self.run)]
        self.good = folder / "good.json"
        self.good.write_text(self.run.to_json(), encoding="utf-8")
        self.calibration = (ROOT / "data/calibration.json").read_text(encoding="utf-8")
        self.sources = "".join(
            (ROOT / "data/sources.toml").read_text(encoding="utf-8").partition("[[statement]]")[:2]
        )
        self.sources += (ROOT / "data/sources.toml").read_text(encoding="utf-8").split("[[statement]]")[1]
        self.claim = example_claim()
        drawn = np.random.default_rng(1).standard_normal((4, 2, 2, 6, 4))
        self.arrays = dict(zip(("q", "k", "v", "out"), drawn, strict=True))
        self.store = folder / "store.sqlite"
        self.digests = _digests(self.store)
        self.all: dict[str, tuple[Callable[[Random], bytes], Callable[[bytes], str]]] = {
            "results": (self.edits, self.try_edits),
            "audits": (self.audit_edits, self.try_audit_edits),
            "result-bytes": (self.result_bytes, self.try_result_bytes),
            "sources": (self.source_text, self.try_sources),
            "claims": (self.claim_text, self.try_claim),
            "documents": (self.document, self.try_document),
            "calibration": (self.calibration_text, self.try_calibration),
            "command-lines": (self.command, self.try_command),
            "recordings": (self.archive, self.try_archive),
            "stores": (self.store_bytes, self.try_store),
        }

    def edits(self, random: Random) -> bytes:
        """Return edits of the record, as JSON."""
        return json.dumps(mistakes.edits(random, self.content, self.places)).encode()

    def try_edits(self, chosen: bytes) -> str:
        """Read the record with these edits, sealed again, and print it in every form, seldom as a page."""
        path = self.folder / "results.json"
        path.write_bytes(mistakes.sealed(mistakes.edited(self.content, json.loads(chosen))))
        return self._printed(path, Random(chosen))  # noqa: S311 - seeded

    def _printed(self, path: Path, random: Random) -> str:
        run: list[RunRecord] = []
        wrong = reading(lambda: run.append(load(path))).wrong()
        if wrong or not run:
            return wrong or call("values", "--results", str(path)).wrong()
        to_junit(run[0])
        to_markdown(run[0])
        if random.random() < 0.02:
            answer = reading(lambda: render_html(run[0]))
            return answer.wrong()
        report_of(run[0])
        claims = run[0].claims
        key = claims[0].id if claims else "none"
        commands = (
            ("values",),
            ("export", "--out", str(self.folder / "verify.tex")),
            ("badge", key, "--out", str(self.folder)),
            ("cite", key, "--format", random.choice(list(citations.FORMS))),
            *(("cite", f"{one.id}.{check.id}") for one in claims[:1] for check in one.checks[:1]),
        )  # fmt: skip
        return call(*random.choice(commands), "--results", str(path)).wrong()

    def audit_edits(self, random: Random) -> bytes:
        """Return edits of the audit, as JSON."""
        return json.dumps(mistakes.edits(random, self.audit, self.audit_places)).encode()

    def try_audit_edits(self, chosen: bytes) -> str:
        """Read the audit with these edits, sealed again, and print it in every form, seldom as a page."""
        path, random = self.folder / "audit.json", Random(chosen)  # noqa: S311 - seeded
        path.write_bytes(mistakes.sealed(mistakes.edited(self.audit, json.loads(chosen))))
        audits = list[AuditRecord]()
        wrong = reading(lambda: audits.append(load_audit(path))).wrong()
        if wrong or not audits:
            return wrong or call("values", "--results", str(path)).wrong()
        (audit,) = audits
        to_junit(audit)
        draw_figures(audit)
        report_on(audit)
        str(audit).splitlines()
        if random.random() < 0.02:
            return reading(lambda: render_html(audit)).wrong()
        layers = audit.layers
        key = random.choice(("audit", *(layer.id for layer in layers[:1])))
        commands = (
            ("values",),
            ("export", "--out", str(self.folder / "verify.tex")),
            ("badge", key, "--out", str(self.folder)),
            ("cite", key, "--format", random.choice(list(citations.FORMS))),
            *(("cite", f"{one.id}.{finding.id}") for one in layers[:1] for finding in one.findings[:3]),
        )
        return call(*random.choice(commands), "--results", str(path)).wrong()

    def result_bytes(self, random: Random) -> bytes:
        """Return a results file with wrong bytes."""
        return mistakes.bytes_with_mistakes(random, self.good.read_bytes())

    def try_result_bytes(self, content: bytes) -> str:
        """Read it."""
        path = self.folder / "results.json"
        path.write_bytes(content)
        return call("values", "run:seed", "--results", str(path)).wrong()

    def source_text(self, random: Random) -> bytes:
        """Return statements of sources with mistakes."""
        return _with_mistakes(random, self.sources)

    def try_sources(self, content: bytes) -> str:
        """Read them."""
        path = self.folder / "sources.toml"
        path.write_bytes(content)
        return reading(lambda: read_sources(path)).wrong()

    def claim_text(self, random: Random) -> bytes:
        """Return a claim file with mistakes."""
        return _with_mistakes(random, self.claim)

    def try_claim(self, content: bytes) -> str:
        """Load it."""
        path = self.folder / EXAMPLE
        path.write_bytes(content)
        return reading(lambda: load_claim(path, path.read_bytes())).wrong()

    def document(self, random: Random) -> bytes:
        """Return a document's ending, a line end, and its text."""
        kind = random.choice(("md", "md", "html", "rst", "tex"))
        text = mistakes.document(random, self.keys, self.texts, kind).encode(errors="surrogatepass")
        return (
            kind.encode()
            + b"\n"
            + (mistakes.bytes_with_mistakes(random, text) if random.random() < 0.1 else text)
        )

    def try_document(self, content: bytes) -> str:
        """Check it, put it right, check again: all that could be put right is, and nothing else changed."""
        kind, _, text = content.partition(b"\n")
        path = self.folder / f"page.{kind.decode()}"
        path.write_bytes(text)
        arguments = ("check-docs", str(path), "--results", str(self.good))
        first, fixed = call(*arguments), call(*arguments, "--write")
        wrong = first.wrong() or fixed.wrong()
        if wrong or first.status == 2:
            return wrong or ("changed though refused" if path.read_bytes() != text else "")
        before, after = (_outside(path, one.decode(), self.keys) for one in (text, path.read_bytes()))
        if before != after:
            return "text outside the quotations was changed"
        again = call(*arguments)
        left = fixed.out.count("cannot stand") != again.out.count("cannot stand")
        return again.wrong() or ("not settled by one --write" if "now '" in again.out or left else "")

    def calibration_text(self, random: Random) -> bytes:
        """Return a table of the calibration with mistakes."""
        if random.random() < 0.3:
            return _with_mistakes(random, self.calibration)
        table = json.loads(self.calibration)
        return json.dumps(
            mistakes.edited(table, mistakes.edits(random, table, mistakes.places(table)))
        ).encode()

    def try_calibration(self, content: bytes) -> str:
        """Read it, and view a report with it."""
        path = self.folder / "calibration.json"
        path.write_bytes(content)
        return reading(
            lambda: report_of(self.run.model_copy(update={"calibration": stored_table(Calibration, path)}))
        ).wrong()

    def command(self, random: Random) -> bytes:
        """Return a command line as JSON."""
        words = random.choices(_WORDS, k=random.randrange(7))
        # Nothing is to be verified here, whatever option comes last.
        runs = {"run", "report", "plan"} & set(words)
        return json.dumps([*words, *(["--", _NOT_RUN] * bool(runs))]).encode()

    def try_command(self, content: bytes) -> str:
        """Call the tool with it, in an empty folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as empty, contextlib.chdir(empty):
            return call(*json.loads(content)).wrong()

    def archive(self, random: Random) -> bytes:
        """Return a recording with other arrays than fit, or with wrong bytes."""
        arrays, queries = dict[str, Any](self.arrays), self.arrays["q"]
        others = (
            queries[:, :, : random.randrange(6)],
            queries.astype(random.choice(("<f2", ">f8", "?", "i1", "c8", "U3"))),
            np.where(queries > 1, random.choice((np.nan, np.inf, -1e300)), queries),
            np.array(random.choice(mistakes.FOREIGN)),
            np.array(float(random.choice([one for one in mistakes.NUMBERS if one < 2**63]))),
        )
        for _ in range(random.randrange(4)):
            arrays[random.choice((*ARRAYS, *_BESIDE))] = random.choice(others)
        written = io.BytesIO()
        np.savez(written, **arrays)
        content = written.getvalue()
        return mistakes.bytes_with_mistakes(random, content) if random.random() < 0.5 else content

    def try_archive(self, content: bytes) -> str:
        """Judge it."""
        path = self.folder / "recording.npz"
        path.write_bytes(content)
        return call("audit", str(path), "--no-pages", "--workers", "1", "--out", str(self.folder)).wrong()

    def store_bytes(self, random: Random) -> bytes:
        """Return a store with wrong bytes."""
        return mistakes.bytes_with_mistakes(random, self.store.read_bytes())

    def try_store(self, content: bytes) -> str:
        """Show it, and run with it."""
        path = self.folder / "damaged" / "store.sqlite"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        path.write_bytes(content)
        if wrong := call("store", "show", "--store", str(path)).wrong():
            return wrong
        path.write_bytes(content)
        found: list[str] = []
        wrong = reading(lambda: found.extend(_digests(path))).wrong()
        return wrong or ("" if found in ([], self.digests) else "the run has other digests")


def _digests(store: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of what is wrong with the store.
        run = api.run(["worked-dot-products"], profile="quick", workers=1, store=store)
    return [claim.digest for claim in run.claims]


def _with_mistakes(random: Random, text: str) -> bytes:
    if random.random() < 0.3:
        return mistakes.bytes_with_mistakes(random, text.encode())
    return mistakes.text_with_mistakes(random, text).encode(errors="surrogatepass")


def _outside(path: Path, text: str, known: list[str]) -> str:
    """Return a document's text with what it quotes left out."""
    outside, end = "", 0
    with contextlib.suppress(CitationError):
        for quote in quotes_in(path, text, language_of(path), known):
            outside += text[end : quote.start] if quote.quoted is not None else ""
            end = quote.end if quote.quoted is not None else end
    return outside + text[end:]


def campaign(
    inputs: int, seed: int, folder: Path, found: Callable[[Fault], None] = lambda _fault: None
) -> tuple[Counter[tuple[str, str]], list[Fault]]:
    """Try a number of inputs, the campaigns in turn.

    Returns how many of each were answered and refused until it is interrupted, and what went wrong, with
    which ``found`` is called at once.
    """
    campaigns = Campaigns(folder)
    counts: Counter[tuple[str, str]] = Counter()
    faults: list[Fault] = []
    names = list(campaigns.all)
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(inputs):
            name = names[number % len(names)]
            make, trial = campaigns.all[name]
            content = make(Random(f"{seed}/{number}"))  # noqa: S311 - seeded
            REFUSALS.clear()
            wrong = attempt(trial, content)
            counts[name, "refused" if REFUSALS else "answered"] += 1
            if wrong:
                faults.append(Fault(name, number, wrong, content))
                found(faults[-1])
    return counts, faults


def table(counts: Counter[tuple[str, str]], faults: list[Fault]) -> str:
    """Return one line for each campaign, and one for each kind of fault."""
    failed = Counter(fault.campaign for fault in faults)
    lines = [
        f"{name:<14} {counts[name, 'answered']:>7} answered {counts[name, 'refused']:>7} refused "
        f"{failed[name]:>5} faults"
        for name in dict.fromkeys(name for name, _ in counts)
    ]
    kinds = Counter(f"{fault.campaign}: {re.sub(r'[0-9]+', 'N', fault.what)[:150]}" for fault in faults)
    return "\n".join([*lines, *(f"{number:>6}× {kind}" for kind, number in kinds.most_common())])


def _main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=1000)
    options.add_argument("--seed", type=int, default=20170612)
    options.add_argument("--keep", type=Path, help="Folder for the inputs that fail.")
    given = options.parse_args()

    def keep(fault: Fault) -> None:
        print(fault.number, fault.campaign, fault.what, file=sys.stderr, flush=True)
        if given.keep:
            (given.keep / fault.campaign).mkdir(parents=True, exist_ok=True)
            (given.keep / fault.campaign / str(fault.number)).write_bytes(fault.input)

    with tempfile.TemporaryDirectory() as folder:
        counts, faults = campaign(given.inputs, given.seed, Path(folder), keep)
    print(table(counts, faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(_main())
