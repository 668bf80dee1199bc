"""Softmax over n keys with symbolic n, and checks that write it out for small n.

``s[i]`` are the scores, ``p[i]`` the probabilities exp(s_i)/Σexp(s_j); sums over keys run from 1 to n. An
``E`` around them is the expectation over independent normal scores with mean 0 and standard deviation σ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sympy import Idx, Max, S, Sum, Symbol, exp, lambdify, log, simplify

from verify.symbolic.expectation import E
from verify.symbolic.printing import Ordered, OrderedBase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verify.symbolic.derivation import Reach

n = Ordered("n", "A", integer=True, positive=True)
"""The number of keys."""

sigma = Ordered("sigma", "s", positive=True)
"""The standard deviation of the scores."""

s = OrderedBase(Ordered("s", "r"))
p = OrderedBase(Ordered("p", "p"))
i, j = Idx("i"), Idx("j")

largest = Ordered(r"\max_i s_i", "s0", real=True)
"""The largest of the n scores."""

SQUARES = Sum(p[i] ** 2, (i, 1, n))
"""The sum of the squared weights: 1 over the effective number of keys."""

ENTROPY = -Sum(p[i] * log(p[i]), (i, 1, n))
"""In nats."""

WEIGHTED_SCORE = Sum(p[i] * s[i], (i, 1, n))
"""The average of the scores by their own weights."""

LOG_TOTAL = log(Sum(exp(s[i]), (i, 1, n)))
"""The logarithm of the sum that the softmax divides by."""

_STEP, _REACH = 0.2, 8.0
"""Spacing and reach of the trapezoid rule, in standard deviations."""


def scores(keys: int) -> tuple[Symbol, ...]:
    """Return the plain symbols that stand for ``s[1]``…``s[keys]`` once written out."""
    return tuple(Symbol(f"s_{key}", real=True) for key in range(1, keys + 1))


def written_out(expression: Any, keys: int) -> Any:
    """Return ``expression`` for ``keys`` keys: sums written out, probabilities as functions of the scores."""
    plain = scores(keys)
    total = sum(map(exp, plain))
    concrete = expression.subs({n: keys, largest: Max(*plain)}).doit()
    entries = {s[key]: plain[key - 1] for key in range(1, keys + 1)}
    entries |= {p[key]: exp(plain[key - 1]) / total for key in range(1, keys + 1)}
    return concrete.xreplace(entries)


@dataclass(frozen=True)
class WrittenOut:
    """SymPy simplifies the difference of both sides to 0 at each of a few numbers of keys."""

    sizes: tuple[int, ...] = (2, 3, 4, 5)
    reach: ClassVar[Reach] = "examples"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        return f"SymPy, written out for n = {self.sizes[0]}…{self.sizes[-1]} keys"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides are the same function of the scores at every size."""
        return all(
            simplify(written_out(before, size) - written_out(after, size)) == S.Zero for size in self.sizes
        )


@dataclass(frozen=True)
class Quadrature:
    """Expectations over normal scores, integrated over all of them for a few keys; printed as numerical.

    The trapezoid rule converges geometrically for functions analytic about the real axis. Source: L. N.
    Trefethen and J. A. C. Weideman, The Exponentially Convergent Trapezoidal Rule, SIAM Rev. 56 (2014).
    """

    sizes: tuple[int, ...] = (2, 3)
    deviations: tuple[float, ...] = (0.5, 1.0, 2.0)
    digits: int = 9
    reach: ClassVar[Reach] = "numerical"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        where = ", ".join(f"{value:g}" for value in self.deviations)
        sizes = ", ".join(map(str, self.sizes))
        return f"numerical integration, n = {sizes} and σ = {where}: agrees to {self.digits} digits"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides agree at every number of keys and deviation tried."""
        for size, deviation in product(self.sizes, self.deviations):
            one, other = (self.value(side, size, deviation) for side in (before, after))
            if abs(one - other) > 10.0**-self.digits * max(abs(one), abs(other), 1.0):
                return False
        return True

    @staticmethod
    def value(expression: Any, keys: int, deviation: float) -> float:
        """Return the number that ``expression`` is for so many keys and this σ, expectations integrated."""
        integrated = expression.replace(E, lambda x: _mean(x, keys, deviation))
        number = written_out(integrated, keys).subs(sigma, deviation)
        return float(number)


@cache
def _mean(argument: Any, keys: int, deviation: float) -> Any:
    """Return E of a function of the scores by the trapezoid rule on a grid over all of them."""
    points, weights = _grid(keys)
    plain = scores(keys)
    integrand = lambdify(plain, written_out(argument, keys).subs(sigma, deviation), "numpy", cse=True)
    values = np.broadcast_to(integrand(*(deviation * axis for axis in points)), weights.shape)
    return S(float(np.sum(weights * values)))


@cache
def _grid(keys: int) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]]:
    axis = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    density = np.exp(-(axis**2) / 2)
    density /= density.sum()
    points = np.meshgrid(*[axis] * keys, indexing="ij", sparse=True)
    weights = np.ones(())
    for place in range(keys):
        shape = [1] * keys
        shape[place] = -1
        weights = weights * density.reshape(shape)
    return tuple(points), weights
