"""The catalogue as text for a terminal: the list of claims, and one claim with its derivation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import Function, MatrixSymbol, Symbol
from sympy.core.function import AppliedUndef
from sympy.printing.pretty.pretty_symbology import pretty_use_unicode

from verify.claims.chapters import CHAPTERS
from verify.cli.console import beside, fitted
from verify.engine import derivations
from verify.engine.answers import chain_text
from verify.engine.catalogue import ClaimFile, claim_and_origin
from verify.errors import claim_errors
from verify.evidence import PROFILES, Fact
from verify.evidence.words import ON_COMPONENTS
from verify.former.words import assumed
from verify.spec.words import has_slot
from verify.symbolic.chains import Chain
from verify.symbolic.chains import Derivation as Chains
from verify.symbolic.printing import latex, unicode_art
from verify.text.latex import plain, spoken
from verify.text.numbers import exact

if TYPE_CHECKING:
    from verify.spec.claim import Claim
    from verify.symbolic.derivation import Derivation, ExaminedDerivation

_ENDINGS = {
    "derived": "Derived",
    "derived-citing": "Derived, citing",
    "proved": "Proved",
    "reviewed": "Reviewed, not proved",
    "checked-at-examples": "Derivation checked at examples",
    "in-part": "Derived in part",
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
        lines.append(beside(f"  {name:<{width}} ", plain(titled(claim_and_origin(claim)[0])), columns))
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
        if isinstance(derivation, Chains):
            return chains_page(claim, derivation, columns), not derivation.problem
        examined = derivation.examine()
        facts = claim.exact_values(derivation) if examined.status != "failed" else None
        return page(claim, derivation, examined, facts, columns), examined.status != "failed"


def page(
    claim: Claim,
    derivation: Derivation,
    examined: ExaminedDerivation,
    facts: tuple[Fact, ...] | None = None,
    columns: int | None = None,
) -> str:
    """Return one claim with its derivation as text, what became of each step's check, and what facts it has.

    Without facts, as where the derivation fails, nothing else is computed for its words.
    """
    measured_by = partial(claim.measured_by, derivation, PROFILES["standard"])
    said = claim.words(derivation, facts, measured_by).said()
    blocks = [
        f"{claim.id} — {plain(said['title'])}",
        f"Chapter: {CHAPTERS[claim.chapter].title}",
        plain(said["statement"]),
        plain(said["meaning"]),
        *_assumed(claim, examined, columns),
    ]
    for followed in examined.routes:
        route = followed.route
        meaning = plain(derivation.meaning_of(route.start))
        opening = f"\n  Definition: {meaning}" if meaning else ""
        art = _art("", route.start, columns)
        blocks.append(f"Derivation: {plain(route.title)}{opening}\n\n{art}")
        for one in followed.steps:
            checked = f"{'✓' if one.holds else '✗'} {plain(one.step.rule.label)}"
            art = _art(one.relation, one.step.expression, columns)
            blocks.append(f"  {plain(one.step.words)}\n  {checked}\n\n{art}")
    blocks.append(f"{_ENDINGS[examined.status]}: {examined.reason}")
    blocks += _exact_values(facts or (), columns)
    if derivation.beyond:
        blocks.append(f"Beyond the derivation: {plain(derivation.beyond)}")
    return "\n\n".join(fitted(block, columns, hang=0) for block in blocks)


def titled(claim: Claim) -> str:
    """Return a claim's title, filled; only one with slots needs the derivation for that."""
    return (
        claim.words(claim.derived(), ()).fill("title", claim.title) if has_slot(claim.title) else claim.title
    )


def chains_page(claim: Claim, derivation: Chains, columns: int | None = None) -> str:
    """Return one claim with its chains as text: each line with its reason, and what checks and trials say."""
    facts = None if derivation.problem else claim.exact_values(derivation)
    measured_by = partial(claim.measured_by, derivation, PROFILES["standard"])
    said = claim.words(derivation, facts, measured_by).said()
    own = tuple(stated.text for stated in claim.assumptions if stated.id not in ON_COMPONENTS)
    main = derivation.main.assumptions if derivation.main else ()
    stated = [beside("  - ", plain(text), columns) for text in (*main, *own)]
    blocks = [
        f"{claim.id} — {plain(said['title'])}",
        f"Chapter: {CHAPTERS[claim.chapter].title}",
        plain(said["statement"]),
        plain(said["meaning"]),
        *(["\n".join(["Assumptions", *stated])] if stated else []),
        *(_chain(chain, columns) for chain in derivation.chains),
        f"{_ENDINGS[derivations.status(derivation)]}: {derivations.reason(derivation)}",
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


def _assumed(claim: Claim, examined: ExaminedDerivation, columns: int | None) -> Iterator[str]:
    """Yield what is assumed, each once: by the main theorem, and what its author states besides."""
    theorem = examined.theorem
    of_theorem = assumed(claim, theorem) if theorem else ()
    # A theorem about components says the same by itself, and of which families.
    said = ON_COMPONENTS if theorem and theorem.hypotheses.law else frozenset()
    texts = [*of_theorem, *(stated.text for stated in claim.assumptions if stated.id not in said)]
    if texts:
        yield "\n".join(["Assumptions", *(beside("  - ", plain(text), columns) for text in texts)])


def _art(relation: str, expression: Any, columns: int | None) -> str:
    """Return an expression drawn in Unicode behind its relation to the one before; LaTeX in names as text.

    Where the drawing is wider than the ``columns``, the expression is text that breaks between words.
    """
    names: dict[Any, Any] = {
        one: MatrixSymbol(spoken(one.name), *one.shape)
        if isinstance(one, MatrixSymbol)
        else Symbol(spoken(one.name))
        for one in expression.free_symbols
        if "\\" in one.name
    }
    for one in expression.atoms(AppliedUndef):
        if "\\" in one.func.__name__:
            names[one] = Function(spoken(one.func.__name__))(*one.args)
    # SymPy asks the terminal whether it knows Unicode, and half obeys its printer's own setting.
    before = pretty_use_unicode(True)
    try:
        lines = unicode_art(expression.xreplace(names), f"  {relation:<4}").splitlines()
    finally:
        pretty_use_unicode(before)
    if columns is not None and max(map(len, lines)) > columns:
        return beside(f"  {relation:<4}", spoken(latex(expression)), columns)
    return "\n".join(line.rstrip() for line in lines)
