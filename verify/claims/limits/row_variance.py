"""The softmax sees the variance within a row, not the total one."""

from verify.spec import GENERAL, NORMAL, UNIT_INTERVAL, Chain, Chains, Check, Claim, Cov, Derivation, E, Ge
from verify.spec import Items, Plot, S, Var, Wrong, a, d, fact, k, l, m, moments, mu_k, mu_q, n, over_keys, q
from verify.spec import score, score_of, sigma_k, sigma_q, sqrt

LAWS = {"uniform": {q: UNIT_INTERVAL, k: UNIT_INTERVAL}, "normal": {q: NORMAL, k: NORMAL}}
# Means and standard deviations of components from U(0, 1).
OF_UNIFORM = {mu_q: S.Half, mu_k: S.Half, sigma_q: sqrt(3) / 6, sigma_k: sqrt(3) / 6}
OTHER = score_of(a, l)  # the score of the same query with another key
ROW = over_keys((score - over_keys(OTHER, l) / n) ** 2) / (n - 1)  # the variance of the scores of a query
REST = d * sigma_q**2 * mu_k**2  # what the keys' mean adds to all scores of a query
WITHOUT_MEANS = d * sigma_q**2 * sigma_k**2


def derive() -> Chains:
    pair, result = E(score**2) - E(score * OTHER), d * (sigma_q**2 + mu_q**2) * sigma_k**2
    of_components = "moments of the components"
    yield Chain(E(ROW), title="The same query, two keys", given=(Ge(n, 2),)).through(
        (pair, "the squares, less the products of two different keys", moments(GENERAL)),
        (result, of_components, moments(GENERAL)),
    )
    yield Chain(Var(score), name="total", title="The total: within rows, and between them").through(
        (pair + Cov(score, OTHER), "the mean of the product put in between", moments(GENERAL)),
        (result + REST, of_components, moments(GENERAL)),
    )


def experiment(derived: Derivation) -> Items:
    block, total = {m: 16, n: 32}, derived["total"].end
    for name, laws in LAWS.items():
        for size in (1, 8, 64, 256):
            check, at, control = f"{name}-row-d{size}", {d: size, n: 32}, (name, size) == ("uniform", 64)
            # The keys' mean direction decides how a block's rows vary, so that draws are dear.
            yield Check(check, derived, at, laws=laws, tolerance=2.0, shape=block, control=control)
    says = "rows vary as much as all scores together: here by {value}"
    yield Wrong("rows-as-the-whole", of="uniform-row-d64", equals=total, says=says)
    says = "rows vary by {WITHOUT_MEANS}, whatever the means"
    yield Wrong("without-means", of="uniform-row-d64", equals=WITHOUT_MEANS, says=says)
    what = "variance over all scores of uniform components in 64 dimensions"
    of_uniform = total.subs(OF_UNIFORM)
    yield fact("total-variance", what, of_uniform.subs(d, 64))
    title, words = "Rows vary less than the whole matrix", "variance of the scores"
    curves, wrong = {"within a row": derived.end.subs(OF_UNIFORM)}, {"total": of_uniform}
    yield Plot("rows-and-total", "uniform-row-d*", d, title, y=words, curves=curves, wrong=wrong)


CLAIM = Claim(
    statement="The scores of one query vary by {main:end} on average. The rest of the total variance, "
    "{REST}, shifts whole rows, and a softmax over a row does not see it. For components uniform between "
    "zero and one, in {uniform-row-d64:d_k} dimensions, the variance within a row is "
    "{uniform-row-d64:prediction}, out of a total of {total-variance}.",
    meaning="Adding a number to all scores of a query changes no softmax weight, so the part of the variance "
    "that comes from the keys' mean does nothing. For centred keys both variances agree. With positive "
    "components the total variance overstates what the softmax responds to: there by 75%.",
)
