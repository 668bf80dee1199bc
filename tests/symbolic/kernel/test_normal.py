"""Normal numbers: scores, their means, and functions of normal combinations."""

from typing import Any

import pytest
from sympy import Integral, Rational, S, Sum, Symbol, erf, exp, log, oo, pi, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import Theorem, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population
from verify.symbolic.kernel.normal import (
    NORMAL_SCORES, ByParts, EvenIsMost, LargestScore, OneOfAll, OverQueries, Shifted, TotalGrows,
)  # fmt: skip
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.transforms import SCORES, LargestOfNormal, OverNormal
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.scores import d, k, q
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, TOTAL, WEIGHTED_SCORE, i, j

REST = 1 - E(SQUARES)
MORE = Rational(101, 100)
STEPS: dict[str, tuple[Any, Any, Any, str]] = {
    "stein": (ByParts(p[j]), REST, E(WEIGHTED_SCORE) / sigma**2, "="),
    "entropy": (ByParts(sigma**2 * p[j]), E(ENTROPY), E(LOG_TOTAL) - sigma**2 * REST, "="),
    "total": (TotalGrows(), E(LOG_TOTAL) - sigma**2 * REST, log(n) - sigma**2 * REST / 2, "≥"),
    "largest": (LargestScore(), E(largest) / sigma**2, sqrt(2 * log(n)) / sigma, "≤"),
    "even": (EvenIsMost(), E(ENTROPY), log(n), "≤"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_holds_and_one_per_cent_off_it_does_not(name: str) -> None:
    """Neither in its constants nor as a whole; which way it goes follows from the expression."""
    rule, before, after, relation = STEPS[name]
    found = proved(rule, before, after, relation=relation)
    law = found.hypotheses.law
    assert law == (None if name == "even" else NORMAL_SCORES)
    for wrong in (after * MORE, after / MORE, after.subs(sigma, sigma * MORE), -after):
        if wrong != after:
            refused(rule, before, wrong)


@pytest.mark.parametrize(
    ("rule", "before", "after", "words"),
    [
        pytest.param(
            LargestScore(), E(largest) ** 2, 2 * sigma**2 * log(n), "not known to move one way", id="a square"
        ),
        pytest.param(LargestScore(), E(largest), sqrt(log(n)) * sigma, "not this", id="another root"),
        pytest.param(TotalGrows(), E(ENTROPY), log(n), "no such mean in it", id="nothing put in"),
        pytest.param(EvenIsMost(), E(LOG_TOTAL), log(n), "terms are left over", id="not the entropy"),
        pytest.param(EvenIsMost(), log(n), E(ENTROPY), "terms are left over", id="the wrong way round"),
    ],
)
def test_what_does_not_follow_is_refused(rule: Any, before: Any, after: Any, words: str) -> None:
    """A bound in the wrong direction, and one put in where it moves both ways."""
    assert words in refused(rule, before, after)


def divergence(field: Any) -> Any:
    """Return the mean of a divergence, 0 if nothing is lost at infinity."""
    return E(Sum(field.diff(s[j]) - s[j] * field / sigma**2, (j, 1, n)))


@pytest.mark.parametrize("field", [exp(s[j] ** 2), 1 / s[j], s[j] ** Rational(1, 2), exp(s[j]) * p[j]])
def test_fields_that_do_not_vanish_at_infinity_are_refused(field: Any) -> None:
    """However well the sides differ by their divergence, whose mean need not be 0; a tame one's is."""
    proved(ByParts(s[j] ** 3), divergence(s[j] ** 3), S.Zero)
    assert "not known to grow as a polynomial" in refused(ByParts(field), divergence(field), S.Zero)


a = Symbol("a", positive=True)
r = Symbol("r", real=True)
ONCE = exp(sigma**2) - 1
OVER = Sum(exp(s[i]) / TOTAL, (i, 1, n))
SHIFTED = Sum(1 / (TOTAL + ONCE * exp(s[i])), (i, 1, n))
QUERY = Sum(q[i] ** 2, (i, 1, d))


def _over(known: Theorem, **given: Any) -> OverQueries:
    return OverQueries(**({"square": QUERY, "key": k, "scale": 1 / sqrt(d), "known": known} | given))


def test_a_shift_of_one_score() -> None:
    """The mean of an exponential, of a score times one, and of a share of the total."""
    proved(Shifted(s[1], sigma**2), E(exp(s[1])), exp(sigma**2 / 2))
    proved(Shifted(s[1], a * sigma**2), E(exp(a * s[1])), exp(a**2 * sigma**2 / 2))
    proved(Shifted(s[1], sigma**2), E(s[1] * exp(s[1])), exp(sigma**2 / 2) * E(s[1] + sigma**2))
    found = proved(Shifted(s[i], sigma**2), E(OVER), exp(sigma**2 / 2) * E(SHIFTED))
    assert found.hypotheses.law == NORMAL_SCORES
    weight = exp(-r * s[3] / sigma**2 - r**2 / sigma**2 / 2)
    third = proved(Shifted(s[3], r), E(s[3] * s[1]), E((s[3] + r) * s[1] * weight))
    assert third.hypotheses.domain(n).inf == 3


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (Shifted(s[1], sigma**2), E(exp(s[1])), Rational(101, 100) * exp(sigma**2 / 2)),
        (Shifted(s[1], sigma), E(exp(s[1])), exp(sigma**2 / 2)),
        (Shifted(s[1], sigma**2), E(p[1]), exp(sigma**2 / 2) * E(p[1] * exp(-s[1]))),  # p moves too
        (Shifted(s[1], sigma**2), E(exp(s[1]) * s[i]), exp(sigma**2 / 2) * E(s[i])),  # i may be 1
        (Shifted(s[1], sigma**2), E(exp(s[1]) / TOTAL), exp(sigma**2 / 2) * E(1 / TOTAL)),
        (Shifted(s[1], sigma**2, Population({s: (1, 0, sigma**2)}, n)), E(exp(s[1])), exp(sigma**2 / 2)),
    ],
)  # fmt: skip
def test_a_wrong_shift_is_refused(rule: Shifted, before: Any, after: Any) -> None:
    """A factor, another step, or what moves with the score and is not moved."""
    refused(rule, before, after)


