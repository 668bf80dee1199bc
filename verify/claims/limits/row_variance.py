"""The variance within a row, not the total one, is what the softmax sees."""

from sympy import Ge, Rational, Symbol, sqrt

from verify.spec import GENERAL, NORMAL, UNIT_INTERVAL, Chain, Check, Claim, Cov, Derivation, E, Items, Plot
from verify.spec import Softmax, Var, Within, Wrong, a, algebra, d, fact, j, k, l, m, moments, mu_k, mu_q, n
from verify.spec import over_keys, q, s, score, score_of, sigma_k, sigma_q

DIMENSIONS, BLOCK, HALF = (1, 8, 64, 256), {m: 16, n: 32}, Rational(1, 2)
UNIFORM, CENTRED = {q: UNIT_INTERVAL, k: UNIT_INTERVAL}, {q: NORMAL, k: NORMAL}
OF_UNIFORM = {mu_q: HALF, mu_k: HALF, sigma_q: sqrt(3) / 6, sigma_k: sqrt(3) / 6}
"""Means and standard deviations of components from U(0, 1)."""

OTHER = score_of(a, l)
"""The score of the same query with another key."""

ROW = over_keys((score - over_keys(OTHER, l) / n) ** 2) / (n - 1)
"""The variance of the scores of one query."""

c = Symbol("c", real=True)
"""What is added to all scores of one query."""


def derive() -> tuple[Chain, ...]:
    """Derive the expected variance of one query's scores from the product of two of them."""
    pair, result = E(score**2) - E(score * OTHER), d * (sigma_q**2 + mu_q**2) * sigma_k**2
    row = (
        Chain(E(ROW), title="The same query, two keys", given=(Ge(n, 2),))
        .then(pair, "the squares, less the products of two different keys", moments(GENERAL))
        .then(result, "moments of the components", moments(GENERAL))
    )
    total = (
        Chain(
            Var(score),
            name="total",
            title="The total variance: within rows, and between the rows' own means",
            defines="the variance over all queries and keys",
        )
        .then(pair + Cov(score, OTHER), "the mean of the product put in between", moments(GENERAL))
        .then(result + d * sigma_q**2 * mu_k**2, "moments of the components", moments(GENERAL))
    )
    shift = Chain(
        Softmax(s[a, j] + c, j),
        name="shift",
        title="A softmax does not see a shift of its row",
        defines="a weight of a row whose scores are all shifted",
    ).then(Softmax(s[a, j], j), "the factor $e^c$ cancels", algebra)
    return row, total, shift


def experiment(derived: Derivation) -> Items:
    """Measure the variance within rows for components with and without a mean."""
    # The keys' mean direction decides how a block's rows vary, so that draws are dear.
    within = Within(2.0)
    for name, laws in (("uniform", UNIFORM), ("normal", CENTRED)):
        for size in DIMENSIONS:
            control = (name, size) == ("uniform", 64)
            yield Check(
                f"{name}-row-d{size}",
                derived,
                {d: size, n: 32},
                laws=laws,
                tolerance=within,
                shape=BLOCK,
                control=control,
            )
    total = derived["total"].end
    says = "rows vary as much as all scores together: here by {value}"
    yield Wrong("rows-as-the-whole", of="uniform-row-d64", equals=total, laws=UNIFORM, says=says)
    says, alone = "rows vary by {without_means}, whatever the means", d * sigma_q**2 * sigma_k**2
    yield Wrong("without-means", of="uniform-row-d64", equals=alone, laws=UNIFORM, says=says)
    what, of_uniform = (
        "variance over all scores of uniform components in 64 dimensions",
        total.subs(OF_UNIFORM),
    )
    yield fact("total-variance", what, of_uniform.subs(d, 64))
    yield Plot(
        "rows-and-total",
        "uniform-row-d*",
        over=d,
        title="Rows vary less than the whole matrix",
        alt="For uniform components that are all positive the measured variance within rows lies on its "
        "line, below that of the total variance.",
        y="variance of the scores",
        curves={"within a row": derived.end.subs(OF_UNIFORM)},
        wrong={"total": of_uniform},
    )


CLAIM = Claim(
    title="The softmax sees the variance within a row, not the total one",
    statement="The scores of one query vary by {main:end} on average; the rest of the total variance, "
    "which is {total:end}, shifts whole rows, and a softmax over a row does not see it. For components "
    "uniform between zero and one, in {uniform-row-d64:d_k} dimensions, the variance within a row is "
    "{uniform-row-d64:prediction}, out of a total of {total-variance}.",
    meaning="Adding a number to all scores of a query changes no softmax weight, so the part of the "
    "variance that comes from the keys' mean does nothing. For centred keys both variances agree. With "
    "positive components, such as those of many demonstrations, the total variance overstates what the "
    "softmax responds to: there by three quarters.",
    symbols={"without_means": d * sigma_q**2 * sigma_k**2},
)
