"""A factor enters the variance squared."""

from verify.spec import EXPONENTIAL, GENERAL, LAPLACE, NORMAL, RADEMACHER, UNIT_INTERVAL, Chain, Check, Claim
from verify.spec import Derivation, E, Family, Items, Rational, Symbol, Var, Wrong, algebra, d, earlier, j, k
from verify.spec import moments, mu_k, mu_q, n, q, score, sigma_k, sigma_q

c, X = Symbol("c", real=True), Family("X", n)[j]


def derive() -> tuple[Chain, Chain]:
    rule = Chain(Var(c * X)).through(
        (E((c * X) ** 2) - E(c * X) ** 2, "definition", algebra),
        (c**2 * E(X**2) - c**2 * E(X) ** 2, "a constant leaves the mean", algebra),
        (c**2 * Var(X), "definition, read backwards", algebra),
    )
    of_product = sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2
    return rule, Chain(Var(c * score), name="score", title="Of a score").through(
        (c**2 * Var(score), "the rule", earlier(rule, {X: score})),
        (c**2 * d * of_product, "products of different components are independent", moments(GENERAL)),
    )


def experiment(derived: Derivation) -> Items:
    of_score = derived["score"]
    for name, law, constant in (
        ("normal", NORMAL, 3),
        ("laplace", LAPLACE, -Rational(1, 2)),
        ("rademacher", RADEMACHER, Rational(1, 8)),
        ("exponential", EXPONENTIAL, 2),
        ("uniform", UNIT_INTERVAL, -3),
    ):
        at, laws = {c: constant, d: 4}, {q: law, k: law}
        yield Check(f"{name}-multiple", of_score, at, laws=laws, control=law == NORMAL)
    yield Wrong("linear", of_score, {c: 3, d: 4}, equals=of_score.end / c, says="the constant enters once")


CLAIM = Claim(
    statement="For any variable with a finite variance and any constant, {main}.",
    meaning="To divide a variance by {d_k}, divide the variable by its square root. This one rule is why the "
    "scale of attention is a root, and it holds for every law, not only for the normal one.",
)
