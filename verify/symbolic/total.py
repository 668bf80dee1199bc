"""A check of steps on softmax for any number of keys: the sum of all exponentials is one symbol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sympy import Indexed, Integer, S, Sum, Symbol, exp, simplify

from verify.symbolic.expectation import DerivationError
from verify.symbolic.printing import plain
from verify.symbolic.softmax import n, p, s

_TOTAL = Symbol("Z", positive=True)


@dataclass(frozen=True)
class WithTotal:
    """Both sides are the same function of single scores and of Σexp(s_j), which may be any positive number.

    What holds for every such number holds for the sum itself, however many keys it runs over.
    """

    label: str = r"SymPy, any number of keys: $\sum_j e^{s_j}$ as one symbol"
    reach: ClassVar[Literal["general"]] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the difference of both sides simplifies to 0.

        Raises:
            DerivationError: a sum is not a multiple of that of all exponentials.
        """
        return bool(simplify(with_total(before) - with_total(after)) == S.Zero)


def with_total(expression: Any) -> Any:
    """Return ``expression`` as a function of single scores and of one symbol for Σexp(s_j).

    Raises:
        DerivationError: a sum is not a multiple of that of all exponentials, or runs over something else.
    """
    weights = {one: exp(s[one.indices[0]]) / _TOTAL for one in expression.atoms(Indexed) if one.base == p}
    without = expression.xreplace(weights).replace(Sum, _multiple)
    left = without.atoms(Indexed)
    if any(one.base != s or not isinstance(one.indices[0], Integer) for one in left):
        raise DerivationError(f"{plain(expression)}: holds more than single scores and sums over all keys")
    return without.xreplace({one: Symbol(f"s_{one.indices[0]}", real=True) for one in left})


def _multiple(summand: Any, *limits: Any) -> Any:
    """Return a sum over all keys as a multiple of the total."""
    ((index, low, high),) = limits
    factor = simplify(summand.expand() / exp(s[index]))
    if (low, high) != (1, n) or index in factor.free_symbols:
        raise DerivationError(f"{plain(Sum(summand, *limits))}: no multiple of the sum of all exponentials")
    return factor * _TOTAL
