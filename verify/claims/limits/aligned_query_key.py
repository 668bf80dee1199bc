"""Aligned queries and keys have scores with a mean of their own."""

from verify.spec import Chain, Chains, Check, Claim, Derivation, E, Family, Items, Named, Plot, S, Symbol, Var
from verify.spec import Within, Wrong, a, algebra, cite, d, earlier, i, latex, m, moments, normal
from verify.spec import over_components, q, sqrt

DIMENSIONS, RHO = (4, 16, 64), S.Half
FACTORS = {"root-mean": 1 / sqrt(d), "over-mean": 1 / d}
rho, x = Symbol("rho", positive=True), Family("x", m, d)
LAWS = {q: normal(), x: normal()}
# The score with the key k = ρq + √(1-ρ²)x, whose components have correlation ρ with the query's.
SCORE = over_components(q[a, i] * (rho * q[a, i] + sqrt(1 - rho**2) * x[a, i]))
ALIGNED = Named(Symbol(r"q\cdot k"), SCORE)


def derive() -> Chains:
    given, put_in = (rho <= 1,), r"$k = \rho q + \sqrt{1 - \rho^2}\,x$; x is independent of the query"
    mean = Chain(E(ALIGNED), given=given).through(
        (E(SCORE), put_in, algebra),
        (rho * over_components(E(q[a, i] ** 2)), "x has mean 0", moments(LAWS)),
        (rho * d, "every square has mean 1", moments(LAWS)),
    )
    square, beside = rho**2 * Var(q[a, i] ** 2), (1 - rho**2) * Var(q[a, i] * x[a, i])
    variance = Chain(Var(ALIGNED), name="variance", title="The variance", given=given).through(
        (Var(SCORE), put_in, algebra),
        (over_components(square + beside), "both parts are uncorrelated", moments(LAWS)),
        (d * (1 + rho**2), "a square has variance 2, a product 1", moments(LAWS)),
    )
    yield from (mean, variance)
    for name, factor in FACTORS.items():
        scaled = Chain(E(ALIGNED * factor), name=name, title=f"The mean times ${latex(factor)}$", given=given)
        yield scaled.then(mean.end * factor, "a number goes before the mean", moments(LAWS))
    title = "How many standard deviations the mean is from 0"
    yield Chain(E(ALIGNED) / sqrt(Var(ALIGNED)), name="ratio", title=title, given=given).through(
        (mean.end / sqrt(Var(ALIGNED)), "the mean, put in", earlier(mean)),
        (rho * sqrt(d / (1 + rho**2)), "and the variance", earlier(variance)),
    )


def experiment(derived: Derivation) -> Items:
    for size in DIMENSIONS:
        at, control = {d: size, rho: RHO}, size == DIMENSIONS[0]
        yield Check(f"mean-d{size}", derived, at, control=control)
        for name, chain in derived.others.items():
            yield Check(f"{name}-d{size}", chain, at, tolerance=Within(1.0 if name in FACTORS else 2.0))
    yield Wrong("root-keeps-the-mean", of="root-mean-d64", equals=1, says="the root keeps the mean: {value}")
    yield Wrong("variance-of-independent", of="variance-d64", equals=d, says="the variance is {d_k} as ever")
    mean, words = derived.end.subs(rho, RHO), "mean of the score, at a correlation of one half"
    curves = {"over {root_d}": mean / sqrt(d), "unscaled": mean, "over {d_k}": mean / d}
    title = "For aligned vectors it is division by the dimension itself that keeps the mean"
    yield Plot("three-scales", ("root-mean-d*", "mean-d*", "over-mean-d*"), d, title, curves=curves, y=words)


CLAIM = Claim(
    statement="If query and key components are standard normal with correlation {rho}, pair by pair, the "
    "mean of the score is {main:end} and its variance {variance:end}: dividing by {d_k} keeps the mean, "
    "dividing by {root_d} does not.",
    meaning="The root is the right scale at initialisation, when queries and keys are independent of each "
    "other. Where training aligns them, the mean takes over, {ratio:end} standard deviations from zero, "
    "which calls for division by {d_k}: the choice of maximal-update parametrisation. Which scale is right "
    "depends on what it is to keep.",
    references=cite("yang2022"),
)
