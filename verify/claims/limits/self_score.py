"""A vector's score with itself has the dimension as its mean."""

from verify.spec import UNIFORM, Chain, Chains, Check, Claim, Derivation, Dot, E, Items, Law, Plot, S, Var
from verify.spec import Wrong, a, algebra, d, gamma_q, i, kappa_q, moments, of_deviation, over_components, q
from verify.spec import sqrt

OWN = Dot(q, a, q, a)
LAW = {q: Law("mean 0, variance 1, skewness γ_q and kurtosis κ_q", (S.One, S.Zero, S.One, gamma_q, kappa_q))}


def derive() -> Chains:
    square = q[a, i] ** 2
    yield Chain(Var(OWN)).through(
        (over_components(Var(square)), "the squares are independent", moments(LAW)),
        (over_components(E(square**2) - E(square) ** 2), "definition", algebra),
        (over_components(kappa_q - 1), "the fourth moment, less the squared variance", moments(LAW)),
        (d * (kappa_q - 1), "all are alike", algebra),
    )
    yield Chain(E(OWN), name="mean", title="The mean").through(
        (over_components(E(square)), "term by term", moments(LAW)),
        (d, "every square has mean 1", moments(LAW)),
    )


def experiment(derived: Derivation) -> Items:
    mean = derived["mean"]
    for size in (1, 8, 64, 128):
        near = of_deviation(2 * size, 1.5, "a single square spreads further than its mean" * (size == 1))
        yield Check(f"mean-d{size}", mean, {d: size}, tolerance=near, control=size == 64)
        # Squared lengths have heavier tails than scores.
        yield Check(f"variance-d{size}", derived, {d: size}, tolerance=2.0)
    yield Check("uniform-variance-d64", derived, {d: 64}, laws={q: UNIFORM}, tolerance=2.0)
    yield Wrong("mean-zero", of="mean-d64", equals=0, says="a vector’s score with itself has mean {value}")
    yield Wrong("variance-of-independent", of="variance-d64", equals=d, says="its variance is {d_k}")
    curves, bounds = {"its own": mean.end}, {"another’s: 3 deviations": 3 * sqrt(d)}
    title = "A token’s score with itself grows past the spread of the others, from nine dimensions on"
    yield Plot("above-the-others", "mean-d*", d, title, curves=curves, bounds=bounds, y="score")


CLAIM = Claim(
    statement="For independent components with mean zero, unit variance and kurtosis {kappa_q}, the score of "
    "a vector with itself has mean {mean:end} and variance {main:end}; for normal components, in "
    "{variance-d64:d_k} dimensions, {variance-d64:prediction}.",
    meaning="Where query and key are the same vector, as with tied projections, nothing averages out: the "
    "score is the squared length. Divided by {root_d} it still grows like {root_d}, so that a token’s own "
    "key tends to win. For an independent query and key the variance is the dimension.",
)
