"""Worked dot products are right, and show nothing about variance."""

import operator
from fractions import Fraction
from statistics import pvariance

import numpy as np
from scipy import special
from sympy import Poly

from verify.spec import ROUNDING, Allowance, Chain, Check, Claim, Computed, Derivation, E, Family, Indicator
from verify.spec import Integral, Items, Rational, S, Sum, Symbol, Wrong, a, algebra, assume, cite, cited, exp
from verify.spec import fact, i, integral, l, m, n, normal, oo
from verify.spec.arrays import Array

TWO = (((1, 2), (2, 3)), ((1, 4), (5, 6)), ((8, 9), (10, 2)))
# The pairs of vectors that the sources multiply, in two and in three dimensions.
THREE = (((1, 2, 3), (3, 2, 1)), ((3, 4, 5), (6, 7, 8)), ((10, 9, 11), (8, 7, 6)))
ROW = np.arange(1, 9)
f, u, w = (Symbol(name, positive=True) for name in "fuw")
x, y = Family("x", m, S(3)), Family("y", m, S(3))


def derive() -> tuple[Chain, ...]:
    term = Symbol("i", positive=True, integer=True)
    growing = Chain(Sum(term * (term + 2), (term, 1, n))).through(
        (Sum(term**2, (term, 1, n)) + 2 * Sum(term, (term, 1, n)), "squares and integers", algebra),
        (n * (n + 1) * (2 * n + 7) / 6, "the sums of squares and of integers", algebra),
    )
    normals = {x: normal(), y: normal()}
    spread = [Sum((z[a, i] - Sum(z[a, l], (l, 1, 3)) / 3) ** 2, (i, 1, 3)) for z in (x, y)]
    turned = [z[a, 1] ** 2 + z[a, 2] ** 2 for z in (x, y)]
    density = Integral(exp(-(f * w + u) / 2) / 2 * exp(-w / 2) / 2, (u, 0, oo), (w, 0, oo))
    larger, rotated = (E(Indicator(first - f * second)) for first, second in (spread, turned))
    title = "How often three normal numbers have f times the variance of three others, or more"
    test = Chain(larger, name="f-test", title=title).through(
        (rotated, "one axis turned to the mean", cited("rotation", laws=normals)),
        (density, "the first is f times the second, w, and u more", cited("chi-square", laws=normals)),
        (1 / (1 + f), "integrated over u, and over w", integral()),
    )
    return growing, test


def experiment(derived: Derivation) -> Items:
    def degree(values: Array) -> int:
        return next(times for times in range(len(values)) if not np.diff(values, times + 1).any())

    result = {size: derived.end.subs(n, size) for size in (1, 2, 4, 6, 100)}
    for size, exact in result.items():
        what, vectors = r"$[1,\dots,n]\cdot[3,\dots,n+2]$", (np.arange(1, size + 1), np.arange(3, size + 3))
        yield Computed(f"sum-n{size}", what, np.dot, vectors, equals=exact, settings={"n": size})
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
    chance, larger = derived["f-test"], np.var(three) / np.var(two)
    ratio, what = of_three / of_two, "one-sided p-value of the F test that the second variance is larger"
    # Three products a side leave two degrees of freedom each.
    p, by_scipy = chance.end.subs(f, ratio), special.fdtrc(2, 2, larger)
    yield Computed("f-test", what, special.fdtrc, (2, 2, larger), equals=p, allowance=ROUNDING)
    yield fact("f-test-p", what, p)
    yield Check("f-test-drawn", chance, {f: ratio})
    what = "largest component of the example in 6 dimensions"
    yield Computed("largest-component", what, max, (range(3, 6 + 3),), equals=8)
    what = "whether the F test rejects equal variances at 5% (1 = yes)"
    yield Computed("not-rejected", what, operator.lt, (by_scipy, 0.05), equals=0)
    for size in (2, 4, 6):
        yield fact(f"dot-{size}", f"worked product [1, …, {size}]·[3, …, {size + 2}]", result[size])
    says = "it is cubic also where one vector keeps its components"
    yield Wrong("one-vector-grows", of="cubic-sum", arguments=(np.cumsum(ROW),), says=says)
    says = "the three-dimensional products vary no more than the two-dimensional ones"
    yield Wrong("same-spread", of="spread-of-three", equals=of_two, says=says)
    says = "with both sets exchanged the order is the same"
    yield Wrong("exchanged", of="two-below-three", arguments=(-less,), says=says)
    says = "the dot products grow in proportion to the dimension, from {dot-2} in two dimensions"
    yield Wrong("linear-growth", of="sum-n6", equals=result[2] * 3, says=says)
    says, given = "there are three degrees of freedom", (3, 3, larger)
    yield Wrong("three-degrees", of="f-test", arguments=given, says=says)
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
    assumptions=assume(
        printed_vectors="The vectors are the ones that the sources print.",
        f_test="The F test compares two sets of three normal values: the customary test for variances.",
    ),
    references=cite("snedecor1934"),
)
