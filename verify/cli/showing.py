"""The commands that show claims: the list of all, one with its derivation, and how long they take."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify.cli.console import claims_option, settings_options, tell, width_of
from verify.errors import ClaimError, StoreError, claim_errors
from verify.files.names import RUN

if TYPE_CHECKING:
    from verify.spec.claim import Claim
    from verify.symbolic.chains import Derivation


@click.command(name="list")
@click.argument("words", nargs=-1, metavar="[WORD]...")
def list_(words: tuple[str, ...]) -> None:
    """List the claims that ship, by chapter, with their numbers in the report.

    With WORD, such as rope or "flash attention", list those that it describes.
    """
    from verify.files.names import shipped_folder, shipped_table
    from verify.text.latex import plain

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
                tell(f"\n{chapter}" if listed else chapter)
                listed = chapter
            ending = " (proved)" if claim["derivation"]["status"] == "proved" else ""
            tell(f"  {at:>4} {name:<{width}}  {title}{ending}")
    if not listed:
        raise ClaimError(f"no claim is about {sought!r}; `sdpa-verify list` shows them all")


@click.command()
@click.argument("claim")
@claims_option("The file of a claim of your own.")
def show(claim: str, claim_files: tuple[Path, ...]) -> int:
    """Show a claim with its derivation, and check every line of it.

    CLAIM is an id, or a number in the report, such as 7.4.

    The exit status is 1 if a line does not hold.
    """
    from verify.engine.store import Store, code, default_path
    from verify.files.names import shipped_folder

    width, store = width_of() or 80, None
    # The same code makes the same page of a claim that ships, without loading SymPy and checking it again.
    reference = (shipped_folder("reference") / RUN.evidence).read_bytes()
    row = hashlib.sha256(repr(("page", code(), claim, width)).encode() + reference).digest()
    with contextlib.ExitStack() as stack:
        if not claim_files:
            with contextlib.suppress(StoreError):
                store = stack.enter_context(Store(default_path()))
        if store and (content := store.get(row)):
            tell(content.decode(), hang=0)
            return 0

        from verify.engine.catalogue import choose, look_up

        known, (name, *_) = look_up([claim, *claim_files])
        (entry,) = choose(known, [name]).values()
        with claim_errors(entry.id, entry.origin):
            derivation = entry.claim.derived()
            text = page(entry.claim, derivation, width)
        if store and not derivation.problem:
            store.put(row, text.encode())
    tell(text, hang=0)
    return 1 if derivation.problem else 0


def page(claim: Claim, derivation: Derivation, width: int = 80) -> str:
    """Return a claim as text: its words, its chains with what checks and trials say, its exact values.

    The chains are laid out for a ``width``; all other lines are left whole.
    """
    from verify.claims.chapters import CHAPTERS
    from verify.engine.preparing import standing
    from verify.engine.questions import derivation_text
    from verify.evidence import PROFILES, Proof
    from verify.evidence.load import origin, shipped
    from verify.proofs.statement import theorem_of
    from verify.spec.claim import Words
    from verify.text.latex import plain
    from verify.text.numbers import exact

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
@settings_options
@click.option("--workers", type=int, help="Number of worker processes to plan for.  [default: all]")
def plan(claims: tuple[str, ...], claim_files: tuple[Path, ...], workers: int | None, **options: Any) -> None:
    """Estimate how long a run takes.

    The estimate scales the times of the reference run.
    """
    from verify.engine import runner
    from verify.engine.catalogue import choose, look_up
    from verify.executors.machine import processors

    chosen = runner.settings(**options)
    known, names = look_up([*claims, *claim_files])
    tell(runner.plan(choose(known, names), chosen, processors(workers)), hang=0)


COMMANDS = (list_, show, plan)
