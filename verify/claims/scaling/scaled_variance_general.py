"""Scaling restores the variance of a single dimension."""

from verify.spec import CENTRED, GENERAL, NORMAL, UNIT_INTERVAL, Chain, Chains, Check, Claim, Derivation, Fit
from verify.spec import Items, Plot, Sum, Var, Wrong, a, d, i, j, k, moments, mu_k, mu_q, q, score, sigma_k
from verify.spec import sigma_q, sqrt

CENTRED_LAWS, UNIFORM = {q: NORMAL.moved(0, 2), k: NORMAL.moved(0, 3)}, dict.fromkeys((q, k), UNIT_INTERVAL)
scaled, product = score / sqrt(d), q[a, i] * k[j, i]


def derive() -> Chains:
    of_product = sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2
    yield Chain(Var(scaled)).through(
        (Sum(Var(product), (i, 1, d)) / d, "different products are independent", moments(GENERAL)),
        (Var(product), "all of them have the same variance", moments(GENERAL)),
    )
    level = Chain(Var(scaled), name="level", title="In means and variances")
    yield level.then(of_product, "of one product, whose factors are independent", moments(GENERAL))
    centred = Chain(Var(scaled), name="centred", title="For centred components")
    yield centred.then(sigma_q**2 * sigma_k**2, "without means one term is left", moments(CENTRED))


def experiment(derived: Derivation) -> Items:
    level, centred, at = derived["level"], derived["centred"].end, {d: 256}
    for name, laws in (("centred", CENTRED_LAWS), ("uniform", UNIFORM)):
        for size in (1, 8, 64, 256):
            control = (name, size) == ("uniform", 8)
            yield Check(f"{name}-variance-d{size}", level, {d: size}, laws=laws, control=control)
        yield Fit(f"{name}-variance-d*", over=d, law=level.end, only=("slope",), prefix=f"{name}-")
    yield Wrong("always-one", level, at, equals=1, laws=UNIFORM, says="scaling makes the variance {value}")
    yield Wrong("means-do-not-matter", level, at, equals=centred, laws=UNIFORM, says="means do not matter")
    checks = {"2·normal and 3·normal": "centred-variance-d*", "U(0,1) and U(0,1)": "uniform-variance-d*"}
    yield Plot("levels", checks, d, wrong={"wrong: 1": 1}, y="variance of {scaled_score}")


CLAIM = Claim(
    statement="For independent components of any mean and variance, {main}, the variance of one product, for "
    "every {d_k}; for centred components that is {centred:end}.",
    meaning="The root takes the dimension out of the variance and nothing else. That scaled scores have "
    "variance 1 rests on components of variance 1: layer normalisation or initialisation must provide them. "
    "With standard deviations of 2 and 3 the variance of scaled scores is {centred-variance-d64:prediction}.",
)
