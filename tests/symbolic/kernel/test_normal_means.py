"""Means over normal scores: shifted, over queries, and of the largest; against drawn rows, and wrong ones."""

from typing import Any

import numpy as np
import pytest
from sympy import Rational, S, Sum, Symbol, exp, log, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import Theorem, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population
from verify.symbolic.kernel.normal import NORMAL_SCORES, EvenIsMost, OneOfAll, OverQueries, Shifted
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.scores import d, k, q
from verify.symbolic.softmax import ENTROPY, SQUARES, TOTAL, i, j

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


def test_the_shift_of_a_total_is_what_drawn_rows_show() -> None:
    """Both sides over two million drawn scores."""
    rows = np.exp(0.8 * np.random.default_rng(1).normal(size=(200_000, 8)))
    total = rows.sum(axis=1, keepdims=True)
    moved = (1 / (total + (np.exp(0.64) - 1) * rows)).sum(axis=1).mean()
    assert np.exp(0.32) * moved == pytest.approx(1, rel=0.005)


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        (Shifted(s[1], sigma**2), E(exp(s[1])), Rational(101, 100) * exp(sigma**2 / 2)),
        (Shifted(s[1], sigma), E(exp(s[1])), exp(sigma**2 / 2)),
        (Shifted(s[1], sigma**2), E(p[1]), exp(sigma**2 / 2) * E(p[1] * exp(-s[1]))),  # p moves too
        (Shifted(s[1], sigma**2), E(largest * exp(s[1])), exp(sigma**2 / 2) * E(largest)),
        (Shifted(s[1], sigma**2), E(exp(s[1]) * s[i]), exp(sigma**2 / 2) * E(s[i])),  # i may be 1
        (Shifted(s[1], sigma**2), E(exp(s[1]) / TOTAL), exp(sigma**2 / 2) * E(1 / TOTAL)),
        (Shifted(s[0], sigma**2), E(exp(s[0])), exp(sigma**2 / 2)),
        (Shifted(s[1], s[2]), E(exp(s[1])), exp(sigma**2 / 2)),
        (Shifted(s[1], sigma**2, Population({s: (1, 0, sigma**2)}, n)), E(exp(s[1])), exp(sigma**2 / 2)),
        (Shifted(s[i], sigma**2), E(Sum(exp(s[i]), (i, 2, n))), E(Sum(exp(sigma**2 / 2), (i, 2, n)))),
        (Shifted(s[1], a), E(Sum(s[1] * s[j], (j, 1, n))), E(Sum(s[1] * s[j], (j, 1, n)) * exp(-s[1]))),
    ],
)  # fmt: skip
def test_a_wrong_shift_is_refused(rule: Shifted, before: Any, after: Any) -> None:
    """A factor, another step, or what moves with the score and is not moved."""
    refused(rule, before, after)


def test_what_is_defined_by_scores_is_no_constant() -> None:
    """A name for one of them is not taken out of the mean."""
    refused(
        Shifted(s[1], sigma**2), E(a * exp(s[1])), a * exp(sigma**2 / 2), NOTHING.defining((a, exp(s[1])))
    )


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
