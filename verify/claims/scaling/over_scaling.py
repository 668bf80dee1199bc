"""Dividing by the dimension itself shrinks the variance to its inverse."""

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, Fit, Items, Plot, Var, Wrong, algebra, d
from verify.spec import moments, score


def derive() -> Chain:
    return Chain(Var(score / d)).through(
        (Var(score) / d**2, "a factor enters the variance squared", algebra),
        (1 / d, "the variance of the raw score is the dimension", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    for size in (1, 4, 16, 64, 256, 1024):
        yield Check(f"variance-d{size}", derived, {d: size}, control=size == 64)
    yield Fit("variance-d*", over=d, law=derived.end)
    yield Wrong("stays-at-one", derived, {d: 64}, equals=1, says="the variance stays at {value}")
    curves = {"derived": derived.end}
    yield Plot("falling-variance", "variance-d*", d, curves=curves, wrong={"divided by {root_d}": 1})


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main}.",
    meaning="Scores divided by {d_k} concentrate around 0 as the dimension grows, and softmax over them "
    "approaches an even spread over all keys.",
)
