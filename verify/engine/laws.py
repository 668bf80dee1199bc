"""Laws of components by name, as a reader writes them: ``uniform``, ``t(9)``, ``normal(0, 2)``.

Without brackets every law has mean 0 and variance 1. In brackets stand mean and standard deviation, of
the uniform law its two ends, of Student's law its degrees of freedom.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from sympy import Rational

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

_WRITTEN = re.compile(r"\s*([a-zA-Z]+)\s*(?:\(([^()]*)\))?\s*")
_NUMBER = re.compile(r"\s*-?\d{1,12}(\.\d{1,12}|/[1-9]\d{0,11})?\s*")
_MOST_DEGREES = 10**6


def law_named(text: str, option: str = "--law") -> Distribution:
    """Return the law that is written; ``option`` is named in messages.

    Raises:
        SettingsError: there is none of this name, or its parameters do not fit.
    """
    written = _WRITTEN.fullmatch(text)
    name = written[1].lower() if written else text
    if written is None or name not in (*_NAMED, "t"):
        near = nearest(name, (*_NAMED, "t(9)"))
        raise SettingsError(f"{option} {text}: no such law; {near} there are {', '.join(LAWS)}")
    if written[2] is None and name != "t":
        return _NAMED[name]
    parts = (written[2] or "").split(",")
    numbers = [Fraction(part.strip()) for part in parts if _NUMBER.fullmatch(part)]
    if name == "t":
        if len(numbers) == len(parts) == 1 and numbers[0] in range(3, _MOST_DEGREES):
            return student_t(int(numbers[0]))
        raise SettingsError(f"{option} {text}: give Student's law its degrees of freedom, from 3 on: t(9)")
    wanted = "its two ends, as in uniform(0, 1)" if name == "uniform" else f"mean and deviation: {name}(0, 2)"
    if len(numbers) != 2 or len(parts) != 2:
        raise SettingsError(f"{option} {text}: give it {wanted}; or no brackets, for mean 0 and variance 1")
    first, second = numbers
    if name == "uniform" and first < second:
        return UNIT_INTERVAL.moved(first, second - first)
    if name != "uniform" and second > 0:
        return _NAMED[name].moved(first, second)
    wrong = "its ends are in the wrong order" if name == "uniform" else "its deviation is not above 0"
    raise SettingsError(f"{option} {text}: {wrong}")


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
