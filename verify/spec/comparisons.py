"""Comparisons: what is measured of a quantity, in which setting, and the number that it is compared with.

Quantities at one setting share a cell and its draws. Factors that are not random are taken out of means, so
that quantities that differ in these alone share draws too. A check of a chain's start against its end is
*derived*, and the laws it is measured with are compared with the chain's assumptions.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal

import mpmath
import numpy as np
import scipy
from sympy import Derivative, Dummy, Expr, Float, Integral, Mul, Rational, S, Symbol, lambdify, sympify

from verify.errors import ClaimError
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.experiment import Prediction
from verify.spec.checks import Check, Compared, Threshold, refuse_symbols
from verify.symbolic import vocabulary
from verify.symbolic.analysis import number_of
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import latex
from verify.symbolic.row_integrals import PRECISE, Approximation, mean_over_row, over_lengths
from verify.symbolic.vocabulary import Cov, Dot, E, Family, Given, Index, LargestGap, Named, Quantile, Var
from verify.symbolic.vocabulary import a, d, definition, families_of, free_indices, k, n, q, s

LONG = 24  # digits beyond which a quotient of whole numbers tells less than its decimals
# How far, relative to the larger, a stated prediction may be from the derived: more is a contradiction.
SAME = 1e-6
# At how many points a law of numbers is compared with a chain's end, which takes an integral each.
LAW_POINTS = 4


@dataclass(frozen=True)
class Setting:
    """The identity of a cell: laws of the families drawn, values of symbols, sizes of arrays."""

    laws: tuple[tuple[Family, Distribution], ...]
    at: tuple[tuple[Symbol, Any], ...]
    shape: tuple[tuple[Symbol, int], ...]
    pairs: bool = False  # whether each query has a key of its own


def measurable(given: Compared) -> tuple[Expr, Setting]:
    """Return the measured quantity of a comparison, with values put in that stand outside of every mean."""
    if given.quantity is None:
        raise ClaimError(f"check {given.id}: it has no quantity; give one, or of= for a wrong version")
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
    # Values that a mean needs make the cell; others are put in, so that what differs in these shares draws.
    needed = {size for family in families for size in family.ranges} | inside
    if unknown := [family for family in families if isinstance(family, Given) and family not in given.laws]:
        raise ClaimError(
            f"check {given.id}: {unknown[0]} is given; say its numbers in laws={{{unknown[0]}: numbers(…)}}"
        )
    at = {symbol: sympify(value) for symbol, value in given.at.items() if not isinstance(symbol, Index)}
    outside = {symbol: value for symbol, value in at.items() if symbol not in needed}
    setting = Setting(
        tuple((family, given.laws.get(family, NORMAL)) for family in families),
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


def cell_name(setting: Setting, taken: Collection[str]) -> str:
    """Return a new name of a setting, which seeds its draws: its values, and laws but the normal law."""
    values = [f"{str(symbol).removesuffix('_k')}{value}" for symbol, value in setting.at]
    laws = dict.fromkeys(law.name for _, law in setting.laws if law != NORMAL)
    parts = [*["pairs"] * setting.pairs, *values, *laws]
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") or "all"
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def predicted(given: Compared) -> Prediction:
    """Return the prediction of a comparison, as a number with its exact form."""
    value = given.predicted
    if isinstance(value, Prediction):  # of a question that is asked against another formula than the derived
        return value
    if isinstance(value, Threshold):
        alone = replace(given, equals=value.value, at_most=None, at_least=None)
        return replace(predicted(alone), origin="set")
    if isinstance(value, float):
        if given.relation != "=" and 0 < value < 1 and round(value, 2) == value:
            says = f"its bound {value} is a round number, which nothing derives; say that it is set"
            raise ClaimError(f"check {given.id}: {says}: Threshold({value})")
        return Prediction(value, f"{value:.6g}")
    exact = _put_in(value, given)
    if exact.has(E) and n in given.at:  # means over rows
        mean = integrated(value, given.at)
        return Prediction(mean, f"{mean:.6g}")
    refuse_symbols(f"check {given.id}", exact)
    if exact.is_extended_real is False or exact.is_infinite:
        raise ClaimError(f"check {given.id}: {value} is {exact} there, no real number; correct at={{…}}")
    number, is_long = value_of(exact), exact.is_Rational and len(str(exact)) > LONG
    return Prediction(number, f"{number:.6g}" if exact.has(Integral) or is_long else latex(exact))


@lru_cache(maxsize=4096)
def value_of(number: Expr) -> float:
    """Return an expression without symbols as a float; a ``TypeError`` says that symbols are left."""
    if not number.has(Integral) or number.free_symbols:
        return float(number)
    # mpmath takes ten times as long, for digits that no float has; it is left what overflows in floats.
    values = {part: _in_floats(part) for part in number.atoms(Integral)}
    if np.isfinite([*values.values()]).all():
        return float(number.xreplace({part: Float(value, 17) for part, value in values.items()}))
    with mpmath.workdps(20):
        return float(number_of(number))


def _in_floats(integral: Any) -> float:
    """Return a single integral by SciPy's quadrature, no number where that does not see ten digits of it."""
    (variable, *ends), *others = integral.limits
    if others or integral.function.has(Integral):
        return math.nan
    function = lambdify(variable, integral.function, "scipy")
    with np.errstate(all="ignore"), suppress(OverflowError):
        low, high = map(float, ends)
        wanted: dict[str, Any] = {"epsabs": 0, "epsrel": 1e-11, "limit": 200, "full_output": 1}
        value, error, *_ = scipy.integrate.quad(function, low, high, **wanted)
        return float(value) if error <= 1e-10 * abs(value) else math.nan
    return math.nan


