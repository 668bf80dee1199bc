"""The commands that show claims, how long they take, and what a question of one's own comes to."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify.cli import console
from verify.cli.console import PATH
from verify.errors import ClaimError, SettingsError, StoreError, claim_errors
from verify.files import RUN, shipped_folder, shipped_table
from verify.text.latex import plain
from verify.text.numbers import exact

if TYPE_CHECKING:
    from verify.spec.claim import Claim
    from verify.symbolic.chains import Derivation


@click.command(name="list")
@click.argument("words", nargs=-1, metavar="[WORD]...")
def list_(words: tuple[str, ...]) -> None:
    """List the claims that ship, with their numbers in the report.

    They stand by chapter. With WORD, such as rope or "flash attention", list those that it describes.
    """
    # As the reference has them: no library is loaded, and nothing of them is looked at but words.
    reference = json.loads((shipped_folder("reference") / RUN.evidence).read_bytes())
    called, sought = shipped_table("aliases"), " ".join(words)
    width, listed = max(len(claim["id"]) for claim in reference["claims"]), ""
    chapters = groupby(reference["claims"], lambda claim: claim["chapter_title"])
    for number, (chapter, claims) in enumerate(chapters, 1):
        for place, claim in enumerate(claims, 1):
            at, name, title = f"{number}.{place}", claim["id"], plain(claim["title"])
            text = f"{at} {name} {title} {called.get(name, '')}".lower()
            # Each word that is sought begins one of these.
            if not all(re.search(rf"(?<!\w){re.escape(word)}", text) for word in sought.lower().split()):
                continue
            if chapter != listed:
                console.tell(f"\n{chapter}" if listed else chapter)
                listed = chapter
            ending = " (proved)" if claim["derivation"]["status"] == "proved" else ""
            # A long title goes on below its beginning.
            console.tell(f"  {at:>4} {name:<{width}}  {title}{ending}", hang=width + len(at) + 3)
    if not listed:
        raise ClaimError(f"no claim is about {sought!r}; `sdpa-verify list` shows them all")


@click.command()
@click.argument("claim")
@console.claims_option("The file of a claim of your own.")
def show(claim: str, claim_files: tuple[Path, ...]) -> int:
    """Show a claim with its derivation, and check every line of it.

    CLAIM is an id, or a number in the report, such as 7.4.

    The exit status is 1 if a line does not hold.
    """
    from verify.engine.store import Store, code, default_path

    width, store = console.width_of() or 80, None
    # The same code makes the same page of a claim that ships, without loading SymPy and checking it again.
    reference = (shipped_folder("reference") / RUN.evidence).read_bytes()
    row = hashlib.sha256(repr(("page", code(), claim, width)).encode() + reference).digest()
    with contextlib.ExitStack() as stack:
        if not claim_files:
            with contextlib.suppress(StoreError):
                store = stack.enter_context(Store(default_path()))
        if store and (content := store.get(row)):
            console.tell(content.decode(), hang=0)
            return 0

        from verify.engine.catalogue import choose, look_up

        known, (name, *_) = look_up([claim, *claim_files])
        (entry,) = choose(known, [name]).values()
        with claim_errors(entry.id, entry.origin):
            derivation = entry.claim.derived()
            text = page(entry.claim, derivation, width)
        if store and not derivation.problem:
            store.put(row, text.encode())
    console.tell(text, hang=0)
    return 1 if derivation.problem else 0


def page(claim: Claim, derivation: Derivation, width: int = 80) -> str:
    """Return a claim as text: its words, its chains with what checks and trials say, its exact values.

    The chains are laid out for a ``width``; all other lines are left whole.
    """
    from verify.claims.chapters import CHAPTERS
    from verify.engine.preparing import derivation_text, standing
    from verify.evidence import PROFILES, Proof
    from verify.evidence.load import origin, shipped
    from verify.proofs.statement import theorem_of
    from verify.spec.claim import Words

    facts = () if derivation.problem else claim.exact_values(derivation)
    measured_by = partial(claim.measured_by, derivation, PROFILES["standard"])
    # Measured numbers in words are the reference run's, which takes a while to load. A claim of one's own was
    # in no run yet: its words say so where they speak of measurements.
    is_measured = ":estimate" in claim.statement + claim.meaning
    reference = {each.id: each.checks for each in shipped().claims}.get(claim.id, ()) if is_measured else ()
    texts = Words(claim, derivation, None if derivation.problem else facts, measured_by, reference).texts()
    blocks = [
        f"{claim.id} — {plain(texts['title'])}",
        f"Chapter: {CHAPTERS[claim.chapter]}",
        plain(texts["statement"]),
        plain(texts["meaning"]),
    ]
    if reference:
        blocks.append(f"Measured numbers in these words are of the reference run: {origin(shipped())}.")
    blocks += derivation_text(derivation, width, [assumption.text for assumption in claim.assumptions])
    status, reason = standing(derivation, claim.id)
    grade = "FAILED" if status is Proof.FAILED else status.replace("-", ", ").capitalize()
    blocks.append(f"{grade}: {reason}")
    if status is Proof.PROVED:
        blocks.append(theorem_of(claim.id, derivation))
    if facts:
        lines = (f"  {fact.id}: {exact(fact.value)}, {plain(fact.what)}" for fact in facts)
        blocks.append("\n".join(["Exact values that documents print", *lines]))
    return "\n\n".join(blocks)


@click.command()
@console.settings_options
@click.option("--workers", type=int, help="Number of worker processes to plan for.  [default: all]")
def plan(claims: tuple[str, ...], claim_files: tuple[Path, ...], workers: int | None, **options: Any) -> None:
    """Estimate how long a run takes.

    The estimate scales the times of the reference run.
    """
    from verify.engine import runner
    from verify.engine.catalogue import choose, look_up
    from verify.executors.workers import Workers

    chosen = runner.settings(**options)
    known, names = look_up([*claims, *claim_files])
    console.tell(runner.plan(choose(known, names), chosen, Workers(workers).count), hang=0)


_EXAMPLES = """\b
Examples:
  sdpa-verify ask "Var(q·k)" --law "uniform(0, 1)"
  sdpa-verify ask "kurtosis(q·k)" --query-law laplace --dimensions 4,64
  sdpa-verify ask "E(sum(p_scaled^2))" --keys 2,64
  sdpa-verify ask "Var(q·k)" --against "2*d_k" --out answer
