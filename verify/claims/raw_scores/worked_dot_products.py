"""The worked dot products of the sources: right as arithmetic, no evidence about a variance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special
from sympy import Idx, Integral, Poly, Rational, S, Sum, Symbol, expand, oo, symbols

from verify.former import (
    ROUNDING, Allowance, Claim, Control, Derivation, Exact, Experiment, Fact, Route, Step, assume, cite,
    computed, d, fact, prediction, score_law, wrong,
)  # fmt: skip
from verify.former.rules import ClosedSums, EulerIntegrals, Identity

n = symbols("n", integer=True, positive=True)
i = Idx("i")
GROWING = Sum(i * (i + 2), (i, 1, n))
"""[1, …, n]·[3, …, n + 2]: the pattern of the worked examples in 2, 4 and 6 dimensions."""

TWO_DIMENSIONAL = (((1, 2), (2, 3)), ((1, 4), (5, 6)), ((8, 9), (10, 2)))
THREE_DIMENSIONAL = (((1, 2, 3), (3, 2, 1)), ((3, 4, 5), (6, 7, 8)), ((10, 9, 11), (8, 7, 6)))
EVIDENCE_LEVEL = 0.05
"""The customary level at which a difference between two variances would count as evidence."""


f, w, u = (Symbol(name, positive=True) for name in "fwu")
EXPONENTIAL = score_law.CHI_SQUARE.subs(d, 2)
"""The density of the sum of squared deviations of three normal numbers, in units of their variance."""


def derive() -> Derivation:
    """Derive the closed form of the growing dot products, and the test for two variances of three numbers."""
    closed = n * (n + 1) * (2 * n + 7) / 6
    formula = Step(expand(closed), "Sums of squares and of integers", ClosedSums())
    route = Route.of("Summation", GROWING, formula, Step(closed, "Factored", Identity()))
    both = (EXPONENTIAL.subs(score_law.w, one) for one in (f * w + u, w))
    test = Route.of(
        "The chance that one of two such sums of squares is $f$ times the other, $w$, or more, by $u$",
        Integral(next(both) * next(both), (u, 0, oo), (w, 0, oo)),
        Step(1 / (1 + f), "Integrated over both", EulerIntegrals(u, w)),
    ).defining("the chance that the F test with 2 and 2 degrees of freedom goes by")
    return Derivation.of(route, lemmas=(test,))


def _growing(length: int) -> tuple[list[int], list[int]]:
    """Return the pair of printed vectors of that length, [1, …, length] and [3, …, length + 2]."""
    return list(range(1, length + 1)), list(range(3, length + 3))


def _dot(length: int) -> int:
    """Return the dot product of that pair by multiplying and adding."""
    return int(np.dot(*_growing(length)))


def _degree(values: Sequence[int]) -> int:
    """Return how often a sequence can be differenced before it is constant."""
    left, degree = np.asarray(values), 0
    while np.any(left != left[0]):
        left, degree = np.diff(left), degree + 1
    return degree


def _exact_variance(examples: Any) -> Rational:
    """Return the population variance of worked products in rational numbers."""
    values = [sum((S(a) * b for a, b in zip(*pair, strict=True)), S.Zero) for pair in examples]
    mean = sum(values, S.Zero) / len(values)
    return sum(((value - mean) ** 2 for value in values), S.Zero) / len(values)


def _array_variance(examples: Any) -> float:
    """Return the population variance of worked products as array code computes it."""
    return float(np.var([np.dot(a, b) for a, b in examples]))


def _order(examples: Any, others: Any) -> float:
    """Return the sign of the first set's variance minus the second's."""
    return float(np.sign(_array_variance(examples) - _array_variance(others)))


LARGER = _exact_variance(THREE_DIMENSIONAL) / _exact_variance(TWO_DIMENSIONAL)
"""How many times as large the second set's variance is."""


def _p_value(freedom: int) -> float:
    """Return the one-sided p-value of the F test for equal variances of the two sets."""
    return float(special.fdtrc(freedom, freedom, float(LARGER)))


def _spread(name: str, examples: Any, words: str) -> Exact:
    """Return the comparison of an exact variance with what array code makes of the same examples."""
    label, settings = f"population variance of the three {words} products", {"products": len(examples)}
    exact, rounding = _exact_variance(examples), Allowance(1e-9)
    return computed(name, label, settings, exact, _array_variance, examples, allowance=rounding)


