"""The second singular value of attention falls far less where scores come from queries and keys."""

from functools import partial

import numpy as np

from verify.spec import NORMAL, NORMAL_ROWS, Chain, Check, Claim, Column, Derivation, E, Integral, Items, Plot
from verify.spec import Rational, Symbol, Threshold, Var, Within, Wrong, a, algebra, by_density, cite, d
from verify.spec import earlier, exp, integral, j, k, m, n, oo, pi, q, s, sqrt, symbols
from verify.spec.arrays import Array, Draws, softmax

KEYS, DIMENSION, SPREAD = (16, 32, 64), 4, Rational(1, 2)
v, (c, y) = Symbol("v", positive=True), symbols("c y", real=True)


def second(scores: Array) -> dict[str, Array]:
    """Return the second singular value of square matrices of weights of these scores."""
    weights = softmax(float(SPREAD) * scores).astype(np.float64)
    return {"second": np.sqrt(np.linalg.eigvalsh(weights @ weights.swapaxes(1, 2))[:, -2])}


def apart(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Singular values of the weights of as many rows as keys, whose scores are independent and normal."""
    return second(draws["s"])


def shared(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Singular values of the weights of as many queries as keys, whose scores are their scaled products."""
    return second(draws["q"] @ draws["k"].swapaxes(1, 2) / np.sqrt(DIMENSION))


def derive() -> tuple[Chain, Chain]:
    power = exp(sqrt(v) * s[a, j])
    mean = Integral(exp(c * y) * exp(-(y**2) / 2) / sqrt(2 * pi), (y, -oo, oo))
    of_power = Chain(E(exp(c * s[a, j])), name="exponential", title="Exponentials and their powers").through(
        (mean, "the normal density", by_density({s[a, j]: y}, NORMAL_ROWS)),
        (exp(c**2 / 2), "integrated", integral()),
    )
    once, twice = (earlier(of_power, at={c: times * sqrt(v)}) for times in (1, 2))
    ratio = Chain(Var(power) / E(power) ** 2, title="Variance of exponentials over squared mean").through(
        (E(exp(2 * sqrt(v) * s[a, j])) / E(power) ** 2 - 1, "definition", algebra),
        (exp(2 * v) / E(power) ** 2 - 1, "the mean square", twice),
        (exp(v) - 1, "the mean", once),
    )
    return of_power, ratio


def experiment(derived: Derivation) -> Items:
    # The edge of the singular values of a matrix of independent entries of this ratio.
    edge = 2 * sqrt(derived.end / n)
    independent, of_keys, floor = E(Column(apart, "second")), E(Column(shared, "second")), Rational(29, 100)
    yield Check("ratio", derived, {v: SPREAD**2})
    for keys in KEYS:
        at, both = {n: keys, v: SPREAD**2}, {n: keys, v: SPREAD**2, d: DIMENSION}
        check = Check.sharing(shape={m: keys, n: keys}, tolerance=Within(1.0, fixed=True))
        of_rows, of_products = partial(check, laws={s: NORMAL}), partial(check, laws={q: NORMAL, k: NORMAL})
        # Five sixths of the edge, in hundredths: a number that is set, for no lower bound is derived.
        less, share = 0.95 if keys == KEYS[-1] else 0, Rational(round(500 / 6 * float(edge.subs(at))), 100)
        yield of_rows(f"most-apart-n{keys}", independent, at, at_most=edge, sharper=less)
        yield of_rows(f"least-apart-n{keys}", independent, at, at_least=Threshold(share))
        yield of_products(f"least-shared-n{keys}", of_keys, both, at_least=Threshold(floor))
    says = "it is at least a twentieth more than the formula gives"
    yield Wrong("a-twentieth-more", of="least-apart-n64", at_least=edge * Rational(105, 100), says=says)
    says = "for queries and keys it falls as it does for independent scores"
    yield Wrong("falls-alike", of="least-shared-n64", at_most=edge, says=says)
    checks = {"independent scores": "most-apart-*", "queries and keys": "least-shared-*"}
    yield Plot("second", checks, n, curves={"edge": edge}, at={v: SPREAD**2}, y="mean second singular value")


CLAIM = Claim(
    statement="For normal scores of variance {v}, the variance of their exponentials over the squared mean "
    "is {main:end}.",
    meaning="A matrix of weights averages tokens; its second singular value governs what is left of their "
    "differences. For independent scores it is about twice the square root of the above ratio over the "
    "number of keys: at a variance of {variance} it is measured as {most-apart-n16:estimate.3} for "
    "{most-apart-n16:n} keys and {most-apart-n64:estimate.3} for {most-apart-n64:n}, where the formula gives "
    "{most-apart-n64:prediction.3}. Scores of queries and keys are not independent: in "
    "{least-shared-n64:d_k} dimensions and at the same variance it is {least-shared-n16:estimate.3} and "
    "{least-shared-n64:estimate.3}, because few dimensions leave a pattern that more keys do not average "
    "away. All but the ratio is measured only.",
    headline="least-shared-n64",
    symbols={"variance": SPREAD**2},
    references=cite("naitsaada2025"),
)