def _at(given: Compared, *, indices: bool = True) -> dict[Any, Any]:
    """Return the values of symbols exactly: a decimal counts as it is written."""
    return {
        symbol: Rational(str(number)) if isinstance(number, float) else sympify(number)
        for symbol, number in given.at.items()
        if indices or not isinstance(symbol, Index)
    }


def _put_in(x: Any, given: Compared) -> Expr:
    """Return an expression with values put in: of symbols, of moments of laws, and given numbers."""
    at, x = _at(given), sympify(x)
    values = {symbol: value for symbol, value in (_moments(given) | at).items() if symbol in x.free_symbols}
    value = x.xreplace(values)
    if not value.has(Given):
        return value
    laws = {str(family.label): law for family, law in given.laws.items() if isinstance(family, Given)}
    families = {str(family.label): family for family in families_of(value) if isinstance(family, Given)}
    if name := min(families.keys() - laws, default=""):
        raise ClaimError(f"check {given.id}: {name} is given; say its numbers in laws={{{name}: numbers(…)}}")
    arrays = []
    for name, family in families.items():
        shape = [int(sympify(size).subs(at)) for size in family.ranges]
        numbers = np.resize(laws[name].fill.numbers, shape)  # type: ignore[attr-defined]
        # Rational numbers of SymPy; places are counted from 1.
        arrays.append(np.pad(np.frompyfunc(Rational, 1, 1)(numbers), [(1, 0)] * len(shape)))
    # Fractions are arguments, too: Python would divide them in floats.
    written = definition(value)
    fractions = {number: Dummy() for number in written.atoms(Rational) if not number.is_Integer}
    code = lambdify([*fractions.values(), *families.values()], written.xreplace(fractions), "sympy")
    return sympify(code(*fractions, *arrays))


