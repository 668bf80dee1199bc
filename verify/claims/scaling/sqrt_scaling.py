"""Dividing by the root of the dimension makes the variance 1."""

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Fit, Items, Plot, Var, Wrong, a, algebra
from verify.spec import cite, d, earlier, fact, i, j, k, latex, moments, over_components, q, score, sqrt

PRODUCT, SQUARES = q[a, i] * k[j, i], E(q[a, i] ** 2) * E(k[j, i] ** 2)
scaled = score / sqrt(d)


def derive() -> tuple[Chain, ...]:
    direct = Chain(Var(scaled)).through(
        (E(scaled**2) - E(scaled) ** 2, "definition", algebra),
        (over_components(E(PRODUCT**2)) / d, "all other products have mean 0", moments(STANDARD)),
        (over_components(SQUARES) / d, "query and key are independent", moments(STANDARD)),
        (1, "every square has mean 1", moments(STANDARD)),
    )
    raw = Chain(Var(score), name="raw", title="The variance of the raw score")
    raw = raw.then(d, "a sum of as many products, each of variance 1", moments(STANDARD))
    # The report's first page shows this one beside the variance of the raw score.
    outside = Chain(Var(scaled), name="factor-first", title="Again, with the factor first").through(
        (Var(score) / d, "a factor enters the variance squared", algebra),
        (1, "the variance of the raw score is the dimension", earlier(raw)),
    )
    return direct, raw, outside


def experiment(derived: Derivation) -> Items:
    for size in (1, 2, 8, 64, 512, 1024):
        yield Check(f"variance-d{size}", derived, {d: size})
    yield Fit("variance-d*", over=d, law=derived.end)
    yield Wrong("unscaled", Var(score), {d: 64}, equals=1, says="it is {value} even without scaling")
    yield fact("scaled-variance", f"variance of ${latex(scaled)}$", derived.end)
    title, words = "Only the square root keeps the variance level", "variance of the scaled score"
    curves, wrong = {"over {root_d}": derived.end}, {"wrong: unscaled": d, "wrong: over {d_k}": 1 / d}
    yield Plot("three-scales", "variance-d*", d, title, y=words, curves=curves, wrong=wrong)


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main} for every {d_k}.",
    meaning="The scale makes scores comparable across dimensions: a head of {variance-d1024:d_k} dimensions "
    "then gives softmax scores spread like those of a single dimension. It fixes the spread under the stated "
    "assumptions; trained queries and keys need not keep to them.",
    references=cite("vaswani2017"),
)
