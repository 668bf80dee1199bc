"""The law of the components does not matter, only their mean and variance."""

from verify.spec import EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, STANDARD, UNIFORM, Chain, Check, Claim
from verify.spec import Derivation, E, Fit, Items, Law, Plot, Var, Within, Wrong, a, algebra, d, earlier
from verify.spec import gamma_k, gamma_q, i, j, k, kappa_k, kappa_q, moments, q, score, student_t

LAWS = {"normal": NORMAL, "uniform": UNIFORM, "rademacher": RADEMACHER, "laplace": LAPLACE}
LAWS |= {"t9": student_t(9), "exponential": EXPONENTIAL}
FOUR_MOMENTS = {
    q: Law("mean 0, variance 1, skewness γ_q and kurtosis κ_q", (1, 0, 1, gamma_q, kappa_q)),
    k: Law("mean 0, variance 1, skewness γ_k and kurtosis κ_k", (1, 0, 1, gamma_k, kappa_k)),
}


def derive() -> tuple[Chain, ...]:
    variance = Chain(Var(score), title="From mean 0 and variance 1 alone").through(
        (E(score**2) - E(score) ** 2, "definition", algebra),
        (d * E(q[a, i] ** 2) * E(k[j, i] ** 2), "means of products are 0", moments(STANDARD)),
        (d, "both have variance 1, whatever their law", moments(STANDARD)),
    )
    fourth = d * E(q[a, i] ** 4) * E(k[j, i] ** 4) + 3 * d * (d - 1)
    return variance, Chain(E(score**4) / Var(score) ** 2, name="kurtosis", title="The kurtosis").through(
        (E(score**4) / d**2, "the variance, as above", earlier(variance)),
        (fourth / d**2, "one product four times, or two different ones twice", moments(FOUR_MOMENTS)),
        (3 + (kappa_q * kappa_k - 3) / d, "the kurtosis of the components", moments(FOUR_MOMENTS)),
    )


def experiment(derived: Derivation) -> Items:
    for name, law in LAWS.items():
        points, laws, tried = f"{name}-variance-d", {q: law, k: law}, name == "laplace"
        for size in (1, 8, 128):
            yield Check(f"{points}{size}", derived, {d: size}, laws=laws, control=tried and size == 128)
        before, wanted = f"{name}-", ("slope", "exponent")
        yield Fit(f"{points}*", over=d, law=derived.end, only=wanted, prefix=before, control=tried)
    for size in (1, 8):
        yield Check(f"mixed-variance-d{size}", derived, {d: size}, laws={q: LAPLACE, k: UNIFORM})
    # So skewed that a coarse tolerance takes no fewer blocks.
    kurtosis, fixed = derived["kurtosis"], Within(fixed=True)
    of_name = {"uniform": (UNIFORM, UNIFORM), "rademacher": (RADEMACHER,) * 2, "mixed": (UNIFORM, RADEMACHER)}
    for name, pair in of_name.items():
        laws = dict(zip((q, k), pair, strict=True))
        yield Check(f"{name}-kurtosis", kurtosis, {d: 8}, laws=laws, tolerance=fixed)
    says = "a law with twice the fourth moment has scores of twice the variance (Laplace components)"
    yield Wrong("fourth-moment-matters", of="laplace-variance-d128", equals=2 * derived.end, says=says)
    of_normal = kurtosis.end.subs({kappa_q: 3, kappa_k: 3})
    yield Wrong("same-kurtosis", of="rademacher-kurtosis", equals=of_normal, says="the kurtosis is the same")
    yield Plot("six-laws", tuple(f"{name}-variance-d*" for name in LAWS), d, curves={"derived": derived.end})


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1 of whatever law, {main}; the kurtosis, "
    "if it is finite, does depend on the law: it is {kurtosis:end}.",
    meaning="Real activations are never exactly normal, and for the variance this does not matter: uniform, "
    "skewed or heavy-tailed components with the same two moments give the same line. What the law does "
    "change are the extremes of single scores, and this fades as the dimension grows.",
)