def test_over_queries_a_mean_is_that_of_the_means() -> None:
    """Of one exponential, of a bound of the entropy; σ is the length of the query over the root."""
    of_one = prove(Shifted(s[1], sigma**2), E(exp(s[1])), exp(sigma**2 / 2))
    found = proved(_over(of_one), S.Zero, E(exp(QUERY / (2 * d))))
    assert found.lhs == E(exp(s[1]))
    law: Any = found.hypotheses.law
    assert set(law.moments) == {q, k}
    most = prove(EvenIsMost(), E(ENTROPY), log(n), Hypotheses(law=NORMAL_SCORES))
    proved(_over(most), S.Zero, E(log(n)), relation="≤")


def test_wrong_means_over_queries_are_refused() -> None:
    """Another variance, scale or sum of squares, a theorem for some σ, or of what need not have a mean."""
    of_one = prove(Shifted(s[1], sigma**2), E(exp(s[1])), exp(sigma**2 / 2))
    right = E(exp(QUERY / (2 * d)))
    refused(_over(of_one), S.Zero, E(exp(QUERY / d)))
    refused(_over(of_one, scale=-1 / sqrt(d)), S.Zero, right)
    refused(_over(of_one, square=Sum(q[i] ** 2, (i, 2, d))), S.Zero, right)
    refused(_over(of_one, square=Sum(q[i], (i, 1, d))), S.Zero, right)
    refused(_over(of_one, key=q), S.Zero, right)
    some = NOTHING.having(1 - sigma > 0)
    few = prove(Shifted(s[1], sigma**2), E(exp(s[1])), exp(sigma**2 / 2), some)
    refused(_over(few), S.Zero, right)
    identity = prove(SumIdentity(), E(SQUARES), E(Sum(p[j] ** 2, (j, 1, n))))
    refused(_over(identity), S.Zero, E(SQUARES))  # nothing says that its scores are normal
    gap = prove(
        Shifted(s[1], sigma**2), E((1 - s[1]) * exp(s[1])), exp(sigma**2 / 2) * E(1 - s[1] - sigma**2)
    )
    assert "neither" in refused(_over(gap), S.Zero, E(exp(QUERY / (2 * d)) * (1 - s[1] - QUERY / d)))


