"""A reader's question, and what is derived for it: by a claim of the catalogue, or by the moment calculus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sympy import Dummy, Expr, Rational, S, cancel, sympify

import verify.claims
from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import built_in
from verify.engine.laws import ORDERS, assumed, called, law_named, moment_values
from verify.errors import SettingsError
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.spec.claim import Claim
from verify.spec.settings import normalised
from verify.symbolic.automatic import derive
from verify.symbolic.bounds import earlier
from verify.symbolic.calculus import NotDerived
from verify.symbolic.chains import Chain, Derivation, Line
from verify.symbolic.checks import algebra, substitute
from verify.symbolic.grammar import parse, parse_formula
from verify.symbolic.notation import plain
from verify.symbolic.vocabulary import (
    BINDERS,
    Dot,
    E,
    Family,
    Quantile,
    StepError,
    Var,
    d,
    families_of,
    k,
    n,
    q,
)

DIMENSIONS, KEYS = (4, 16, 64, 256), (16,)
"""Where a question is measured if nothing else is said."""

_LARGEST = 10**7
_MOST_PLACES = 64


@dataclass(frozen=True)
class Question:
    """What is asked: a quantity, the laws of queries and keys, sizes, and perhaps a formula to decide."""

    text: str
    quantity: Expr
    query: Distribution
    key: Distribution
    dimensions: tuple[int, ...]
    keys: tuple[int, ...]
    against: Expr | None = None

    @property
    def laws(self) -> dict[Family, Distribution]:
        """The laws by family."""
        return {q: self.query, k: self.key}

    @property
    def components(self) -> str:
        """What is drawn, in words."""
        if self.query == self.key:
            return f"{called(self.query)} components"
        return f"{called(self.query)} components of queries and {called(self.key)} components of keys"

    @property
    def places(self) -> tuple[dict[Any, int], ...]:
        """The values of sizes at which it is measured."""
        if not self.keys:
            return tuple({d: size} for size in self.dimensions)
        return tuple({d: size, n: keys} for keys in self.keys for size in self.dimensions)


def question(
    text: str,
    *,
    law: str = "normal",
    query_law: str | None = None,
    key_law: str | None = None,
    dimensions: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
    against: str | None = None,
) -> Question:
    """Return a question after checking all its parts.

    Raises:
        QuestionError: the expression or the formula cannot be read.
        SettingsError: a law or a size cannot be.
    """
    quantity = parse(text)
    formula = None if against is None else parse_formula(against)
    query = law_named(
        law if query_law is None else query_law, "--law" if query_law is None else "--query-law"
    )
    key = law_named(law if key_law is None else key_law, "--law" if key_law is None else "--key-law")
    over_keys = quantity.has(n, *BINDERS) or (formula is not None and formula.has(n))
    if keys and not over_keys:
        raise SettingsError(
            f"--keys: nothing in {plain(quantity)} depends on how many keys there are; leave it out"
        )
    sizes = _sizes("--dimensions", dimensions, DIMENSIONS)
    many = _sizes("--keys", keys, KEYS) if over_keys else ()
    if len(sizes) * max(1, len(many)) > _MOST_PLACES:
        raise SettingsError(f"--dimensions: more than {_MOST_PLACES} combinations with --keys; give fewer")
    return Question(text, quantity, query, key, sizes, many, formula)


def _sizes(option: str, given: Sequence[int] | None, usual: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return usual
    for size in given:
        if not 1 <= size <= _LARGEST:
            raise SettingsError(f"{option} {size}: give whole numbers from 1 to {_LARGEST:,}")
    if not given:
        raise SettingsError(f"{option}: give at least one number")
    return tuple(sorted(set(given)))


@dataclass(frozen=True)
class Deduction:
    """What is derived for a question: its chain ends in a ``formula``, or ``missing`` says why there is none.

    ``claim`` is the claim of the catalogue whose derivation it is, None where it is made for the question.
    """

    derivation: Derivation
    claim: Claim | None = None

    @property
    def formula(self) -> Expr | None:
        """What the quantity is derived to be, or to be bounded by."""
        return self.derivation.end if self.derivation.main else None

    @property
    def relation(self) -> str:
        """How the quantity stands to it."""
        relation = self.derivation.main.relation if self.derivation.main else "="
        return {"<": "≤", ">": "≥"}.get(relation, relation)

    @property
    def missing(self) -> str:
        """What a derivation lacks."""
        return self.derivation.nothing


def deduce(asked: Question) -> Deduction:
    """Derive what can be derived: by an equation of the catalogue, by moments, by a bound of the catalogue.

    Raises:
        SettingsError: it would be derived of laws with more moments than the question's have.
    """
    candidates = sorted(_candidates(asked), key=lambda one: one.is_multiple)
    by_equation = _first(asked, [one for one in candidates if one.chain.relation == "="])
    if by_equation is not None:
        return by_equation
    by_moments = _by_moments(asked)
    if by_moments.formula is not None:
        return by_moments
    return _first(asked, [one for one in candidates if one.chain.relation != "="]) or by_moments


def _by_moments(asked: Question) -> Deduction:
    """Derive the value by the moment calculus, from as few moments as it takes."""
    missing = ""
    for order in ORDERS:
        try:
            laws = {q: assumed(asked.query, order), k: assumed(asked.key, order)}
            return Deduction(Derivation((derive(asked.quantity, laws),)))
        except ValueError as error:
            missing = str(error)
            break
        except NotDerived as error:
            missing = str(error)
    try:
        derive(asked.quantity, {q: assumed(NORMAL, ORDERS[-1]), k: assumed(NORMAL, ORDERS[-1])})
    except NotDerived:
        what = "what is averaged is no polynomial of the components, so its mean does not follow from moments"
        return Deduction(Derivation((), what))
    raise SettingsError(
        f"{asked.text} does not exist, or cannot be derived, for {asked.components}: {missing}; "
        "take a law with more moments"
    )


@dataclass(frozen=True)
class _Candidate:
    """A claim whose main chain is about a question's quantity, or about what that is a multiple of."""

    claim: Claim
    chain: Chain
    factor: Any

    @property
    def is_multiple(self) -> bool:
        return bool(self.factor != 1)


