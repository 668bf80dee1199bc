"""Var(q·k) = d_k for independent, centred, unit-variance components."""

from typing import Any

from sympy import Derivative, I, Integral, Rational, Subs, Symbol, exp, oo, pi, sqrt, symbols

from verify.spec import NORMAL_COMPONENTS, STANDARD, Chain, Check, Claim, Derivation, E, Family, Fit, Items
from verify.spec import Plot, Var, Wrong, a, algebra, by_density, cite, d, derivative, earlier, fact, i
from verify.spec import integral, j, k, m, moments, n, over_components, q, score

PRODUCT = q[a, i] * k[j, i]
DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)
CORRELATION = Rational(1, 2)
x, y = Family("x", m), Family("y", n)
CORRELATED = over_components(
    (sqrt(CORRELATION) * x[a] + sqrt(1 - CORRELATION) * q[a, i])
    * (sqrt(CORRELATION) * y[j] + sqrt(1 - CORRELATION) * k[j, i])
)
"""A score whose components share a part: those of one vector have this correlation with each other."""


def derive() -> tuple[Chain, ...]:
    """Derive the variance from two moments of the components, and again for normal components."""
    by_moments = (
        Chain(Var(score))
        .then(E(score**2) - E(score) ** 2, "definition", algebra)
        .then(E(score**2), "every product of components has mean 0", moments(STANDARD))
        .then(over_components(E(PRODUCT**2)), "so have those of two different ones", moments(STANDARD))
        .then(
            over_components(E(q[a, i] ** 2) * E(k[j, i] ** 2)),
            "query and key are independent",
            moments(STANDARD),
        )
        .then(d, "every square has mean 1", moments(STANDARD))
    )
    return by_moments, *by_transform()


def by_transform() -> tuple[Chain, ...]:
    """Derive the variance of a score of normal components again, from its characteristic function."""
    t, v, x, y = symbols("t v x y", real=True)
    c = Symbol("c", positive=True)
    of_key = Chain(
        Integral(exp(I * v * y) * exp(-(y**2) / 2) / sqrt(2 * pi), (y, -oo, oo)),
        name="of-key",
        title="A mean over a normal component of a key",
    ).then(exp(-(v**2) / 2), "integrated", integral())
    of_query = Chain(
        Integral(exp(-c * x**2 / 2) / sqrt(2 * pi), (x, -oo, oo)),
        name="of-query",
        title="A mean over a normal component of a query",
    ).then(1 / sqrt(c), "integrated", integral())
    inner = exp(I * t * x * y) * exp(-(y**2) / 2) / sqrt(2 * pi)
    both = Integral(Integral(inner, (y, -oo, oo)) * exp(-(x**2) / 2) / sqrt(2 * pi), (x, -oo, oo))
    first, densities = q[a, 1] * k[j, 1], by_density({k[j, 1]: y, q[a, 1]: x}, NORMAL_COMPONENTS)
    transform = (
        Chain(
            E(exp(I * t * score)),
            name="transform",
            title="The characteristic function of a score of normal components",
        )
        .then(E(exp(I * t * first)) ** d, "independent factors of one law", moments(NORMAL_COMPONENTS))
        .then(both**d, "both components are normal", densities)
        .then(of_query.start.xreplace({c: 1 + t**2}) ** d, "over the key", earlier(of_key, at={v: t * x}))
        .then((1 + t**2) ** (-d / 2), "over the query", earlier(of_query, at={c: 1 + t**2}))
    )

    def second(function: Any) -> Any:
        return -Subs(Derivative(function, (t, 2)), t, 0)

    again = (
        Chain(Var(score), name="by-transform", title="The variance again, by the characteristic function")
        .then(E(score**2), "its mean is 0", moments(NORMAL_COMPONENTS))
        .then(second(E(exp(I * t * score))), "twice differentiated, at t = 0", algebra)
        .then(second(transform.end), "the characteristic function", earlier(transform))
        .then(d, "differentiated", derivative())
    )
    return of_key, of_query, transform, again


def experiment(derived: Derivation) -> Items:
    """Measure the variance over the dimensions, and the line through it."""
    for size in DIMENSIONS:
        yield Check(f"variance-d{size}", derived, {d: size})
    yield Fit("variance-d*", over=d, law=derived.end)
    yield Wrong(
        "d-squared",
        derived,
        {d: 64},
        equals=d**2,
        says="the variance is the square of {d_k}, as if one product were added that many times",
    )
    yield Wrong(
        "correlated-components",
        Var(CORRELATED),
        {d: 8},
        equals=d,
        says="the variance is {main:end} even when components have a correlation of {correlation}",
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
    symbols={"correlation": CORRELATION},
    references=cite("vaswani2017"),
)
