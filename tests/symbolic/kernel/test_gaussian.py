"""Means over normal variables as integrals: of a combination, and of the largest score."""

from typing import Any

import pytest
from sympy import Integral, Rational, S, Sum, Symbol, erf, exp, oo, pi, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.hypotheses import NOTHING, Population
from verify.symbolic.kernel.transforms import SCORES, LargestOfNormal, OverNormal
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.softmax import i

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

    def test_means_and_coefficients_count(self) -> None:
        """3Z - s_1 has three times the mean and 9·4 + σ² as its variance."""
        law = Population({s: (1, 0, sigma**2), Z: (1, 2, 8)}, normal=(s, Z))
        density = exp(-((x - 6) ** 2) / (2 * (36 + sigma**2))) / sqrt(2 * pi * (36 + sigma**2))
        proved(OverNormal(law, 3 * Z - s[1], x), E((3 * Z - s[1]) ** 4), over(x**4 * density))

    @pytest.mark.parametrize(
        ("combination", "before", "after"),
        [
            (s[1] - s[2], E(s[1]), over(x * GAP)),
            (s[1] - s[2], E(s[1] - s[2] + s[3]), over((x + s[3]) * GAP)),
            (s[1] * s[2], E(s[1] * s[2]), over(x * GAP)),
            (s[1] - s[2] + 1, E(s[1] - s[2] + 1), over(x * GAP)),
            (s[1] - s[i], E(s[1] - s[i]), over(x * GAP)),
            (s[1] - s[2], E(p[1] * (s[1] - s[2])), over(p[1] * x * GAP)),
            (s[1] - s[2], E(exp((s[1] - s[2]) ** 2)), over(exp(x**2) * GAP)),
            (s[1] - s[2], E((s[1] - s[2]) ** 2), Integral(2 * x**2 * GAP, (x, 0, oo))),
            (s[1] - s[2], E(s[1] - s[2]) ** 2, over(x * GAP) ** 2),
            (s[1] - s[2], Sum(E(i * (s[1] - s[2])), (i, 1, n)), n * over(i * x * GAP)),
        ],
    )
    def test_what_does_not_follow_is_refused(self, combination: Any, before: Any, after: Any) -> None:
        """Of no function of it, no combination, an open index, a hidden score, what grows, half a line."""
        refused(OverNormal(SCORES, combination, x), before, after)

    def test_the_law_must_be_normal_and_not_degenerate(self) -> None:
        """One with these moments is not; nor is what does not vary."""
        refused(
            OverNormal(Population({s: (1, 0, sigma**2)}), s[1] - s[2], x),
            E((s[1] - s[2]) ** 2),
            over(x**2 * GAP),
        )
        certain = Population({Z: (1, 1, 1)}, normal=(Z,))
        assert "variance" in refused(OverNormal(certain, Z, x), E(Z), over(x))

    def test_what_is_defined_by_scores_is_no_constant(self) -> None:
        """C stands for a score."""
        under = NOTHING.defining((c, s[1]))
        refused(OverNormal(SCORES, s[1] - s[2], x), E(c * (s[1] - s[2])), over(c * x * GAP), under)


class TestLargest:
    """The mean of the largest of n normal scores."""

    def test_it_is_an_integral(self) -> None:
        """For any n; a hundredth more, one power more, or half of the line is refused."""
        known = proved(LargestOfNormal(x), E(largest) / sigma, over(LARGEST))
        assert known.hypotheses.law is not None
        refused(LargestOfNormal(x), E(largest) / sigma, over(LARGEST) * Rational(101, 100))
        refused(LargestOfNormal(x), E(largest) / sigma, over(LARGEST * (1 + erf(x / sqrt(2))) / 2))
        refused(LargestOfNormal(x), E(largest) / sigma, Integral(LARGEST, (x, 0, oo)))

    def test_nothing_else_is_random(self) -> None:
        """No score beside it, within the mean or without."""
        refused(LargestOfNormal(x), E(largest * s[1]), sigma * s[1] * over(LARGEST))
        refused(LargestOfNormal(x), E(largest) + s[1], sigma * over(LARGEST) + s[1])
        refused(LargestOfNormal(x), S.One, S.One)