"""


def _numbers(_context: click.Context, option: click.Parameter, text: str | None) -> list[int] | None:
    """Return the whole numbers of an option, which stand between commas.

    Raises:
        SettingsError: they are none.
    """
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        says = "give whole numbers with commas between them, such as 4,16,256"
        raise SettingsError(f"{option.opts[0]} {text}: {says}") from error


@click.command(epilog=_EXAMPLES, short_help="Derive a formula for a quantity of your own, and measure it.")
@click.argument("question")
@click.option(
    "--law",
    default="normal",
    metavar="LAW",
    help="The distribution of all components: normal, uniform, rademacher, laplace, exponential, t(9) or "
    "cauchy. It has mean 0 and variance 1, unless mean and standard deviation are given, as in normal(0, 2), "
    "or the two ends, as in uniform(0, 1).",
)
@click.option("--query-law", metavar="LAW", help="The distribution of queries, if it differs.")
@click.option("--key-law", metavar="LAW", help="The distribution of keys, if it differs.")
@click.option(
    "--dimensions",
    metavar="N,N,...",
    callback=_numbers,
    help="Values of d_k to measure at.  [default: 4,16,64,256]",
)
@click.option(
    "--keys",
    metavar="N,N,...",
    callback=_numbers,
    help="Numbers of keys, where they matter.  [default: 16]",
)
@click.option("--tolerance", type=float, help="Relative tolerance.  [default: 0.01]")
@console.seed_option
@click.option("--against", metavar="FORMULA", help="Test a formula of your own, in d_k and n.")
@console.workers_option
@click.option("--out", type=PATH, metavar="DIR", help="Also write page, PDF and results to this folder.")
@click.option("--force", is_flag=True, help="Replace results of other claims in DIR.")
def ask(question: str, out: Path | None, *, force: bool, workers: int | None, **options: Any) -> int:
    """Answer QUESTION, such as "Var(q·k)": derive a formula, measure it, and fit over the dimension.

    The symbols are those of the report. A score is q·k, q.k or score, over both lengths, |q| and |k|, it is
    cos(q, k). A weight is p, or p_scaled where scores are divided by the root of d_k; within sum(...) and
    max(...) it stands for the weights of all keys. Their entropies are H and H_scaled. The sizes are d_k and
    n, the number of keys.

    Anything random must stand inside E, Var, sd, Cov, corr, P(x > y), median, quantile(x, 0.95), kurtosis or
    skewness. There are also sqrt, log, exp, abs, |x|, ^ and ².

    The exit status is 0 if what is derived and what is measured agree, 1 if not, and 3 if that is undecided
    or nothing is derived.
    """
    from rich.console import Console

    from verify.cli.verifying import check_folder
    from verify.executors.workers import using
    from verify.symbolic.grammar import QuestionError

    try:
        with using(workers) as pool:
            from verify.engine.asking import NAME
            from verify.engine.asking import ask as answer_to

            if out is not None:
                check_folder(out, (RUN.evidence, RUN.page, RUN.sheet()), (NAME,), force=force)
            # Only a terminal shows that work goes on.
            with Console(stderr=True).status("deriving and measuring"):
                answer = answer_to(question, **options, workers=pool)
            console.say(answer.text(console.width_of() or 80))
            if out is not None:
                console.rendered(answer.record, out, pool)
    except QuestionError as error:
        # The expression is printed below, with a mark at the place.
        click.echo(f"sdpa-verify: {error}", err=True)
        sys.exit(error.exit_status)
    return answer.exit_status


COMMANDS = (ask, list_, show, plan)
