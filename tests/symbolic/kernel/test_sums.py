"""Sums over any number of keys, and over a few written out: what is equal, and slips that are not."""

from typing import Any

import numpy as np
import pytest
from sympy import (
    Derivative,
    Function,
    Idx,
    IndexedBase,
    KroneckerDelta,
    Max,
    Min,
    Range,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    log,
    oo,
)

from tests.faults.spoiling import spoiled
from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.hypotheses import Population, Refused
from verify.symbolic.kernel.sums import FewKeys, SumIdentity, Surplus
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, M, n, p, s, x
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, WEIGHTED_SCORE, scores, written_out

i, j, k = (Idx(name) for name in "ijk")
a = Symbol("a", real=True)
m = Symbol("m", integer=True, positive=True)
u, v, w = (IndexedBase(name) for name in "uvw")
TOTAL = Sum(exp(s[k]), (k, 1, n))
ENTRY, LENGTH = p[i] * (KroneckerDelta(i, j) - p[j]), Sum(x[i] ** 2, (i, 1, n))
SUM = Sum(u[k], (k, 1, n))
IDENTITIES: dict[str, tuple[Any, Any]] = {
    "probabilities sum to 1": (Sum(p[i], (i, 1, n)), S.One),
    "a row of the Jacobian": (Sum(ENTRY, (j, 1, n)), S.Zero),
    "the softmax's derivative": (Derivative(exp(s[i]) / TOTAL, s[j]), ENTRY),
    "entropy": (ENTROPY, LOG_TOTAL - WEIGHTED_SCORE),
    "a ratio": (p[1] / (p[1] + p[2]), exp(s[1]) / (exp(s[1]) + exp(s[2]))),
    "a shift": (Sum(exp(s[i] - s[1]), (i, 1, n)) * p[1], S.One),
    "odds": (log(p[1] / p[2]), s[1] - s[2]),
    "a common shift": (exp(s[1] + a) / Sum(exp(s[j] + a), (j, 1, n)), p[1]),
    "a direction": (Sum((KroneckerDelta(i, 1) - 1 / n) ** 2, (i, 1, n)), 1 - 1 / n),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_hold_and_no_spoiled_one_does(name: str) -> None:
    """Every one is proved; with any one place of its right side changed, by one per cent too, it is not."""
    before, after = IDENTITIES[name]
    proved(SumIdentity(), before, after)
    for how, wrong in spoiled(after, (before,)):
        try:
            prove(SumIdentity(), before, wrong)
        except (Refused, ValueError, TypeError):
            continue
        pytest.fail(how)


FAMILIES = Families(sizes={u: (n,), v: (n,), w: (n, m)}, indices={i: n, j: n}, made_of={}, variances={v: a})


@pytest.mark.parametrize(
    ("expression", "families", "words"),
    [
        (Sum(p[i], (i, 2, n)), None, "only sums from 1 to a whole number are covered"),
        (Sum(p[i], (i, 1, n + 1)), None, "its index does not run over all of its values"),
        (Sum(x[i + 1], (i, 1, n)), None, "its index does not run over all of its values"),
        (x[0], None, "there is no such entry"),
        (Sum(1 / (1 + x[i]), (i, 1, n)), None, "one over several terms has no normal form"),
        (Sum(u[i] / SUM, (i, 1, n)), FAMILIES, "one over a sum that is no total has no normal form"),
        (Sum(Function("f")(x[i]), (i, 1, n)), None, "has no normal form"),
        (log(SQUARES), None, "the logarithm of a sum has no normal form"),
        (E(v[i] ** 3), FAMILIES, "nothing is said about moments of v beyond the second"),
        (
            Sum(KroneckerDelta(k, m) * u[k], (k, 1, n)),
            FAMILIES,
            "its indices do not run over the same values",
        ),
        (
            Sum(KroneckerDelta(i, j) * p[i], (i, 1, n)) * x[j],
            Families(sizes={x: (m,)}),
            "its indices do not run over the same values",
        ),
    ],
)
def test_what_has_no_normal_form_is_refused(expression: Any, families: Families | None, words: str) -> None:
    """Rather than taken for something else, or nothing."""
    assert words in refused(SumIdentity(families or Families()), expression, S.Zero)


def test_means_are_those_of_independent_entries() -> None:
    """One entry alone has mean 0; of two, the variance where they are one; the theorem says the law."""
    rule = SumIdentity(FAMILIES)
    found = proved(rule, E(Sum(u[k] * v[k], (k, 1, n)) ** 2), a * Sum(u[k] ** 2, (k, 1, n)))
    assert found.hypotheses.law == Population({v: (1, 0, a)})
    proved(rule, E(v[i] * v[j]), a * KroneckerDelta(i, j))
    proved(rule, E(v[i] * u[j]), S.Zero)
    proved(rule, E(v[i] ** 2), a)
    refused(rule, E(v[i] ** 2), a * Rational(101, 100))
    refused(rule, E(v[i]) ** 2, a)


class TestHypotheses:
    """An equation of sums holds where all that it names is there and defined."""

    def test_keys_named_by_number(self) -> None:
        """There are as many keys as the largest number, in entries and in deltas."""
        assert prove(SumIdentity(), p[3] / p[1], exp(s[3] - s[1])).hypotheses.domain(n) == Range(3, oo)
        for before, after in ((S.One, S.One), (x[i], x[3])):
            picked = Sum(KroneckerDelta(i, 3) * before, (i, 1, n))
            assert prove(SumIdentity(), picked, after).hypotheses.domain(n) == Range(3, oo)


VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
BIASED = Sum(p[i] * x[i] ** 2, (i, 1, n))
MEAN_SQUARE = Sum(p[i] * x[i], (i, 1, n)) ** 2
APART = Sum(-p[i] * p[j] * (x[i] - x[j]) ** 2, (i, 1, n), (j, 1, n))


class TestSurplus:
    """Bounds over any number of keys."""

    @pytest.mark.parametrize(
        ("surplus", "relation", "before", "after", "words"),
        [
            pytest.param(MEAN_SQUARE, "≤", VARIANCE, BIASED, "", id="a square more"),
            pytest.param(MEAN_SQUARE, "≥", BIASED, VARIANCE, "", id="a square less"),
            pytest.param(MEAN_SQUARE, "≥", VARIANCE, BIASED, "terms are left over", id="the wrong way round"),
            pytest.param(-MEAN_SQUARE, "≤", BIASED, VARIANCE, "nowhere negative", id="a negative surplus"),
            pytest.param(2 * MEAN_SQUARE, "≤", VARIANCE, BIASED, "terms are left over", id="another surplus"),
            pytest.param(S.Zero, "≤", VARIANCE, BIASED, "terms are left over", id="no surplus"),
            pytest.param(x[1], "≤", S.Zero, x[1], "nowhere negative", id="any real number may be negative"),
            pytest.param(APART, "≤", S.Zero, APART, "nowhere negative", id="0 for equal keys alone"),
            pytest.param(MEAN_SQUARE, "=", VARIANCE, BIASED, "shows ≤ or ≥, not =", id="no bound"),
        ],
    )
    def test_a_bound_needs_its_surplus(
        self, surplus: Any, relation: Any, before: Any, after: Any, words: str
    ) -> None:
        """The sides must differ by just the surplus, and that must visibly not be negative."""
        if words:
            assert words in refused(Surplus(surplus, relation), before, after)
        else:
            proved(Surplus(surplus, relation), before, after, relation=relation)

    def test_only_ordered_probabilities_have_a_largest(self) -> None:
        """p₁ ≥ p_i and p₁ ≥ p₂ ≥ the rest hold where the weights fall with the number, and say so."""
        surplus = Sum((p[1] - p[i]) * x[i] ** 2, (i, 1, n))
        found = proved(Surplus(surplus, ordered=True), BIASED, p[1] * LENGTH, relation="≤")
        assert found.hypotheses.entries == {("ordered", p)}
        refused(Surplus(surplus), BIASED, p[1] * LENGTH)
        second = proved(Surplus(p[2] - p[3], ordered=True), p[3], p[2], relation="≤")
        assert second.hypotheses.domain(n) == Range(3, oo)
        refused(Surplus(p[3] - p[2], ordered=True), p[2], p[3])
        refused(Surplus(p[1] - Rational(1, 2), ordered=True), Rational(1, 2), p[1])

    def test_only_a_bounded_vector_keeps_to_its_bound(self) -> None:
        """From -M to M: nothing tighter holds on either side, and entries vary on their own."""
        gap = (M - x[j]) * (M + x[j])
        found = proved(Surplus(gap, bounded=True), x[j] ** 2, M**2, relation="≤")
        assert found.hypotheses.entries == {("bounded", x, M)}
        refused(Surplus(gap), x[j] ** 2, M**2)
        refused(Surplus(M**2 / 2 - x[j] ** 2, bounded=True), x[j] ** 2, M**2 / 2)
        proved(Surplus(M - x[j], bounded=True), x[j], M, relation="≤")
        proved(Surplus(M + x[j], bounded=True), -M, x[j], relation="≤")
        for low, high in ((S.Zero, x[j]), (-M / 2, x[j]), (x[j], S.Zero), (x[j], M / 2), (x[1], x[j])):
            refused(Surplus(high - low, bounded=True), low, high)

    def test_every_pair_of_keys_is_looked_at(self) -> None:
        """Alike, different, the first and the second: what is negative for one choice only is found."""
        apart = Sum((1 - KroneckerDelta(i, j)) * p[i] * p[j], (i, 1, n), (j, 1, n))
        proved(Surplus(apart), S.Zero, 1 - SQUARES, relation="≤")
        same, first = KroneckerDelta(i, j), KroneckerDelta(i, 1)
        for hidden in (same, first, KroneckerDelta(i, 2) * KroneckerDelta(j, 1), 1 - same, 1 - first):
            term = Sum(p[i] * p[j] * (1 - 2 * hidden), (i, 1, n), (j, 1, n))
            refused(Surplus(p[1] + p[2] + term), S.Zero, p[1] + p[2] + term)
        nested = Sum(p[i] * Sum((1 - 2 * KroneckerDelta(i, j)) * p[j], (j, 1, n)), (i, 1, n))
        refused(Surplus(nested), S.Zero, nested)


FIRST = 1 / (1 + exp(s[2] - s[1]))
OTHER = 1 / (1 + exp(s[1] - s[2]))


def test_two_keys_are_written_out() -> None:
    """Weights, sums of them, the larger and the smaller, and means of these."""
    known = proved(FewKeys(2), p[1], FIRST)
    assert [name for name, _ in known.hypotheses.definitions] == [p]
    proved(FewKeys(2), Sum(p[i] * p[j], (i, 1, 2), (j, 1, 2)), 2 * FIRST * OTHER + FIRST**2 + OTHER**2)
    proved(FewKeys(2), E(Max(p[1], p[2])), 1 - E(Min(FIRST, OTHER)))
    proved(FewKeys(3), Sum(p[i], (i, 1, 3)), p[1] + p[2] + p[3])


@pytest.mark.parametrize(
    ("keys", "before", "after"),
    [
        (2, p[1], FIRST * Rational(101, 100)),
        (3, p[1], FIRST),
        (2, p[3], FIRST),
        (2, Sum(p[i], (i, 1, n)), p[1] + p[2]),
        (2, Max(p[1], p[2]), Min(p[1], p[2])),
        (2, E(p[1]), p[1]),
        (1, p[1], p[1]),
    ],
)
def test_what_does_not_follow_is_refused(keys: int, before: object, after: object) -> None:
    """Another weight or number of keys, an open key, sums over others, and a mean of what is not averaged."""
    refused(FewKeys(keys), before, after)


@pytest.mark.parametrize("keys", [2, 3, 5])
def test_probabilities_are_the_softmax_of_the_scores(keys: int) -> None:
    """Written out, p is exp(s)/Σexp(s), and the sum of all is 1."""
    values = np.linspace(-1, 2, keys)
    at = dict(zip(scores(keys), values, strict=True))
    expected = np.exp(values) / np.exp(values).sum()
    assert [float(written_out(p[key], keys).subs(at)) for key in range(1, keys + 1)] == pytest.approx(
        expected
    )
    assert is_zero(written_out(Sum(p[i], (i, 1, n)), keys) - 1)
