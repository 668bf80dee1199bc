"""A reader's question, and its derivation: by a claim of the catalogue, or by the moment calculus."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

from sympy import Expr, Rational, Symbol, sympify

from verify.engine.catalogue import catalogue
from verify.errors import SettingsError, nearest
from verify.montecarlo import distributions as laws
from verify.montecarlo.distributions import Distribution
from verify.spec.claim import Claim
from verify.spec.comparisons import normalised
from verify.symbolic.calculus import NotDerived
from verify.symbolic.chains import Chain, Derivation, Related
from verify.symbolic.checks import derive
from verify.symbolic.grammar import parse, parse_formula
from verify.symbolic.notation import plain
from verify.symbolic.vocabulary import (
    BINDERS,
    NORMAL_LAW,
    UNIT,
    E,
    Family,
    Law,
    Quantile,
    Var,
    d,
    families_of,
    k,
    n,
    q,
)
from verify.text.latex import plain as unformatted

Made = TypeVar("Made")

DIMENSIONS, KEYS = (4, 16, 64, 256), (16,)
"""Where a question is measured by default."""

_LARGEST = 10**7

_NAMED = {
    "normal": laws.NORMAL,
    "uniform": laws.UNIFORM,
    "rademacher": laws.RADEMACHER,
    "laplace": laws.LAPLACE,
    "exponential": laws.EXPONENTIAL,
    "cauchy": laws.CAUCHY,
}
LAWS = (*_NAMED, "t(9)", "normal(0, 2)", "uniform(0, 1)")
"""Examples of every way to write a law."""

_WRITTEN = re.compile(r"([a-z]+)\s*(?:\(([^()]*)\))?")
_NUMBER = re.compile(r"\s*-?\d{1,12}(\.\d{1,12}|/[1-9]\d{0,11})?\s*")
_MOST_DEGREES = 10**6


def law_named(text: str, option: str = "--law") -> Distribution:
    """Return a law that is written as ``uniform``, ``t(9)`` or ``normal(0, 2)``.

    Without brackets it has mean 0 and variance 1. In brackets stand mean and standard deviation, of the
    uniform law its two ends, of Student's law its degrees of freedom.

    Raises:
        SettingsError: there is none of this name, or its parameters do not fit; it names the ``option``.
    """
    written = _WRITTEN.fullmatch(text.strip().lower())
    name, inside = written.groups() if written else (text, None)
    if name not in (*_NAMED, "t"):
        near = nearest(name, (*_NAMED, "t(9)"))
        raise SettingsError(f"{option} {text}: no such law; {near} there are {', '.join(LAWS)}")
    if inside is None and name != "t":
        return _NAMED[name]
    parts = (inside or "").split(",")
    match name, [Fraction(part.strip()) for part in parts if _NUMBER.fullmatch(part)]:
        case _, numbers if len(numbers) < len(parts):
            pass
        case "t", [degrees] if degrees.denominator == 1 and 3 <= degrees < _MOST_DEGREES:
            return laws.student_t(int(degrees))
        case "uniform", [low, high] if low < high:
            return laws.UNIT_INTERVAL.moved(low, high - low)
        case _, [mean, deviation] if deviation > 0 and name not in ("t", "uniform"):
            return _NAMED[name].moved(mean, deviation)
    wanted = {"t": "its degrees of freedom, from 3 on: t(9)", "uniform": "its ends in order: uniform(0, 1)"}
    usual = f"its mean and its deviation, above 0: {name}(0, 2)"
    raise SettingsError(f"{option} {text}: write in brackets {wanted.get(name, usual)}")


def called(law: Distribution) -> str:
    """Return the name of a law before "components": ``normal``, or ``uniform(0, 1)``."""
    if law.base == "U(0,1)":
        return f"uniform({law.loc}, {law.loc + law.scale})"
    base = "exponential" if law.base == "centred exponential" else law.base
    return base if law.loc == 0 and law.scale == 1 else f"{base}({law.loc}, {law.scale})"


@dataclass(frozen=True)
class Question:
    """A question: a quantity, the laws of its families, sizes, and perhaps a formula to decide."""

    text: str
    quantity: Expr
    laws: Mapping[Family, Distribution]
    dimensions: tuple[int, ...]
    keys: tuple[int, ...]
    against: Expr | None = None

    @property
    def components(self) -> str:
        """The laws of the components, in words."""
        names = tuple(dict.fromkeys(map(called, self.laws.values())))
        if len(names) == 1:
            return f"{names[0]} components"
        return f"{names[0]} components of queries and {names[1]} components of keys"

    @property
    def places(self) -> tuple[dict[Any, int], ...]:
        """The values of sizes at which it is measured."""
        many: list[dict[Any, int]] = [{n: keys} for keys in self.keys] or [{}]
        return tuple({d: size, **keys} for keys in many for size in self.dimensions)

    @cached_property
    def _derived(self) -> tuple[Derivation, Claim | None, tuple[str, ...]]:
        """The derivation, the claim of the catalogue that has it, and the claims that speak of the quantity.

        Raises:
            SettingsError: it would be derived of laws with more moments than the question's have.
        """
        quantity, near, bounds = normalised(self.quantity), dict[str, None](), list[tuple[Chain, Claim]]()
        for claim in catalogue().values():
            for chain in claim.derived().chains:
                start, end = normalised(chain.start), chain.end
                is_formula = not end.free_symbols - {d, n} and not end.has(E, Var, Quantile)
                if start == quantity and is_formula and _holds(chain, self.laws, self.places):
                    if chain.relation == "=":
                        return Derivation((chain,)), claim, ()
                    bounds += [(chain, claim)] * (chain.relation in "≤<≥>")
                if start.has(quantity):
                    near[claim.id] = None
        try:
            return Derivation((self.by_moments(partial(derive, self.quantity)),)), None, ()
        except NotDerived as error:
            missing = str(error)
        # What normal components have and these lack is a matter of their moments.
        with suppress(NotDerived):
            derive(self.quantity, dict.fromkeys((q, k), NORMAL_LAW))
            raise SettingsError(
                f"{self.text} does not exist, or cannot be derived, for {self.components}: {missing}; "
                "take a law with more moments"
            )
        # An equation by moments says more than a bound of the catalogue, and that of its statement the most.
        for chain, claim in sorted(bounds, key=lambda pair: bool(pair[0].name)):
            return Derivation((chain,)), claim, ()
        why = "what is averaged is no polynomial of the components, so its mean does not follow from moments"
        return Derivation((), why), None, tuple(near)

    def by_moments(self, made: Callable[[dict[Any, Law]], Made]) -> Made:
        """Return the result of ``made`` for laws with as few moments as it takes.

        Raises:
            NotDerived: it does not follow from moments, or the laws have too few.
        """
        # Few moments make the statement general: what follows from two holds for all laws that have these.
        problem = NotDerived("")
        for order in (2, 4, 8, laws.HIGHEST):
            try:
                return made({family: assumed(law, order) for family, law in self.laws.items()})
            except NotDerived as error:
                problem = error
        raise problem

    @property
    def derivation(self) -> Derivation:
        """Its derivation: by an equation of the catalogue, by moments, or by a bound of the catalogue."""
        return self._derived[0]

    @property
    def claim(self) -> Claim | None:
        """The claim of the catalogue whose derivation it is, None where that is made for the question."""
        return self._derived[1]

    @property
    def formula(self) -> Expr | None:
        """The derived value of the quantity, or its bound; None where nothing is derived."""
        return self.derivation.end if self.derivation.main else None

    @property
    def relation(self) -> str:
        """How the quantity stands to its formula: ``=``, ``≤`` or ``≥``."""
        relation = self.derivation.main.relation if self.derivation.main else "="
        return {"<": "≤", ">": "≥"}.get(relation, relation)

    @property
    def compared(self) -> tuple[Any, str]:
        """The formula that is decided, the asker's or the derived, and how the quantity stands to it."""
        return (self.formula, self.relation) if self.against is None else (self.against, "=")

    def stated(self, formula: Any, relation: str) -> Expr:
        """Return the statement that the quantity stands to a formula in a relation; itself without one."""
        return self.quantity if formula is None else Related(self.quantity, Symbol(relation), formula)

    def sentences(self, written: Callable[[Any], str]) -> list[str]:
        """Return what is derived, the formula to be decided, and the claim that answers, in sentences."""
        said = [f"Nothing is derived: {self.derivation.nothing}."]
        if near := self._derived[2]:
            said.append(f"Claims that speak of it: {', '.join(near)}.")
        if self.formula is not None:
            sizes = " and ".join(written(size) for size in (d, n) if self.formula.has(size)) or "size"
            said = [f"Derived for every {sizes}: {written(self.stated(self.formula, self.relation))}"]
        if self.against is not None:
            said.append(f"Formula to be decided: {written(self.stated(self.against, '='))}")
        if self.claim:
            said.append(f"By the claim {self.claim.id}: {self.claim.title}.")
        return said


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
    # In the order in which a reader would correct them: the expression, the laws, the sizes.
    quantity = parse(text)
    formula = None if against is None else parse_formula(against)
    given = {q: (query_law, "--query-law"), k: (key_law, "--key-law")}
    by_family = {
        family: law_named(law, "--law") if own is None else law_named(own, option)
        for family, (own, option) in given.items()
    }
    # A law of what does not stand in the quantity would be that of nothing that is drawn.
    by_family = {family: by_family[family] for family in by_family if family in families_of(quantity)}
    over_keys = quantity.has(n, *BINDERS) or (formula is not None and formula.has(n))
    if keys and not over_keys:
        raise SettingsError(
            f"--keys: nothing in {plain(quantity)} depends on how many keys there are; leave it out"
        )
    places = {"--dimensions": sorted(set(DIMENSIONS if dimensions is None else dimensions))}
    places["--keys"] = sorted(set(KEYS if keys is None else keys))
    for option, sizes in places.items():
        if wrong := [size for size in sizes if not 1 <= size <= _LARGEST]:
            raise SettingsError(f"{option} {wrong[0]}: give whole numbers from 1 to {_LARGEST:,}")
        if not sizes:
            raise SettingsError(f"{option}: give at least one number")
    many = tuple(places["--keys"]) if over_keys else ()
    return Question(text, quantity, by_family, tuple(places["--dimensions"]), many, formula)


