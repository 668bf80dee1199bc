"""What theorems assume besides, what is known to exist, what is not, and what shows it."""

from typing import Any

import pytest
from sympy import (
    Abs, Derivative, Gt, Integral, Interval, Limit, Ne, Range, S, Sum, Symbol, cos, exp, gamma, log, oo,
    sqrt, symbols,
)  # fmt: skip

from verify.former import Derivation, E, Population, Route, Step, d, i, k, n, p, q, s, score
from verify.symbolic.kernel.core import Theorem, chained, prove
from verify.symbolic.kernel.equations import Identity, Replaced
from verify.symbolic.kernel.existence import open_in
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Refused
from verify.symbolic.kernel.integrals import EulerIntegrals
from verify.symbolic.kernel.laws import SumOfSquares, chi_square_density
from verify.symbolic.kernel.normal import NORMAL_SCORES
from verify.symbolic.kernel.words import largest

a, t, u, w = symbols("a t u w", positive=True)
r = symbols("r", real=True)
N = symbols("N", integer=True, positive=True)
STARTS = Integral(exp(r * w), (w, 0, oo))  # diverges for some r, or all
VECTORS = Population({q: (1, 0, 1), k: (1, 0, 1)}, d, normal=(q, k))
NORMAL = Hypotheses(law=VECTORS)
SCORES = Hypotheses(law=NORMAL_SCORES)
SIGNS = Hypotheses(law=Population({q: (1, 0, 1, 0, 1)}, d))
SQUARES = Sum(q[i] ** 2, (i, 1, d))


def cancelled(part: Any, under: Hypotheses = NOTHING) -> Theorem:
    """Return the theorem that a part may be subtracted from itself, if it exists."""
    return prove(Identity(), (part + 1) ** 2 - part**2 - 2 * part, S.One, under)


@pytest.mark.parametrize(
    ("part", "under"),
    [
        (Integral(w**2 * exp(-t * w), (w, 0, oo)), NOTHING),
        (E(1 / (1 + a)), NOTHING),  # for any law for which it does
        (E(q[1] ** 4), SIGNS),
        (E(sqrt(SQUARES)), SIGNS),
        (E(cos(t * score)), NORMAL),
        (E(1 / (t + SQUARES)), NORMAL),
        (E(largest * log(p[i]) * Sum(p[i] ** 2, (i, 1, n))), SCORES),
        (Derivative(exp(r**2), r), NOTHING),
    ],
)
def test_what_is_known_to_exist(part: Any, under: Hypotheses) -> None:
    """By a criterion: continuous or bounded, and falling off; no faster growth than there are moments."""
    assert open_in(cancelled(part, under)) == []


@pytest.mark.parametrize(
    ("part", "under"),
    [
        (STARTS, NOTHING),
        (Integral(exp(-r * w), (w, 0, oo)), NOTHING),
        (Limit(a * w, w, oo), NOTHING),
        (E(q[1] ** 6), SIGNS),
        (E(exp(q[1])), SIGNS),
        (E(1 / SQUARES), NORMAL),
        (E(exp(t * score)), NORMAL),
        (E(1 / s[1]), SCORES),
        (Derivative(Abs(r), r), NOTHING),
    ],
)
def test_what_is_not_stays_open(part: Any, under: Hypotheses) -> None:
    """It stands among the hypotheses of all that rests on it, whatever else is left of it."""
    theorem = cancelled(part, under)
    assert open_in(theorem) == [part]
    assert open_in(chained(theorem, prove(Identity(), S.One, S.One, under))) == [part]
    assert open_in(prove(Replaced(theorem), a * theorem.lhs, a, under)) == [part]


@pytest.mark.parametrize("part", [Integral(a / w, (w, 1, oo)), Integral(exp(w), (w, 0, oo))])
def test_an_integral_of_numbers_is_refused_at_once(part: Any) -> None:
    """Nothing that is said later could show that it converges."""
    with pytest.raises(Refused, match="not known to converge"):
        cancelled(part)


def test_both_sides_exist_or_neither() -> None:
    """A mean and the integral that it is: the formula for one shows that of the other, where d > 1."""
    mean = E(1 / sqrt(SQUARES))
    whole = Integral(chi_square_density(w, d) / sqrt(w), (w, 0, oo))
    found = prove(SumOfSquares(VECTORS, q, w), mean, whole)
    assert {*open_in(found)} == {mean, whole}
    value = gamma((d - 1) / 2) / (sqrt(2) * gamma(d / 2))
    done = chained(found, prove(EulerIntegrals(w), whole, value))
    assert open_in(done) == []
    assert done.hypotheses.domain(d) == Range(2, oo)


def test_a_derivation_of_what_may_not_exist_fails() -> None:
    """And says of what that is not known."""
    start = (STARTS + 1) ** 2 - STARTS**2 - 2 * STARTS
    examined = Derivation.of(Route.of("Algebra", start, Step(S.One, "It cancels", Identity()))).examine()
    assert (examined.status, examined.reason) == ("failed", f"“Algebra”: not known to exist: {STARTS}")


b = Symbol("b", positive=True)
x = Symbol("x", real=True)


@pytest.mark.parametrize(
    ("condition", "symbol", "domain"),
    [
        (Gt((d - 1) / (2 * d), 0), d, Range(2, oo)),
        (n >= 2, n, Range(2, oo)),
        (Ne(sqrt(1 - a), 0), a, Interval.open(0, 1).union(Interval.open(1, oo))),
        (Gt((a - 1) ** 2, 0), a, Interval.open(0, 1).union(Interval.open(1, oo))),
    ],
)
def test_conditions_become_plain(condition: Any, symbol: Any, domain: Any) -> None:
    """Without positive factors, roots, squares and logarithms, and as the domain of one symbol."""
    found = NOTHING.having(condition)
    assert found.domain(symbol) == domain
    assert not found.conditions
