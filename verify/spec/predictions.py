"""Predictions: the numbers that quantities are compared with, and whether they are derived of just these.

A check of a chain's start against its end is *derived*, and the laws it is measured with are held against
what the chain assumes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from sympy import Rational, S, Symbol, sympify

from verify.errors import ClaimError
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import Prediction
from verify.spec.checks import Check, Compared, Threshold, refuse_symbols
from verify.spec.settings import normalised
from verify.symbolic import vocabulary
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import latex


def predicted(given: Compared, *, is_set: bool = False) -> Prediction:
    """Return what a comparison's quantity is compared with, as a number with its exact form.

    Raises:
        ClaimError: symbols are left in it, it is no real number, or a bound that is a round decimal, which
            nothing derives, is not said to be set.
    """
    value = given.predicted
    if isinstance(value, Prediction):
        return value
    if isinstance(value, Threshold):
        plain = replace(given, **_only(given.relation, value.value))
        return replace(predicted(plain, is_set=True), origin="set")
    if isinstance(value, float):
        if not is_set and given.relation != "=" and 0 < value < 1 and round(value, 2) == value:
            raise ClaimError(
                f"check {given.id}: its bound {value} is a round number, which nothing derives; say that "
                f"it is set: Threshold({value})"
            )
        return Prediction(value, f"{value:.6g}")
    at = {symbol: _exact(number) for symbol, number in given.at.items()}
    number = sympify(value).subs({**_moments(given), **at})
    refuse_symbols(f"check {given.id}", number)
    if number.is_extended_real is False or number.is_infinite:
        raise ClaimError(f"check {given.id}: {value} is {number} there, no real number; correct at={{…}}")
    return Prediction(float(number), latex(number))


def _only(relation: str, value: Any) -> dict[str, Any]:
    names = {"=": "equals", "≤": "at_most", "≥": "at_least"}
    return {name: value if sign == relation else None for sign, name in names.items()}


def _exact(number: Any) -> Any:
    """Return a value of a symbol exactly: a decimal counts as it is written."""
    return Rational(str(number)) if isinstance(number, float) else sympify(number)


def _moments(given: Compared) -> dict[Symbol, Any]:
    """Return mean, deviation, skewness and kurtosis of queries' and keys' components, by their symbols."""
    values: dict[Symbol, Any] = {}
    for name in ("q", "k"):
        law = given.laws.get(getattr(vocabulary, name), NORMAL)
        known = min(len(law.base_moments) - 1, 4)
        central = law.central_moments(known) if known >= 2 else ()
        spread = Rational(central[2]) ** S.Half if central else S.NaN
        if known >= 1:
            values[getattr(vocabulary, f"mu_{name}")] = Rational(law.mean)
        for order, symbol in ((3, "gamma"), (4, "kappa")):
            if len(central) > order:
                values[getattr(vocabulary, f"{symbol}_{name}")] = Rational(central[order]) / spread**order
        if central:
            values[getattr(vocabulary, f"sigma_{name}")] = spread
    return values


def origin(check: Check, derivation: Derivation, value: float) -> Literal["derived", "computed"]:
    """Return "derived" where a check is of a chain's start against its end, else "computed".

    Raises:
        ClaimError: the check's laws are not those that the chain assumes.
    """
    for chain in derivation.chains:
        if _is_of(check, chain, value):
            _refuse_other_laws(check, chain)
            return "derived"
    return "computed"


def truth_of(wrong: Compared, derivation: Derivation) -> float | None:
    """Return what a chain derives for the quantity of a wrong version, None where none does."""
    for chain in derivation.chains:
        end = _end_for(wrong, chain) if chain.relation == "=" else None
        if end is not None:
            with suppress(ClaimError):
                _refuse_other_laws(wrong, chain)
                return end
    return None


def _is_of(check: Check, chain: Chain, value: float) -> bool:
    """Return whether a check is of a chain's start, and compares it with the chain's end."""
    weak = {"<": "≤", ">": "≥"}.get(chain.relation, chain.relation)
    end = _end_for(check, chain) if weak == check.relation else None
    return end is not None and abs(end - value) <= 1e-9 * max(1.0, abs(value))


def _end_for(given: Compared, chain: Chain) -> float | None:
    """Return the end of a chain that starts with what is compared, as a number; None where there is none."""
    at = {symbol: _exact(number) for symbol, number in given.at.items()}
    start, quantity = (normalised(side).xreplace(at) for side in (chain.start, given.quantity))
    if start != quantity:
        return None
    try:
        return float(sympify(chain.end).subs({**_moments(given), **at}))
    except TypeError:  # symbols are left, or it is a proposition
        return None


def _refuse_other_laws(check: Compared, chain: Chain) -> None:
    """Refuse a check whose components have other moments than its chain assumes."""
    values = {**_moments(check), **{symbol: _exact(number) for symbol, number in check.at.items()}}
    for laws in (line.check.laws for line in chain.lines if line.check.laws):
        for family, law in laws.items():
            drawn = check.laws.get(family, NORMAL)
            for order, raw in enumerate(law.raw[: len(drawn.base_moments)]):
                assumed = sympify(raw).subs(values)
                if (
                    assumed.is_number
                    and order
                    and abs(float(assumed) - float(drawn.moments(order)[order])) > 1e-12
                ):
                    power = f"^{order}" * (order > 1)
                    raise ClaimError(
                        f"check {check.id}: its chain assumes {law.words} for {family}, but {drawn.name} has "
                        f"E {family}{power} = {Fraction(drawn.moments(order)[order])}; correct the law"
                    )