@lru_cache
def assumed(law: Distribution, highest: int) -> Law:
    """Return a law as an assumption on components: its moments up to an order.

    Up to the fourth they are those of whatever law has them, more are those of the law by its name.

    Raises:
        NotDerived: it has not so many moments.
    """
    if highest >= len(law.base_moments):
        raise NotDerived(f"{called(law)} components have no moment of order {len(law.base_moments)}")
    raw = tuple(map(Rational, law.moments(highest)))
    mean, variance = raw[1], raw[2] - raw[1] ** 2
    if highest == 2 and (mean, variance) == (0, 1):
        return UNIT
    if highest == laws.HIGHEST and law == laws.NORMAL:
        return NORMAL_LAW
    if highest > 4:
        kind = f"Student's {law.base}" if law.base[:2] == "t(" else called(law).partition("(")[0]
        words = f"{kind} components of mean {mean} and variance {variance}"
        return Law(words, raw, whole=highest == laws.HIGHEST)
    parts = [f"mean {mean}", f"variance {variance}"]
    parts += [f"{name} moment {value}" for name, value in zip(("third", "fourth"), raw[3:], strict=False)]
    return Law(f"{', '.join(parts[:-1])} and {parts[-1]}", raw)


def _holds(chain: Chain, drawn: Mapping[Family, Distribution], places: Sequence[Mapping[Any, int]]) -> bool:
    """Return whether a chain holds of the laws drawn, by the moments that it assumes, and at all places."""
    conditions = [*chain.given, *(each for line in chain.lines for each in line.check.conditions)]
    if any(condition.subs(at) == False for condition in conditions for at in places):  # noqa: E712
        return False
    for assumptions in (line.check.laws for line in chain.lines if line.check.laws):
        for family in families_of(chain.start) & set(assumptions):
            raw = tuple(map(sympify, assumptions[family].raw))
            if family not in drawn or len(raw) > len(drawn[family].base_moments):
                return False
            if raw != tuple(map(Rational, drawn[family].moments(len(raw) - 1))):
                return False
    return True


