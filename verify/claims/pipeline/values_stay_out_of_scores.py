"""The values have no part in the scores."""

from verify.spec import EXPONENTIAL, LAPLACE, NORMAL, STANDARD, Chain, Chains, Check, Claim, Cov, Derivation
from verify.spec import Dot, E, Indicator, Items, Var, Within, Wrong, algebra, d, d_v, j, k, m, moments, n, q
from verify.spec import score, v

D, SIDE = 64, 32
# The values' dimensions, and the law of their components in each.
VALUES = {1: EXPONENTIAL, 64: NORMAL, 512: LAPLACE}
BESIDE = {**STANDARD, v: STANDARD[q]}
# The mean square of a value's components, and of its key's.
SIZE, OF_KEY = Dot(v, j, v, j) / d_v, Dot(k, j, k, j) / d
LONG = Indicator(SIZE - 1)


def derive() -> Chains:
    independent = "values are independent of queries and keys"
    yield Chain(Var(score), title="The score: no value occurs in it").through(
        (E(score**2) - E(score) ** 2, "definition", algebra),
        (d, "moments of the components", moments(STANDARD)),
    )
    title = "Covariance of a squared score and the mean square of its value's components"
    yield Chain(Cov(score**2, SIZE), name="covariance-of-squares", title=title).through(
        (E(score**2 * SIZE) - E(score**2) * E(SIZE), "definition", algebra),
        (0, independent, moments(BESIDE)),
    )
    among_long = E(score**2 * LONG) / E(LONG) - (E(score * LONG) / E(LONG)) ** 2
    title = "The variance of the scores whose value has a mean square above 1"
    yield Chain(among_long, name="of-long-values", title=title).through(
        (E(score**2) - E(score) ** 2, independent, moments(BESIDE)),
        (d, "moments of the components", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    shape, of_long, together = {m: SIDE, n: SIDE}, derived["of-long-values"], derived["covariance-of-squares"]
    for width, law in VALUES.items():
        at, control = {d: D, d_v: width}, width == 1
        yield Check(f"variance-dv{width}", of_long, at, laws={v: law}, shape=shape, control=control)
    at, near = {d: D, d_v: D}, Within(1.0, D, "the variance of a score", fixed=True)
    yield Check("covariance", together, at, tolerance=near, shape=shape)
    says = "wider values make larger scores: the variance is their dimension, {value}"
    yield Wrong("values-change-the-variance", of="variance-dv512", equals=d_v, says=says)
    says, of_keys = "the values come from the same projection as the keys", Cov(score**2, OF_KEY)
    yield Wrong("values-are-the-keys", of_keys, {d: D}, equals=0, tolerance=near, shape=shape, says=says)


CLAIM = Claim(
    statement="{main} whatever the values' law and dimension; where values are independent of queries and "
    "keys, squared scores and values are uncorrelated, and scores whose values are long vary as all do.",
    meaning="The variance of a score comes from the dimension of queries and keys alone. Values are averaged "
    "with the weights afterwards; their dimension may differ from {d_k} and calls for no scale.",
)