def experiment(derivation: Derivation) -> Experiment:
    """Compare the closed form with the sums, and the examples with what they are said to show."""
    result, lengths = derivation.result, range(1, 9)
    label = r"$[1,\dots,n]\cdot[3,\dots,n+2]$"
    sums = {m: computed(f"sum-n{m}", label, {"n": m}, result.subs(n, m), _dot, m) for m in (1, 2, 4, 6, 100)}
    label = "degree in $n$ of the dot products, by their differences"
    degree, dots = Poly(result, n).degree(), [_dot(m) for m in lengths]
    cubic = computed("cubic-sum", label, {"n": "1…8"}, degree, _degree, dots)
    label = "sign of the two-dimensional minus the three-dimensional variance of the printed examples"
    pair = TWO_DIMENSIONAL, THREE_DIMENSIONAL
    order = computed("two-below-three", label, {"products": 3}, -1, _order, *pair)
    two = _spread("spread-of-two", TWO_DIMENSIONAL, "two-dimensional")
    three = _spread("spread-of-three", THREE_DIMENSIONAL, "three-dimensional")
    label = "one-sided p-value of the F test that the second variance is larger"
    chance = derivation.lemmas[0].end.subs(f, LARGER)
    test = computed("f-test", label, {"degrees of freedom": 2}, chance, _p_value, 2, allowance=ROUNDING)
    return Experiment((*sums.values(), cubic, order, two, three, test), (
        wrong(cubic, "one-vector-grows", "it is cubic also where one vector keeps its components",
              computed=float(_degree([sum(range(1, m + 1)) for m in lengths]))),
        wrong(three, "same-spread",
              "the three-dimensional products scatter no more than the two-dimensional ones", two),
        wrong(order, "exchanged", "with both sets exchanged the order is the same",
              computed=_order(*pair[::-1])),
        wrong(sums[6], "linear-growth",
              "the dot products grow in proportion to the dimension, from {dot-2} in two dimensions",
              11 * 6 / S(2)),
        wrong(test, "three-degrees", "three products have three degrees of freedom", computed=_p_value(3)),
        *_evidence(),
    ))  # fmt: skip


def _evidence() -> tuple[Control, ...]:
    """Return what the examples would have to satisfy to say something of a variance."""
    smallest, largest = (max(*a, *b) for a, b in (_growing(2), _growing(6)))
    label = "largest component of the six-dimensional example"
    small = Exact("components-stay-small", label, (("n", 6),), prediction(smallest), float(largest))
    label, rejected = "the F test rejects equal variances (1 = yes)", float(_p_value(2) < EVIDENCE_LEVEL)
    test = Exact("three-products-are-evidence", label, (("products", 3),), prediction(1), rejected)
    grows = "three products each are evidence that the variance grows (F test at five per cent)"
    return Control("the components stay as small in six dimensions as in two", small), Control(grows, test)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the worked dot products, their spreads, and the p-value of their comparison."""
    dots = (
        fact(f"dot-{m}", f"worked product [1, …, {m}]·[3, …, {m + 2}]", derivation.result.subs(n, m))
        for m in (2, 4, 6)
    )
    words = "population variance of the three {}-dimensional products"
    two = fact("two-dim-variance", words.format("two"), _exact_variance(TWO_DIMENSIONAL))
    three = fact("three-dim-variance", words.format("three"), _exact_variance(THREE_DIMENSIONAL))
    what = "one-sided p-value of the F test that the second variance is larger"
    chance = derivation.lemmas[0].end.subs(f, LARGER)
    return (*dots, two, three, fact("f-test-p", what, chance))


CLAIM = Claim(
    title="Worked dot products are right, and show nothing about variance",
    statement="The dot products of one, two, three and so on with three, four, five and so on are {theorem}: "
    "{dot-2}, {dot-4} and {dot-6} for {sum-n2:n=}, {sum-n4:n} and {sum-n6:n}. The growth is cubic because "
    "the components grow too; three products in each of two and three dimensions cannot show that a variance "
    "grows.",
    meaning="Examples with hand-picked integers are popular and their arithmetic is right. But they let the "
    "components grow along with the dimension, so what they show is a growing mean of products of positive "
    "numbers. And with three numbers a side, a ratio of variances as large as in the sources' "
    "example comes up by chance in about one of five or six trials.",
    assumptions=assume(
        printed_vectors="The vectors are the ones that the sources print.",
        f_test="The F test compares two sets of three normal values: the customary test for variances.",
    ),
    references=cite(
        "snedecor1934",
        "G. W. Snedecor, Calculation and Interpretation of Analysis of Variance and Covariance, "
        "Collegiate Press, 1934.",
    ),
)