def derivation_text(derivation: Derivation, width: int, assumed: Sequence[str] = ()) -> list[str]:
    """Return what is assumed, and each chain with what checks and trials say of its lines, as blocks of text.

    ``assumed`` is what its claim assumes besides.
    """
    wrapped = partial(
        textwrap.fill, width=width, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
    blocks = []
    if stated := [*(derivation.main.assumptions if derivation.main else ()), *assumed]:
        items = (wrapped(unformatted(text), initial_indent="  - ") for text in stated)
        blocks.append("\n".join(["Assumptions", *items]))
    for chain in derivation.chains:
        head = f"Derivation: {unformatted(chain.title)}" if chain.title else "Derivation"
        if chain.defines:
            head += f"\n  Definition: {unformatted(chain.defines)}"
        lines = [head, "", wrapped(plain(chain.start), initial_indent="    ")]
        for checked in chain.checked:
            line = checked.line
            tried = f"tried: {checked.tried}" if checked.tried else "tried at no point"
            ending = f"✓ {unformatted(line.check.words)}, {tried}"
            if checked.problem:
                ending = f"✗ {checked.problem}"
            lines.append(wrapped(plain(line.expression), initial_indent=f"  {line.relation} "))
            lines.append(wrapped(f"{unformatted(line.because)} ({ending})", initial_indent=" " * 6))
        blocks.append("\n".join(lines))
    return blocks
