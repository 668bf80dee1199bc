"""Var(q·k) = d_k for independent, centred, unit-variance components."""

from sympy import Rational, sqrt

from verify.spec import STANDARD, VASWANI, Chain, Check, Claim, Derivation, E, Family, Fit, Items, Line, Plot
from verify.spec import Var, Wrong, a, algebra, d, fact, i, j, k, m, moments, n, over_components, q, score

PRODUCT = q[a, i] * k[j, i]
DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)
CORRELATION = Rational(1, 2)
x, y = Family("x", m), Family("y", n)
CORRELATED = over_components(
    (sqrt(CORRELATION) * x[a] + sqrt(1 - CORRELATION) * q[a, i])
    * (sqrt(CORRELATION) * y[j] + sqrt(1 - CORRELATION) * k[j, i])
)
"""A score whose components share a part: those of one vector have this correlation with each other."""


def derive() -> Chain:
    """Derive the variance from the first two moments of the components."""
    return Chain(
        Var(score),
        Line(E(score**2) - E(score) ** 2, "definition", algebra),
        Line(E(score**2), "every product of components has mean 0", moments(STANDARD)),
        Line(over_components(E(PRODUCT**2)), "so have those of two different ones", moments(STANDARD)),
        Line(
            over_components(E(q[a, i] ** 2) * E(k[j, i] ** 2)),
            "query and key are independent",
            moments(STANDARD),
        ),
        Line(d, "every square has mean 1", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    """Measure the variance over the dimensions, and the line through it."""
    for size in DIMENSIONS:
        yield Check(f"variance-d{size}", derived.start, {d: size}, equals=derived.end)
    yield Fit("variance-d*", over=d, law=derived.end)
    yield Wrong(
        "d-squared",
        derived.start,
        {d: 64},
        equals=d**2,
        says="the variance is the square of {d_k}, as if one product were added that many times",
    )
    yield Wrong(
        "correlated-components",
        Var(CORRELATED),
        {d: 8},
        equals=d,
        says="the variance is {main:end} even when components have a correlation of {value}",
    )
    yield fact("product-variance", "variance of one product $q_i k_i$", derived.end.subs(d, 1))
    for size in (1, 2, 8, 64, 512):
        what = f"variance of a score at $d_k = {size}$"
        yield fact(f"exact-variance-d{size}", what, derived.end.subs(d, size))
    yield Plot(
        "variance-line",
        "variance-d*",
        over=d,
        title="The variance of a score is the dimension",
        alt="Measured variances of q·k from {variance-d1:d_k} to {variance-d1024:d_k} dimensions lie on the "
        "line of the dimension itself; the curve of its square, a wrong version, leaves them at once.",
        curves={"derived": derived.end},
        wrong={"wrong": d**2},
    )


CLAIM = Claim(
    title="The variance of a score equals the dimension",
    statement="For independent components with mean 0 and variance 1, {main}.",
    meaning="Every dimension adds one product, and every product its own variance of {product-variance}. "
    "Doubling the dimension doubles the variance, so a typical raw score grows like {root_d}. Nothing here "
    "needs the normal law: only these means and variances.",
    references=VASWANI,
)
