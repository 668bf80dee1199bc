"""Only the first two moments of the components matter for the variance of a score."""

from sympy import Rational

from verify.spec import EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, STANDARD, UNIFORM, Chain, Check, Claim
from verify.spec import Derivation, E, Fit, Items, Law, Plot, Var, Within, Wrong, a, algebra, d, earlier
from verify.spec import gamma_k, gamma_q, i, j, k, kappa_k, kappa_q, moments, q, score, student_t

LAWS = {"normal": NORMAL, "uniform": UNIFORM, "rademacher": RADEMACHER, "laplace": LAPLACE}
LAWS |= {"t9": student_t(9), "exponential": EXPONENTIAL}
FOUR_MOMENTS = {
    q: Law("mean 0, variance 1, skewness γ_q and kurtosis κ_q", (1, 0, 1, gamma_q, kappa_q)),
    k: Law("mean 0, variance 1, skewness γ_k and kurtosis κ_k", (1, 0, 1, gamma_k, kappa_k)),
}
KURTOSIS = E(score**4) / Var(score) ** 2
"""The kurtosis of a score, whose mean is 0."""


def derive() -> tuple[Chain, ...]:
    """Derive the variance from two moments, and the kurtosis from four."""
    fourth = d * E(q[a, i] ** 4) * E(k[j, i] ** 4) + 3 * d * (d - 1)
    variance = (
        Chain(Var(score), title="From mean 0 and variance 1 alone")
        .then(E(score**2) - E(score) ** 2, "definition", algebra)
        .then(d * E(q[a, i] ** 2) * E(k[j, i] ** 2), "means of products are 0", moments(STANDARD))
        .then(d, "both have variance 1, whatever their law", moments(STANDARD))
    )
    kurtosis = (
        Chain(
            KURTOSIS,
            name="kurtosis",
            title="What does depend on the law: the kurtosis",
            defines="the kurtosis of a score, whose mean is 0",
        )
        .then(E(score**4) / d**2, "the variance, as above", earlier(variance))
        .then(fourth / d**2, "one product four times, or two different ones twice", moments(FOUR_MOMENTS))
        .then(3 + (kappa_q * kappa_k - 3) / d, "the kurtosis of the components", moments(FOUR_MOMENTS))
    )
    return variance, kurtosis


def experiment(derived: Derivation) -> Items:
    """Fit one line for each law; measure the kurtosis for two, and both where query and key differ."""
    variance, kurtosis, coefficients = derived.end, derived["kurtosis"].end, ("slope", "exponent")
    for name, law in LAWS.items():
        laws, tried = {q: law, k: law}, name == "laplace"
        for size in (1, 8, 128):
            control, at = tried and size == 128, {d: size}
            yield Check(
                f"{name}-variance-d{size}", Var(score), at, equals=variance, laws=laws, control=control
            )
        points, before = f"{name}-variance-d*", f"{name}-"
        yield Fit(points, over=d, law=variance, only=coefficients, prefix=before, control=tried)
    for size in (1, 8):
        laws = {q: LAPLACE, k: UNIFORM}
        yield Check(f"mixed-variance-d{size}", Var(score), {d: size}, equals=variance, laws=laws)
    signs, unlike = {q: RADEMACHER, k: RADEMACHER}, {q: UNIFORM, k: RADEMACHER}
    for name, laws in (("uniform", {q: UNIFORM, k: UNIFORM}), ("rademacher", signs), ("mixed", unlike)):
        # So skewed that a coarse tolerance takes no fewer blocks.
        fixed = Within(fixed=True)
        yield Check(f"{name}-kurtosis", KURTOSIS, {d: 8}, equals=kurtosis, laws=laws, tolerance=fixed)

    what = "a law with twice the fourth moment has scores of twice the variance (Laplace components)"
    yield Wrong("fourth-moment-matters", of="laplace-variance-d128", equals=2 * variance, says=what)
    of_normal = kurtosis.subs({kappa_q: 3, kappa_k: 3})
    what = "the law does not matter for the kurtosis either: random signs have that of normal components"
    yield Wrong("same-kurtosis", of="rademacher-kurtosis", equals=of_normal, says=what)
    of_mixed = {kappa_q: Rational(UNIFORM.kurtosis), kappa_k: Rational(RADEMACHER.kurtosis)}
    # The kurtosis of one law counted twice is right wherever both laws are alike.
    for name, once, twice in (("query", kappa_k, kappa_q), ("key", kappa_q, kappa_k)):
        wrong, what = kurtosis.subs(once, twice), f"the kurtosis of a score takes that of the {name} twice"
        yield Wrong(f"{name}-counted-twice", of="mixed-kurtosis", equals=wrong.subs(of_mixed), says=what)
    yield Plot(
        "six-laws",
        tuple(f"{name}-variance-d*" for name in LAWS),
        over=d,
        title="Six laws of the components, one line",
        alt="Measured variances of q·k for normal, uniform, sign, Laplace, Student t and exponential "
        "components lie on one another, on the line of the dimension itself.",
        curves={"derived": variance},
    )


CLAIM = Claim(
    title="The law of the components does not matter, only their mean and variance",
    statement="For independent components with mean 0 and variance 1 of whatever law, {main}; the "
    "kurtosis, if it is finite, does depend on the law: it is {kurtosis:end}.",
    meaning="Real activations are never exactly normal, and for the variance this does not matter: uniform, "
    "skewed or heavy-tailed components with the same two moments give the same line. What the law does "
    "change are the extremes of single scores, and this fades as the dimension grows.",
)
