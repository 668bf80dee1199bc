"""Laws of components by name, as a reader writes them: ``uniform``, ``t(9)``, ``normal(0, 2)``.

Without brackets every law has mean 0 and variance 1. In brackets stand mean and standard deviation, of
the uniform law its two ends, of Student's law its degrees of freedom.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sympy import Rational, S

from verify.errors import SettingsError, nearest
from verify.montecarlo.distributions import (
    CAUCHY,
    EXPONENTIAL,
    HIGHEST,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
    student_t,
)
from verify.symbolic import vocabulary
from verify.symbolic.vocabulary import NORMAL_LAW, UNIT, Law

_NAMED = {
    "normal": NORMAL,
    "uniform": UNIFORM,
    "rademacher": RADEMACHER,
    "laplace": LAPLACE,
    "exponential": EXPONENTIAL,
    "cauchy": CAUCHY,
}
LAWS = (*_NAMED, "t(9)", "normal(0, 2)", "uniform(0, 1)")
"""Examples of every way to write a law."""

_WRITTEN = re.compile(r"\s*([a-zA-Z]+)\s*(?:\((.*)\))?\s*")
_MOST_DEGREES = 10**6


def law_named(text: str, option: str = "--law") -> Distribution:
    """Return the law that is written; ``option`` is named in messages.

    Raises:
        SettingsError: there is none of this name, or its parameters do not fit.
    """
    written = _WRITTEN.fullmatch(text)
    name = written[1].lower() if written else text
    if not written or name not in (*_NAMED, "t"):
        raise SettingsError(
            f"{option} {text}: no such law; {nearest(name, (*_NAMED, 't(9)'))} there are {', '.join(LAWS)}"
        )
    if written[2] is None and name != "t":
        return _NAMED[name]
    numbers = [_number(part, text, option) for part in written[2].split(",")] if written[2] else []
    if name == "t":
        if len(numbers) != 1 or numbers[0].denominator > 1 or not 3 <= numbers[0] <= _MOST_DEGREES:
            raise SettingsError(
                f"{option} {text}: give Student's law its degrees of freedom, from 3 on: t(9)"
            )
        return student_t(int(numbers[0]))
    if len(numbers) != 2:
        two = "its two ends: uniform(0, 1)" if name == "uniform" else f"mean and deviation: {name}(0, 2)"
        raise SettingsError(f"{option} {text}: give it {two}, or no brackets for mean 0 and variance 1")
    first, second = numbers
    if name == "uniform" and first < second:
        return UNIT_INTERVAL.moved(first, second - first)
    if name == "uniform" or second <= 0:
        wrong = "its ends are in the wrong order" if name == "uniform" else "its deviation is not above 0"
        raise SettingsError(f"{option} {text}: {wrong}")
    return _NAMED[name].moved(first, second)


def _number(text: str, law: str, option: str) -> Fraction:
    try:
        if re.fullmatch(r"\s*-?\d{1,12}(\.\d{1,12}|/\d{1,12})?\s*", text):
            return Fraction(text.strip())
    except ZeroDivisionError:
        pass
    raise SettingsError(
        f"{option} {law}: {text.strip() or 'nothing'} is no number; write such as normal(0, 2)"
    )


def called(law: Distribution) -> str:
    """Return what a law is called before "components": ``normal``, or ``uniform(0, 1)``."""
    base = {"U(0,1)": "uniform", "centred exponential": "exponential"}.get(law.base, law.base)
    if law.base == "U(0,1)":
        return f"uniform({law.loc}, {law.loc + law.scale})"
    return base if law.loc == 0 and law.scale == 1 else f"{base}({law.loc}, {law.scale})"


ORDERS = (2, 4, 8, 16)
"""The orders up to which moments are assumed: the fewest that a derivation needs."""

_ORDINALS = {3: "third", 4: "fourth"}


@lru_cache
def assumed(law: Distribution, highest: int) -> Law:
    """Return a law as what is assumed of components: its moments up to an order.

    Up to the fourth they are those of whatever law has them, more are those of the law by its name.

    Raises:
        ValueError: it has not so many moments.
    """
    if highest >= len(law.base_moments) or highest < 2:
        raise ValueError(f"{called(law)} components have no moment of order {len(law.base_moments)}")
    raw = tuple(map(Rational, law.moments(highest)))
    mean, variance = raw[1], raw[2] - raw[1] ** 2
    if highest == 2 and (mean, variance) == (0, 1):
        return UNIT
    if highest == HIGHEST and law == NORMAL:
        return NORMAL_LAW
    parts = [f"mean {mean}", f"variance {variance}"]
    parts += [f"{_ORDINALS[order]} moment {raw[order]}" for order in range(3, highest + 1) if highest <= 4]
    words = f"{', '.join(parts[:-1])} and {parts[-1]}"
    if highest <= 4:
        return Law(words, raw)
    kind = called(law).partition("(")[0] if law.base[:2] != "t(" else f"Student's {law.base}"
    return Law(f"{kind} components of {words}", raw, whole=highest == HIGHEST)


def moment_values(query: Distribution, key: Distribution) -> dict[Any, Any]:
    """Return mean, deviation, skewness and kurtosis of queries' and keys' components by their symbols."""
    values: dict[Any, Any] = {}
    for name, law in (("q", query), ("k", key)):
        known = min(len(law.base_moments) - 1, 4)
        if known < 2:
            continue
        central = law.central_moments(known)
        spread = Rational(central[2]) ** S.Half
        values[getattr(vocabulary, f"mu_{name}")] = Rational(law.mean)
        values[getattr(vocabulary, f"sigma_{name}")] = spread
        for order, symbol in ((3, "gamma"), (4, "kappa")):
            if known >= order:
                values[getattr(vocabulary, f"{symbol}_{name}")] = Rational(central[order]) / spread**order
    return values
