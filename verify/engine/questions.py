"""A reader's question, and what is derived for it: by a claim of the catalogue, or by the moment calculus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Rational, sympify

from verify.engine.catalogue import catalogue
from verify.engine.laws import ORDERS, assumed, called, law_named
from verify.errors import SettingsError
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.spec.claim import Claim
from verify.spec.settings import normalised
from verify.symbolic.automatic import derive
from verify.symbolic.calculus import NotDerived
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.grammar import parse, parse_formula
from verify.symbolic.notation import plain
from verify.symbolic.vocabulary import (
    BINDERS,
    E,
    Family,
    Quantile,
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
_NO_POLYNOMIAL = (
    "what is averaged is no polynomial of the components, so its mean does not follow from moments"
)


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
        many: list[dict[Any, int]] = [{n: keys} for keys in self.keys] or [{}]
        return tuple({d: size, **keys} for keys in many for size in self.dimensions)


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
    query, key = (
        law_named(law, "--law") if own is None else law_named(own, option)
        for own, option in ((query_law, "--query-law"), (key_law, "--key-law"))
    )
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
    sizes = usual if given is None else tuple(sorted(set(given)))
    if not sizes:
        raise SettingsError(f"{option}: give at least one number")
    for size in sizes:
        if not 1 <= size <= _LARGEST:
            raise SettingsError(f"{option} {size}: give whole numbers from 1 to {_LARGEST:,}")
    return sizes


@dataclass(frozen=True)
class Deduction:
    """What is derived for a question: its chain ends in a ``formula``, None where nothing is derived.

    ``claim`` is the claim of the catalogue whose derivation it is, None where it is made for the question.
    """

    asked: Question
    derivation: Derivation
    claim: Claim | None = None

    @property
    def formula(self) -> Expr | None:
        """What the quantity is derived to be, or to be bounded by."""
        return self.derivation.end if self.derivation.main else None

    @property
    def relation(self) -> str:
        """How the quantity stands to it: ``=``, ``≤`` or ``≥``."""
        relation = self.derivation.main.relation if self.derivation.main else "="
        return {"<": "≤", ">": "≥"}.get(relation, relation)

    @property
    def compared(self) -> tuple[Any, str]:
        """The formula that is decided, the asker's or the derived one, and how the quantity stands to it."""
        return (self.formula, self.relation) if self.asked.against is None else (self.asked.against, "=")


def deduce(asked: Question) -> Deduction:
    """Derive what can be derived: by an equation of the catalogue, by moments, by a bound of the catalogue.

    Raises:
        SettingsError: it would be derived of laws with more moments than the question's have.
    """
    claims = [Deduction(asked, Derivation((chain,)), claim) for claim, chain in _claims_on(asked)]
    equation = next((deduction for deduction in claims if deduction.relation == "="), None)
    bound = next((deduction for deduction in claims if deduction.relation != "="), None)
    return equation or _by_moments(asked) or bound or Deduction(asked, Derivation((), _NO_POLYNOMIAL))


def _by_moments(asked: Question) -> Deduction | None:
    """Derive the value by the moment calculus, from as few moments as it takes; None if none would do.

    Raises:
        SettingsError: the laws have too few moments.
    """
    missing = ""
    for order in ORDERS:
        try:
            laws = {q: assumed(asked.query, order), k: assumed(asked.key, order)}
            return Deduction(asked, Derivation((derive(asked.quantity, laws),)))
        except NotDerived as error:
            missing = str(error)
        except ValueError as error:
            missing = str(error)
            break
    try:
        derive(asked.quantity, dict.fromkeys((q, k), assumed(NORMAL, ORDERS[-1])))
    except NotDerived:
        return None
    raise SettingsError(
        f"{asked.text} does not exist, or cannot be derived, for {asked.components}: {missing}; "
        "take a law with more moments"
    )


def _claims_on(asked: Question) -> Iterator[tuple[Claim, Chain]]:
    """Yield the claims that say what the question's quantity is under its laws, with their main chains."""
    quantity = normalised(asked.quantity)
    for claim in catalogue().values():
        chain = claim.derived().main
        if (
            chain is not None
            and chain.relation in ("=", "≤", "≥", "<", ">")
            and normalised(chain.start) == quantity
            and not chain.end.free_symbols - {d, n}
            and not chain.end.has(E, Var, Quantile)
            and _holds(chain, asked.laws)
        ):
            yield claim, chain


def _holds(chain: Chain, drawn: Mapping[Family, Distribution]) -> bool:
    """Return whether the moments that a chain assumes are those of what is drawn."""
    for assumptions in (line.check.laws for line in chain.lines if line.check.laws):
        for family in families_of(chain.start) & set(assumptions):
            raw = tuple(map(sympify, assumptions[family].raw))
            if family not in drawn or len(raw) > len(drawn[family].base_moments):
                return False
            if raw != tuple(map(Rational, drawn[family].moments(len(raw) - 1))):
                return False
    return True