def _candidates(asked: Question) -> Iterator[_Candidate]:
    """Yield the claims of the catalogue that speak of the question's quantity, under the question's laws."""
    values = moment_values(asked.query, asked.key)
    for claim in _claims():
        chain = claim.derived().main
        if chain is None or chain.relation not in "=≤≥<>" or not _hold(chain, asked, values):
            continue
        factor = multiple(asked.quantity, chain.start)
        if factor is None or (chain.relation != "=" and not factor.is_positive):
            continue
        # What it comes to is a formula of sizes alone.
        end = (factor * chain.end).subs(values)
        if not end.free_symbols - {d, n} and not end.has(E, Var, Quantile):
            yield _Candidate(claim, chain, factor)


def _first(asked: Question, candidates: Sequence[_Candidate]) -> Deduction | None:
    """Return what the first of several claims derives, whose lines lead to the question's quantity."""
    values = moment_values(asked.query, asked.key)
    for one in candidates:
        with suppress(StepError):
            return Deduction(_for_question(asked, one, values), one.claim)
    return None


def _claims() -> Iterator[Claim]:
    """Yield the claims that come with the tool, in the order of the report."""
    for chapter in CHAPTERS:
        folder = Path(verify.claims.__path__[0]) / chapter
        files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
        names = {path.stem.replace("_", "-"): path.stem for path in files}
        for name in sorted(names, key=CHAPTERS[chapter].place):
            yield built_in(chapter, names[name])


def _hold(chain: Chain, asked: Question, values: Mapping[Any, Any]) -> bool:
    """Return whether the laws that a chain assumes are those of the question."""
    for laws in (line.check.laws for line in chain.lines if line.check.laws):
        for family in families_of(chain.start) & set(laws):
            drawn = asked.laws.get(family)
            if drawn is None:
                return False
            for order, raw in enumerate(laws[family].raw):
                has = order < len(drawn.base_moments)
                if not has or sympify(raw).subs(values) != Rational(drawn.moments(order)[order]):
                    return False
    return True


def multiple(quantity: Expr, start: Expr) -> Any:
    """Return what a quantity is divided by another, if nothing random is left in that; else None."""
    ours, theirs = normalised(quantity), normalised(start)
    if ours == theirs:
        return S.One
    means = theirs.atoms(E, Quantile)
    if not means or ours.atoms(E, Quantile) != means:
        return None
    names = {mean: Dummy() for mean in means}
    factor = cancel(ours.xreplace(names) / theirs.xreplace(names))
    return None if factor.free_symbols & set(names.values()) or factor.has(Dot) else factor


def _for_question(asked: Question, found: _Candidate, values: Mapping[Any, Any]) -> Derivation:
    """Return a claim's derivation for a question: the same chain, or lines that lead to it and on from it.

    Raises:
        StepError: a line does not follow.
    """
    chain, factor, name = found.chain, found.factor, found.claim.id
    used = {symbol: value for symbol, value in values.items() if chain.end.has(symbol)}
    if not used and chain.start == asked.quantity:
        return Derivation((chain,))
    named = Chain(chain.start, *chain.lines, name=name, title=f"the claim {name}", given=chain.given)
    lines = [Line(factor * chain.end, f"by the claim {name}", earlier(named), chain.relation)]
    if factor * chain.start != asked.quantity:
        lines.insert(0, Line(factor * chain.start, "what is not random stands before the mean", algebra))
    if used:
        lines.append(Line((factor * chain.end).subs(used), "the moments of these laws", substitute(used)))
    before = asked.quantity
    for line in lines:
        line.check.decide(before, line.expression, line.relation)
        before = line.expression
    return Derivation((Chain(asked.quantity, *lines), named))
