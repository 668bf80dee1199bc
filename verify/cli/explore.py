"""The catalogue as text for a terminal: the list of claims, and one claim with its derivation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from verify.claims.chapters import CHAPTERS
from verify.cli.console import beside, fitted
from verify.engine.catalogue import ClaimFile, claim_and_origin
from verify.engine.derivations import standing
from verify.engine.questions import chain_text
from verify.errors import claim_errors
from verify.evidence import PROFILES, USER, Fact, Proof
from verify.proofs.record import recorded, theorem_of
from verify.spec.words import has_slot
from verify.text.latex import plain
from verify.text.numbers import exact

if TYPE_CHECKING:
    from verify.spec.claim import Claim
    from verify.symbolic.chains import Chain, Derivation

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
    for name, claim in claims.items():
        if claim.chapter != last:
            lines += ([""] if lines else []) + [CHAPTERS[claim.chapter].title]
            last = claim.chapter
        lines.append(beside(f"  {name:<{width}} ", _in_a_line(claim_and_origin(claim)[0]), columns))
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


def titled(claim: Claim) -> str:
    """Return a claim's title, filled; only one with slots needs the derivation for that."""
    return (
        claim.words(claim.derived(), ()).fill("title", claim.title) if has_slot(claim.title) else claim.title
    )


def _in_a_line(claim: Claim) -> str:
    # A test holds the record against the catalogue; a claim of the user's own has no proof.
    proved = claim.chapter != USER and claim.id in recorded()["claims"]
    return f"{plain(titled(claim))}{' (proved)' * proved}"


def page(claim: Claim, derivation: Derivation, columns: int | None = None) -> str:
    """Return one claim with its chains as text: each line with its reason, and what checks and trials say."""
    facts = None if derivation.problem else claim.exact_values(derivation)
    measured_by = partial(claim.measured_by, derivation, PROFILES["standard"])
    said = claim.words(derivation, facts, measured_by).said()
    own = tuple(stated.text for stated in claim.assumptions)
    main = derivation.main.assumptions if derivation.main else ()
    stated = [beside("  - ", plain(text), columns) for text in (*main, *own)]
    status, reason = standing(derivation, claim.id)
    theorem = [theorem_of(claim.id, derivation)] if status is Proof.PROVED else []
    blocks = [
        f"{claim.id} — {plain(said['title'])}",
        f"Chapter: {CHAPTERS[claim.chapter].title}",
        plain(said["statement"]),
        plain(said["meaning"]),
        *(["\n".join(["Assumptions", *stated])] if stated else []),
        *(_chain(chain, columns) for chain in derivation.chains),
        f"{_ENDINGS[status]}: {reason}",
        *theorem,
        *_exact_values(facts or (), columns),
    ]
    return "\n\n".join(fitted(block, columns, hang=0) for block in blocks)


def _chain(chain: Chain, columns: int | None) -> str:
    """Return a chain as text: its start, and each line behind its relation, with the reason below."""
    lines = [f"Derivation: {plain(chain.title)}" if chain.title else "Derivation"]
    if chain.defines:
        lines.append(beside("  Definition: ", plain(chain.defines), columns))
    return "\n".join([*lines, "", chain_text(chain, columns)])


def _exact_values(facts: tuple[Fact, ...], columns: int | None) -> Iterator[str]:
    """Yield the exact values of a claim, if it has any."""
    if facts:
        values = ((fact.id, f"{exact(fact.value)}, {plain(fact.what)}") for fact in facts)
        lines = (beside(f"  {name}: ", text, columns, " " * 6) for name, text in values)
        yield "\n".join(["Exact values that documents print", *lines])
