"""Settings: the draws of a quantity, and the values that are put in beforehand.

Quantities at one setting share a cell and its draws. Factors that are not random are taken out of means, so
that quantities that differ in these alone share draws too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sympy import Expr, Mul, Symbol, sympify

from verify.errors import ClaimError
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.spec.checks import Compared
from verify.symbolic.vocabulary import Cov, E, Family, Given, Index, LargestGap, Named, Quantile, Var
from verify.symbolic.vocabulary import families_of, free_indices


@dataclass(frozen=True)
class Setting:
    """The identity of a cell: laws of the families drawn, values of symbols, sizes of arrays.

    In ``pairs`` each query has a key of its own.
    """

    laws: tuple[tuple[Family, Distribution], ...]
    at: tuple[tuple[Symbol, Any], ...]
    shape: tuple[tuple[Symbol, int], ...]
    pairs: bool = False


def measurable(given: Compared) -> tuple[Expr, Setting]:
    """Return the measured quantity of a comparison, and its setting.

    Factors that are not random are taken out of means, so that quantities that differ in these share draws;
    values that then stand outside of every mean are put in.
    """
    quantity = at_places(normalised(given.quantity), given.at)
    if not quantity.has(E, Quantile):
        raise ClaimError(f"check {given.id}: nothing in {given.quantity} is averaged; write E(…) or Var(…)")
    for part in quantity.atoms(Quantile):
        if part.args[1].is_number and not 0 < part.args[1] < 1:
            raise ClaimError(f"check {given.id}: the level of {part} is no share; write 0.95, not 95")
    # A program's columns do not show its families, so these are all that have laws.
    programs = set(given.laws) if quantity.has(Column) else set()
    families = sorted(families_of(quantity) | programs, key=str)
    inside = {symbol for mean in quantity.atoms(E, Quantile) for symbol in mean.args[0].free_symbols}
    if unused := set(given.laws) - set(families):
        names = ", ".join(sorted(map(str, unused)))
        raise ClaimError(
            f"check {given.id}: nothing of {names} stands in {given.quantity}; leave its law out"
        )
    needed = {size for family in families for size in family.ranges} | inside
    if unknown := [family for family in families if isinstance(family, Given) and family not in given.laws]:
        raise ClaimError(
            f"check {given.id}: {unknown[0]} is given; say its numbers in laws={{{unknown[0]}: numbers(…)}}"
        )
    laws = tuple((family, given.laws.get(family, NORMAL)) for family in families)
    at = {symbol: sympify(value) for symbol, value in given.at.items() if not isinstance(symbol, Index)}
    outside = {symbol: value for symbol, value in at.items() if symbol not in needed}
    setting = Setting(
        laws,
        tuple((symbol, value) for symbol, value in at.items() if symbol in needed),
        tuple(given.shape.items()),
        isinstance(quantity, LargestGap),
    )
    return quantity.xreplace(outside), setting


def at_places(quantity: Expr, at: Mapping[Any, Any]) -> Expr:
    """Return a quantity at the places that are given for its free indices, as if they were written."""
    free = free_indices(quantity)
    return quantity.xreplace({index: sympify(place) for index, place in at.items() if index in free})


@lru_cache(maxsize=4096)
def normalised(quantity: Any) -> Expr:
    """Return a quantity with Var and Cov by their definitions, and factors that are not random before E."""
    opened = sympify(quantity).replace(
        lambda part: isinstance(part, Var | Cov | Named), lambda part: part.definition
    )

    def outside(mean: Expr) -> Expr:
        factors = Mul.make_args(mean.args[0])
        random = [factor for factor in factors if families_of(factor) or factor.has(Column)]
        rest = Mul(*(factor for factor in factors if factor not in random))
        return rest * E(Mul(*random)) if random else rest

    return opened.replace(lambda part: isinstance(part, E), outside)


def shown(given: Compared, setting: Setting) -> Expr:
    """Return the quantity as it is printed: with values put in that the setting does not record."""
    recorded = {symbol for symbol, _ in setting.at}
    outside = {symbol: sympify(value) for symbol, value in given.at.items() if symbol not in recorded}
    values = {symbol: value for symbol, value in outside.items() if not isinstance(symbol, Index)}
    return at_places(sympify(given.quantity), given.at).xreplace(values)


def cell_name(setting: Setting, taken: set[str]) -> str:
    """Return the name of a setting, which seeds its draws: its values, and laws other than the normal law."""
    values = [f"{str(symbol).removesuffix('_k')}{value}" for symbol, value in setting.at]
    laws = dict.fromkeys(law.name for _, law in setting.laws if law != NORMAL)
    parts = [*["pairs"] * setting.pairs, *values, *laws]
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") or "all"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique)
    return unique
