"""Worked dot products are right, and show nothing about variance."""

import operator
from fractions import Fraction
from statistics import pvariance

import numpy as np
from scipy import special
from sympy import Poly

from verify.spec import ROUNDING, Allowance, Chain, Claim, Computed, Derivation, Items, Rational, Sum, Symbol
from verify.spec import Wrong, algebra, assume, cite, fact, n
from verify.spec.arrays import Array

TWO = (((1, 2), (2, 3)), ((1, 4), (5, 6)), ((8, 9), (10, 2)))
# The pairs of vectors that the sources multiply, in two and in three dimensions.
THREE = (((1, 2, 3), (3, 2, 1)), ((3, 4, 5), (6, 7, 8)), ((10, 9, 11), (8, 7, 6)))
ROW = np.arange(1, 9)


def derive() -> Chain:
    term = Symbol("i", positive=True, integer=True)
    return Chain(Sum(term * (term + 2), (term, 1, n))).through(
        (Sum(term**2, (term, 1, n)) + 2 * Sum(term, (term, 1, n)), "squares and integers", algebra),
        (n * (n + 1) * (2 * n + 7) / 6, "the sums of squares and of integers", algebra),
    )


def experiment(derived: Derivation) -> Items:
    def degree(values: Array) -> int:
        return next(times for times in range(len(values)) if not np.diff(values, times + 1).any())

    result = {size: derived.end.subs(n, size) for size in (1, 2, 4, 6, 100)}
    for size, exact in result.items():
        what, first = r"$[1,\dots,n]\cdot[3,\dots,n+2]$", np.arange(1, size + 1)
        yield Computed(f"sum-n{size}", what, np.dot, (first, first + 2), equals=exact, settings={"n": size})
    what, dots = "degree in $n$ of the dot products, by their differences", np.cumsum(ROW * (ROW + 2))
    cubic = Poly(derived.end, n).degree()
    yield Computed("cubic-sum", what, degree, (dots,), equals=cubic, settings={"n": "1…8"})
    what = "sign of the variance in two dimensions minus that in three, of the printed examples"
    two, three = ([int(np.dot(*pair)) for pair in pairs] for pairs in (TWO, THREE))
    less = np.var(two) - np.var(three)
    yield Computed("two-below-three", what, np.sign, (less,), equals=-1, settings={"products": 3})
    of_two, of_three = (Rational(pvariance(map(Fraction, products))) for products in (two, three))
    for name, products, exact in (("two", two, of_two), ("three", three, of_three)):
        what, near = f"population variance of the {name}-dimensional products", Allowance(1e-9)
        yield Computed(f"spread-of-{name}", what, np.var, (products,), equals=exact, allowance=near)
    what = "one-sided p-value of the F test that the second variance is larger"
    # Three products a side leave two degrees of freedom each: then P(F > f) is 1/(1 + f).
    p, given = 1 / (1 + of_three / of_two), (2, 2, np.var(three) / np.var(two))
    yield Computed("f-test", what, special.fdtrc, given, equals=p, allowance=ROUNDING)
    yield fact("f-test-p", what, p)
    yield Computed("largest-component", "largest of 6 components", max, (range(3, 6 + 3),), equals=8)
    what = "whether the F test rejects equal variances at 5% (1 = yes)"
    yield Computed("not-rejected", what, operator.lt, (special.fdtrc(*given), 0.05), equals=0)
    for size in (2, 4, 6):
        yield fact(f"dot-{size}", f"worked product [1, …, {size}]·[3, …, {size + 2}]", result[size])
    says = "it is cubic also where one vector keeps its components"
    yield Wrong("one-vector-grows", of="cubic-sum", arguments=(np.cumsum(ROW),), says=says)
    yield Wrong("same-spread", of="spread-of-three", equals=of_two, says="both sets of products vary as much")
    yield Wrong("exchanged", of="two-below-three", arguments=(-less,), says="both sets can be exchanged")
    yield Wrong("linear-growth", of="sum-n6", equals=result[2] * 3, says="the products grow proportionally")
    yield Wrong("three-degrees", of="f-test", arguments=(3, 3, given[2]), says="three degrees of freedom")
    says = "the components stay as small in six dimensions as in two"
    yield Wrong("components-stay-small", of="largest-component", equals=4, says=says)
    says = "three products each are evidence that the variance grows (F test at 5%)"
    yield Wrong("three-products-are-evidence", of="not-rejected", equals=1, says=says)


CLAIM = Claim(
    statement="The dot products of 1, …, $n$ with 3, …, $n + 2$ are {main}: {dot-2}, {dot-4} and {dot-6} for "
    "{sum-n2:n=}, {sum-n4:n} and {sum-n6:n}. It grows with the cube as the components grow too; three "
    "products in each of two and three dimensions cannot show that a variance grows.",
    meaning="Examples with hand-picked integers are popular and their arithmetic is right. But they let the "
    "components grow along with the dimension, so what they show is a growing mean of products of positive "
    "numbers. And with 3 numbers a side, a ratio of variances as large as in the sources’ example comes up "
    "by chance in {f-test-p:2%} of all trials with normal numbers of one variance.",
    assumptions=assume(f_test="The F test compares two sets of three normal values."),
    references=cite("snedecor1934"),
)