def test_the_largest_is_one_of_them() -> None:
    """Its square and its exponential are at most the sums of all, and nothing else."""
    squares = Sum(s[j] ** 2, (j, 1, n))
    proved(OneOfAll(), largest**2, squares, relation="≤")
    proved(OneOfAll(), E(exp(largest)), E(TOTAL), relation="≤")
    refused(OneOfAll(), largest**2, Rational(99, 100) * squares)
    refused(OneOfAll(), largest, Sum(s[j], (j, 1, n)))
    refused(OneOfAll(), largest**2, Sum(s[j] ** 2, (j, 2, n)))
    refused(OneOfAll(), E(largest**2), squares)


x = Symbol("x", real=True)
c = Symbol("c", positive=True)
Z = Symbol("Z", real=True)
GAP = exp(-(x**2) / (4 * sigma**2)) / (2 * sigma * sqrt(pi))
LARGEST = n * x * exp(-(x**2) / 2) / sqrt(2 * pi) * ((1 + erf(x / sqrt(2))) / 2) ** (n - 1)


def over(integrand: Any) -> Any:
    """Return the integral over the whole line."""
    return Integral(integrand, (x, -oo, oo))


class TestOverNormal:
    """A linear combination of independent normal variables is normal."""

    def test_a_difference_of_two_has_twice_the_variance(self) -> None:
        """A bounded function of the gap, and its square; a hundredth more is refused."""
        gap, rule = s[1] - s[2], OverNormal(SCORES, s[1] - s[2], x)
        proved(rule, 1 - E(1 / (1 + exp(gap))), 1 - over(GAP / (1 + exp(x))))
        proved(rule, c * E(gap**2), over(c * x**2 * GAP))
        refused(rule, E(gap**2), over(x**2 * GAP * Rational(101, 100)))
        refused(rule, E(gap**2), over(x**2 * exp(-(x**2) / (2 * sigma**2)) / (sigma * sqrt(2 * pi))))

    @pytest.mark.parametrize(
        ("combination", "before", "after"),
        [
            (s[1] - s[2], E(s[1]), over(x * GAP)),
            (s[1] * s[2], E(s[1] * s[2]), over(x * GAP)),
            (s[1] - s[i], E(s[1] - s[i]), over(x * GAP)),
            (s[1] - s[2], E(exp((s[1] - s[2]) ** 2)), over(exp(x**2) * GAP)),
            (s[1] - s[2], E((s[1] - s[2]) ** 2), Integral(2 * x**2 * GAP, (x, 0, oo))),
        ],
    )
    def test_what_does_not_follow_is_refused(self, combination: Any, before: Any, after: Any) -> None:
        """Of no function of it, no combination, an open index, a hidden score, what grows, half a line."""
        refused(OverNormal(SCORES, combination, x), before, after)


class TestLargest:
    """The mean of the largest of n normal scores."""

    def test_it_is_an_integral(self) -> None:
        """For any n; a hundredth more, one power more, or half of the line is refused."""
        known = proved(LargestOfNormal(x), E(largest) / sigma, over(LARGEST))
        assert known.hypotheses.law is not None
        refused(LargestOfNormal(x), E(largest) / sigma, over(LARGEST) * Rational(101, 100))
        refused(LargestOfNormal(x), E(largest) / sigma, over(LARGEST * (1 + erf(x / sqrt(2))) / 2))
        refused(LargestOfNormal(x), E(largest) / sigma, Integral(LARGEST, (x, 0, oo)))
