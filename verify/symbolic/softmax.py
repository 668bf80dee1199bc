"""Softmax over n keys with symbolic n, and what it is written out for a few.

``s[i]`` are the scores, ``p[i]`` the probabilities exp(s_i)/Σexp(s_j); sums over keys run from 1 to n. An
``E`` around them is the expectation over independent normal scores with mean 0 and standard deviation σ.
"""

from __future__ import annotations

from typing import Any

from sympy import Idx, Sum, Symbol, exp, log

from verify.symbolic.kernel.words import n, p, s

i, j = Idx("i"), Idx("j")

SQUARES = Sum(p[i] ** 2, (i, 1, n))
"""The sum of the squared weights: 1 over the effective number of keys."""

ENTROPY = -Sum(p[i] * log(p[i]), (i, 1, n))
"""In nats."""

WEIGHTED_SCORE = Sum(p[i] * s[i], (i, 1, n))
"""The average of the scores by their own weights."""

TOTAL = Sum(exp(s[j]), (j, 1, n))
"""The sum that the softmax divides by."""

LOG_TOTAL = log(Sum(exp(s[i]), (i, 1, n)))
"""The logarithm of that sum."""


def scores(keys: int) -> tuple[Symbol, ...]:
    """Return the plain symbols that stand for ``s[1]``…``s[keys]`` once written out."""
    return tuple(Symbol(f"s_{key}", real=True) for key in range(1, keys + 1))


def written_out(expression: Any, keys: int) -> Any:
    """Return ``expression`` for ``keys`` keys: sums written out, probabilities as functions of the scores."""
    plain = scores(keys)
    total = sum(map(exp, plain))
    concrete = expression.subs({n: keys}).doit()
    entries = {s[key]: plain[key - 1] for key in range(1, keys + 1)}
    entries |= {p[key]: exp(plain[key - 1]) / total for key in range(1, keys + 1)}
    return concrete.xreplace(entries)