@lru_cache
def _moments_of(name: str, law: Distribution) -> dict[Symbol, Any]:
    """Return mean, deviation, skewness and kurtosis of a law, as far as it has them, by their symbols."""
    # A law without a mean, such as Cauchy's, leaves the symbols in, which is then said of the prediction.
    known = min(len(law.base_moments) - 1, 4)
    shape: dict[str, Any] = {"mu": Rational(law.mean)} if known >= 1 else {}
    if known >= 2:
        central = list(map(Rational, law.central_moments(known)))
        spread = shape["sigma"] = central[2] ** S.Half
        orders = zip((3, 4), ("gamma", "kappa"), strict=True)
        shape |= {symbol: central[of] / spread**of for of, symbol in orders if of <= known}
    return {getattr(vocabulary, f"{symbol}_{name}"): value for symbol, value in shape.items()}


def _moments(given: Compared) -> dict[Symbol, Any]:
    """Return the moments of queries' and keys' components, by their symbols."""
    return _moments_of("q", given.laws.get(q, NORMAL)) | _moments_of("k", given.laws.get(k, NORMAL))


def origin(check: Check, derivation: Derivation, value: float) -> Literal["derived", "computed"]:
    """Return "derived" where a check is of a chain's start against its end, else "computed"."""
    for chain in derivation.chains:
        # Other laws are a mistake here, not another check: the start and the end are this chain's.
        if _is_of(check, chain, value):
            _refuse_other_laws(check, chain)
            return "derived"
    # A limit may be compared with what comes near it, where the band says why that is near enough.
    stated = check.relation == "=" and not check.within().because
    derived = truth_of(check, derivation) if stated else None
    if derived is not None and abs(derived - value) > SAME * max(abs(derived), abs(value)):
        raise ClaimError(
            f"check {check.id}: it predicts {value:.8g}, but a chain derives {derived:.8g} for the same "
            "quantity; correct the prediction, make it a Wrong(…), or say why it may differ: "
            'tolerance=Within(…, because="…")'
        )
    return "computed"


def truth_of(given: Compared, derivation: Derivation) -> float | None:
    """Return the derived value of a compared quantity, None where no chain derives it under its laws."""
    for chain in derivation.chains:
        end = _end_for(given, chain, "=")
        # What a chain says under conditions, it says of no setting at which one of them fails.
        if end is not None and all(_put_in(condition, given) != S.false for condition in chain.given):
            with suppress(ClaimError):
                _refuse_other_laws(given, chain)
                return end
    return None


