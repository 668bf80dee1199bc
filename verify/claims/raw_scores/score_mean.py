"""Scores average to zero."""

from fractions import Fraction

from verify.spec import CENTRED, GENERAL, NORMAL, Chain, Chains, Check, Claim, Derivation, E, Items, Sum
from verify.spec import Wrong, a, algebra, d, i, j, k, moments, mu_k, mu_q, of_deviation, q, score

# Normal components with mean ½ and variance 1.
OFF_CENTRE = dict.fromkeys((q, k), NORMAL.moved(Fraction(1, 2), 1))


def derive() -> Chains:
    means = Sum(E(q[a, i]) * E(k[j, i]), (i, 1, d))
    yield Chain(E(score)).through(
        (Sum(E(q[a, i] * k[j, i]), (i, 1, d)), "the mean of a sum is the sum of the means", algebra),
        (means, "components of a query are independent of those of a key", moments(CENTRED)),
        (0, "their means are 0", moments(CENTRED)),
    )
    yield Chain(E(score), name="any-means", title="For components of any mean").through(
        (means, "linearity and independence, as before", moments(GENERAL)),
        (d * mu_q * mu_k, "every dimension adds the same", moments(GENERAL)),
    )


def experiment(derived: Derivation) -> Items:
    for size in (1, 8, 64, 512, 1024):
        within = of_deviation(size, 0.5)
        yield Check(f"mean-d{size}", derived, {d: size}, tolerance=within, control=size == 64)
    yield Check("off-centre-d8", derived["any-means"], {d: 8}, laws=OFF_CENTRE)
    says, within = "the mean is {main:end} even for components that are not centred", of_deviation(8, 0.5)
    yield Wrong("shifted-mean", derived, {d: 8}, equals=0, laws=OFF_CENTRE, tolerance=within, says=says)


CLAIM = Claim(
    headline="mean-d64",
    statement="For independent centred components, {main} in every dimension.",
    meaning="Scores balance out around 0: what grows with the dimension is their spread, not their mean. "
    "Only one of the two vectors need be centred. Where neither is (say, after a ReLU), the mean grows like "
    "the dimension itself: {any-means} for components with means {mu_q} and {mu_k}.",
)
