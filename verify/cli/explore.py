"""The catalogue as text for a terminal: the list of claims, and one claim with its derivation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from verify.claims.chapters import CHAPTERS
from verify.cli.console import beside, fitted
from verify.engine.catalogue import ClaimFile, claim_and_origin
from verify.engine.derivations import standing
from verify.engine.questions import chain_text
from verify.errors import claim_errors
from verify.evidence import PROFILES, USER, Proof
from verify.proofs.record import recorded, theorem_of
from verify.spec.words import has_slot
from verify.text.latex import plain
from verify.text.numbers import exact

if TYPE_CHECKING:
    from verify.spec.claim import Claim
    from verify.symbolic.chains import Derivation

_ENDINGS = {
    "proved": "Proved",
    "derived": "Derived",
    "derived-citing": "Derived, citing",
    "failed": "FAILED",
    "measured": "Measured only",
}


def listing(claims: Mapping[str, Claim | ClaimFile], columns: int | None = None) -> str:
    """Return the claims by chapter, a line each; within a number of ``columns``, long titles take several."""
    lines: list[str] = []
    last, width = "", max(map(len, claims), default=0)
    for name, entry in claims.items():
        if entry.chapter != last:
            lines += ([""] if lines else []) + [CHAPTERS[entry.chapter].title]
            last = entry.chapter
        claim, _ = claim_and_origin(entry)
        title = claim.title
        if has_slot(title):
            # Only a title with a slot needs the derivation.
            title = claim.words(claim.derived(), ()).fill("title", title)
        # A test holds the record against the catalogue; a claim of the user's own has no proof.
        proved = claim.chapter != USER and claim.id in recorded()["claims"]
        lines.append(beside(f"  {name:<{width}} ", f"{plain(title)}{' (proved)' * proved}", columns))
    return "\n".join(lines)


def shown(entry: Claim | ClaimFile, columns: int | None = None) -> tuple[str, bool]:
    """Return one claim with its derivation as text, and whether the derivation stands (no step fails).

    No line is longer than ``columns``, but for long words.

    Raises:
        ClaimError: the claim's own code fails.
    """
    claim, origin = claim_and_origin(entry)
    with claim_errors(claim.id, origin):
        derivation = claim.derived()
        return page(claim, derivation, columns), not derivation.problem


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