def _is_of(check: Check, chain: Chain, value: float) -> bool:
    """Return whether a check is of a chain's start, and compares it with the chain's end."""
    if isinstance(check.quantity, LargestGap):
        # A gap from a law is of the chain of the share that has this law, at a selection of the law's points.
        share, x, points, values = check.quantity.args
        step = max(1, len(points) // LAW_POINTS)
        places = list(zip(points, values, strict=True))[step // 2 :: step]
        shares = ((replace(check, quantity=share, at={**check.at, x: point}), y) for point, y in places)
        return value == 0 and all(_is_of(each, chain, float(y)) for each, y in shares)
    end = _end_for(check, chain, check.relation)
    return end is not None and abs(end - value) <= 1e-9 * max(1.0, abs(value))


def _end_for(given: Compared, chain: Chain, relation: str) -> float | None:
    """Return the end of a chain as a number if it relates to the compared quantity like that; else None."""
    at = _at(given, indices=False)
    # A derivative is by a symbol, for which no number can be put in.
    is_fixed = any(at.keys() & set(part.variables) for part in chain.start.atoms(Derivative))
    if is_fixed or {"<": "≤", ">": "≥"}.get(chain.relation, chain.relation) != relation:
        return None
    # A chain is for any size, a check may be written at one: both are compared with values put in.
    setting = tuple(given.at.items()), tuple(at.items())
    if _at_setting(chain.start, *setting) != _at_setting(given.quantity, *setting):
        return None
    try:
        return value_of(_put_in(chain.end, given))
    except TypeError:  # means or symbols are left, or it is a proposition
        with suppress(ClaimError, KeyError):
            return integrated(chain.end, given.at)
        return None


@lru_cache(maxsize=4096)  # many checks share a setting, and each is compared with every chain
def _at_setting(quantity: Any, places: tuple[Any, ...], at: tuple[Any, ...]) -> Expr:
    return at_places(normalised(quantity), dict(places)).xreplace(dict(at))


def _refuse_other_laws(check: Compared, chain: Chain) -> None:
    """Refuse a check whose components have other moments than its chain assumes."""
    values, families = _moments(check) | _at(check), families_of(check.quantity)
    for family, law in {pair: None for line in chain.lines for pair in (line.check.laws or {}).items()}:
        drawn = check.laws.get(family, NORMAL)
        if law.density and family in families and drawn.name not in law.words:
            raise ClaimError(
                f"check {check.id}: its chain assumes {law.words} for {family}, and {drawn.name} is drawn"
            )
        for order, raw in enumerate(law.raw[: len(drawn.base_moments)]):
            assumed, moment = sympify(raw).xreplace(values), Fraction(drawn.moments(order)[order])
            if order and assumed.is_number and abs(float(assumed) - float(moment)) > 1e-12:
                raise ClaimError(
                    f"check {check.id}: its chain assumes {law.words} for {family}, but {drawn.name} has "
                    f"E {family}{f'^{order}' * (order > 1)} = {moment}; correct the law"
                )
        if len(law.raw) > (known := len(drawn.base_moments)):
            raise ClaimError(
                f"check {check.id}: its chain assumes {law.words} for {family}, and of {drawn.name} no "
                f"moment of order {known} is recorded; correct the law"
            )


# The length of a query, which is the deviation of its scores with standard normal keys.
LENGTH = Symbol("length", positive=True)


def integrated(quantity: Any, at: Mapping[Any, Any], within: float = PRECISE) -> float:
    """Return the value of an expression in means over normal rows, at values of its symbols.

    Args:
        quantity: Made of ``E``, ``Var`` and ``Cov`` of polynomials in weights, scores, sums of them over keys
            and at most one log-sum-exp (or entropy), or of the largest score or weight alone. Scores are
            ``c*s[a, j]`` or ``c*score`` with the same c, all components standard normal.
        at: Values of its symbols; ``n`` always, ``d`` for scores q·k.
        within: How near to each other the last two rules over a query's length have to be, relatively:
            ``PRECISE``, or ``ON_PAPER`` for a point of a curve.

    Raises:
        ClaimError: no one-dimensional integral is known for a mean.

    Example:
        >>> integrated(E(Entropy(score / sqrt(d), j)), {n: 64, d: 4})
    """
    return _integrated(
        sympify(quantity), tuple((symbol, float(value)) for symbol, value in at.items()), within
    )


@cache  # for a prediction is asked for again where its origin is decided
def _integrated(quantity: Any, at: tuple[tuple[Any, float], ...], within: float) -> float:
    values = dict(at)
    opened = quantity.replace(lambda part: isinstance(part, Var | Cov), lambda part: part.definition)
    numbers = {mean: Float(_mean(mean.args[0], values, within), 17) for mean in opened.atoms(E)}
    return float(opened.xreplace(numbers).subs(values))


def _mean(x: Any, values: Mapping[Any, float], within: float) -> float:
    """Return one mean; of scores q·k over the length of the query, given which they are independent."""

    def mean(_: int, length: float) -> Approximation:
        at = {symbol: Float(value, 17) for symbol, value in {**values, LENGTH: length}.items()}
        return mean_over_row(rows, lambda part: float(part.xreplace(at)))

    # A query's score with itself, where queries are keys, too, is its squared length.
    rows = x.replace(
        lambda part: isinstance(part, Dot) and part.args[:3] in ((q, a, k), (q, a, q)),
        lambda part: LENGTH**2 if part.args[3] == a else LENGTH * s[a, part.args[3]],
    )
    if rows.has(Dot):
        raise ClaimError(f"{x}: only scores of one query with the keys are integrated")
    keys = round(values[n])
    return (over_lengths(mean, keys, values[d], 1.0, within) if x.has(Dot) else mean(keys, 1.0)).value
