"""A claim with its derivation, as text for a terminal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verify.claims.chapters import CHAPTERS
from verify.cli.console import beside, fitted
from verify.engine.derivations import standing
from verify.engine.questions import chain_text
from verify.errors import claim_errors
from verify.evidence import PROFILES, Proof
from verify.proofs.record import theorem_of
from verify.text.latex import plain
from verify.text.numbers import exact

if TYPE_CHECKING:
    from verify.engine.catalogue import Entry
    from verify.spec.claim import Claim
    from verify.symbolic.chains import Derivation

_ENDINGS = {
    "proved": "Proved",
    "derived": "Derived",
    "derived-citing": "Derived, citing",
    "failed": "FAILED",
    "measured": "Measured only",
}


def shown(entry: Entry, columns: int | None = None) -> tuple[str, bool]:
    """Return one claim with its derivation as text, and whether the derivation stands (no step fails).

    No line is longer than ``columns``, but for long words.

    Raises:
        ClaimError: the claim's own code fails.
    """
    with claim_errors(entry.id, entry.origin):
        derivation = entry.claim.derived()
        return page(entry.claim, derivation, columns), not derivation.problem


def page(claim: Claim, derivation: Derivation, columns: int | None = None) -> str:
    """Return one claim with its chains as text: each line with its reason, and what checks and trials say."""
    facts = () if derivation.problem else claim.exact_values(derivation)
    measured_by = partial(claim.measured_by, derivation, PROFILES["standard"])
    texts = claim.words(derivation, None if derivation.problem else facts, measured_by).texts()
    blocks = [
        f"{claim.id} — {plain(texts['title'])}",
        f"Chapter: {CHAPTERS[claim.chapter].title}",
        plain(texts["statement"]),
        plain(texts["meaning"]),
    ]
    main = derivation.main.assumptions if derivation.main else ()
    stated = [*main, *(assumption.text for assumption in claim.assumptions)]
    if stated:
        blocks.append("\n".join(["Assumptions", *(beside("  - ", plain(text), columns) for text in stated)]))
    for chain in derivation.chains:
        head = f"Derivation: {plain(chain.title)}" if chain.title else "Derivation"
        if chain.defines:
            head += "\n" + beside("  Definition: ", plain(chain.defines), columns)
        blocks.append(f"{head}\n\n{chain_text(chain, columns)}")
    status, reason = standing(derivation, claim.id)
    blocks.append(f"{_ENDINGS[status]}: {reason}")
    if status is Proof.PROVED:
        blocks.append(theorem_of(claim.id, derivation))
    if facts:
        values = ((f"  {fact.id}: ", f"{exact(fact.value)}, {plain(fact.what)}") for fact in facts)
        lines = (beside(head, text, columns, " " * 6) for head, text in values)
        blocks.append("\n".join(["Exact values that documents print", *lines]))
    return "\n\n".join(fitted(block, columns, hang=0) for block in blocks)
