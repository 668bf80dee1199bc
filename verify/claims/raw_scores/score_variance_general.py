"""The variance of a score for any means and variances."""

from fractions import Fraction

from verify.spec import EXPONENTIAL, GENERAL, NORMAL, UNIT_INTERVAL, Chain, Chains, Check, Claim, Derivation
from verify.spec import E, Fit, Items, Plot, Rational, Sum, Var, Wrong, a, algebra, d, fact, i, j, k, moments
from verify.spec import mu_k, mu_q, of_deviation, q, score, sigma_k, sigma_q, sqrt

UNIFORM = {q: UNIT_INTERVAL, k: UNIT_INTERVAL}
SHIFTED = {q: NORMAL.moved(Fraction(1, 2), 1), k: NORMAL.moved(-1, 2)}
SKEWED = {q: EXPONENTIAL.moved(1, 1), k: SHIFTED[q]}
# Means and standard deviations of components from U(0, 1).
OF_UNIFORM = {mu_q: Rational(1, 2), mu_k: Rational(1, 2), sigma_q: sqrt(3) / 6, sigma_k: sqrt(3) / 6}
WITHOUT_MEANS = d * sigma_q**2 * sigma_k**2


def derive() -> Chains:
    second, product = (mu_q**2 + sigma_q**2) * (mu_k**2 + sigma_k**2), q[a, i] * k[j, i]
    collected = d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2)
    yield Chain(Var(score)).through(
        (Sum(Var(product), (i, 1, d)), "the products are independent", moments(GENERAL)),
        (Sum(E(product**2) - E(product) ** 2, (i, 1, d)), "definition", algebra),
        (d * (second - mu_q**2 * mu_k**2), "second moments, less squared means", moments(GENERAL)),
        (collected, "multiplied out", algebra),
    )
    mean, of_products = (
        Chain(E(score), name="mean", title="The mean"),
        "every product has the product of the means",
    )
    yield mean.then(d * mu_q * mu_k, of_products, moments(GENERAL))


def experiment(derived: Derivation) -> Items:
    law, mean = derived.end.subs(OF_UNIFORM), derived["mean"]
    for size in (1, 3, 100, 1000):
        # In 1000 dimensions means make blocks vary as single vectors do.
        name, within, at = f"uniform-variance-d{size}", 2.0 if size == 1000 else 1.0, {d: size}
        yield Check(name, derived, at, laws=UNIFORM, tolerance=within, control=size == 1)
        of_scores = of_deviation(law.subs(d, size), 2.0)
        yield Check(f"uniform-mean-d{size}", mean, at, laws=UNIFORM, tolerance=of_scores)
    yield Fit("uniform-variance-d*", over=d, law=law, prefix="uniform-")
    for size in (1, 8, 64):
        yield Check(f"normal-variance-d{size}", derived, {d: size}, laws=SHIFTED)
    for size in (2, 32):
        yield Check(f"exponential-variance-d{size}", derived, {d: size}, laws=SKEWED)
    says = "the means do not matter: the variance is {WITHOUT_MEANS}"
    yield Wrong("without-means", derived, {d: 100}, equals=WITHOUT_MEANS, laws=UNIFORM, says=says)
    yield Wrong("as-if-centred", of="uniform-mean-d3", equals=0, says="the mean is {value} all the same")
    yield fact("uniform-variance-per-dimension", "variance per dimension, components from U(0, 1)", law / d)
    curves, wrong = {"derived": law}, {"wrong, without means": WITHOUT_MEANS.subs(OF_UNIFORM)}
    title = "Components that are all positive: their means add 6/7 of the variance"
    yield Plot("uniform-line", "uniform-variance-d*", d, title, curves=curves, wrong=wrong)


CLAIM = Claim(
    statement="For independent components of any means and variances, {main}, and the mean is {mean:end}.",
    meaning="The growth with the dimension stays linear, but means add to it: for components that are "
    "uniform between 0 and 1, the habit of many demonstrations, the variance is "
    "{uniform-variance-per-dimension} a dimension, of which only 1/7 would remain if the components were "
    "centred. Much of that surplus is common to all keys of one query.",
)
