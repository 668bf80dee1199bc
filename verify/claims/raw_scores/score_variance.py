"""The variance of a score equals the dimension."""

from typing import Any

from sympy import I, Subs

from verify.spec import NORMAL_COMPONENTS, STANDARD, Chain, Check, Claim, Derivation, Derivative, E, Family
from verify.spec import Fit, Items, Plot, Rational, Symbol, Var, Wrong, a, algebra, cite, d, derivative
from verify.spec import earlier, exp, fact, i, j, k, m, moments, n, over_components, q, score, sqrt
from verify.spec.lemmas import transform

product, x, y = q[a, i] * k[j, i], Family("x", m), Family("y", n)
CORRELATION = Rational(1, 2)
# A score whose components share a part: those of a vector have this correlation with each other.
CORRELATED = over_components(
    (sqrt(CORRELATION) * x[a] + sqrt(1 - CORRELATION) * q[a, i])
    * (sqrt(CORRELATION) * y[j] + sqrt(1 - CORRELATION) * k[j, i])
)


def derive() -> tuple[Chain, ...]:
    squares, apart = over_components(E(q[a, i] ** 2) * E(k[j, i] ** 2)), "query and key are independent"
    by_moments = Chain(Var(score)).through(
        (E(score**2) - E(score) ** 2, "definition", algebra),
        (E(score**2), "every product of components has mean 0", moments(STANDARD)),
        (over_components(E(product**2)), "two different products are uncorrelated", moments(STANDARD)),
        (squares, apart, moments(STANDARD)),
        (d, "every square has mean 1", moments(STANDARD)),
    )
    *means, of_score = transform("characteristic")
    t = Symbol("t", real=True)

    def second(function: Any) -> Any:
        return -Subs(Derivative(function, (t, 2)), t, 0)

    again = Chain(Var(score), name="by-transform", title="By the characteristic function").through(
        (E(score**2), "its mean is 0", moments(NORMAL_COMPONENTS)),
        (second(E(exp(I * t * score))), "twice differentiated, at t = 0", algebra),
        (second(of_score.end), "the characteristic function", earlier(of_score)),
        (d, "differentiated", derivative()),
    )
    return by_moments, *means, of_score, again


def experiment(derived: Derivation) -> Items:
    for size in (1, 2, 3, 8, 64, 100, 512, 1000, 1024):
        yield Check(f"variance-d{size}", derived, {d: size})
    yield Fit("variance-d*", over=d, law=derived.end)
    says = "the variance is the square of {d_k}, as if one product were added that many times"
    yield Wrong("d-squared", derived, {d: 64}, equals=d**2, says=says)
    says = "the variance is {main:end} even when components have a correlation of {CORRELATION}"
    yield Wrong("correlated-components", Var(CORRELATED), {d: 8}, equals=d, says=says)
    yield fact("product-variance", "variance of one product $q_i k_i$", derived.end.subs(d, 1))
    for size in (1, 2, 8, 64, 512):
        yield fact(f"exact-variance-d{size}", f"variance at $d_k = {size}$", derived.end.subs(d, size))
    curves, wrong = {"derived": derived.end}, {"wrong: $d_k^2$": d**2}
    yield Plot("variance-line", "variance-d*", d, curves=curves, wrong=wrong)


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main}.",
    meaning="Every dimension adds one product, and every product its own variance of {product-variance}. "
    "Doubling the dimension doubles the variance, so a typical raw score grows like {root_d}. Nothing here "
    "needs the normal law: only these means and variances.",
    references=cite("vaswani2017"),
)
