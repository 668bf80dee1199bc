"""A linear bias adds to the variance of rows, and more so in longer ones."""

import numpy as np

from verify.spec import ROUNDING, STANDARD, Chain, Chains, Check, Claim, Computed, Derivation, E, Items, Law
from verify.spec import Rational, S, Symbol, Wrong, a, algebra, cite, d, exp, j, moments, n, over_keys, s
from verify.spec import score, sigma, sqrt, tanh
from verify.spec.arrays import softmax

SLOPES = {"m05": S.Half, "m0125": Rational(1, 8)}  # the slopes of the first and the third of eight heads
m, DISTANCE = Symbol("m", positive=True), j - 1


def derive() -> Chains:
    squares, mean = over_keys(DISTANCE**2) / n, over_keys(DISTANCE) / n
    varies = "no two scores go together: what the bias varies is added"
    standard = {s: Law("mean 0 and variance 1", (S.One, S.Zero, S.One))}
    for scores, variance, laws, name, title in (
        (sigma * s[a, j], sigma**2, standard, "", "Independent scores"),
        (score / sqrt(d), S.One, STANDARD, "scaled", "Scaled scores"),
    ):
        biased = scores - m * DISTANCE
        within = E(over_keys(biased**2) / n - (over_keys(biased) / n) ** 2)
        yield Chain(within, name=name, title=title).through(
            (variance * (1 - 1 / n) + m**2 * (squares - mean**2), varies, moments(laws)),
            (variance * (1 - 1 / n) + m**2 * (n**2 - 1) / 12, "distances are 0 to n - 1", algebra),
        )
    first, second = ((1 - exp(-power * m * n)) / (1 - exp(-power * m)) for power in (1, 2))
    alone = over_keys(exp(-m * DISTANCE) ** 2) / over_keys(exp(-m * DISTANCE)) ** 2
    yield Chain(alone, name="alone", title="The bias alone", defines=r"$\sum p^2$ of equal scores").through(
        (second / first**2, "geometric sums", algebra),
        (tanh(m / 2) / tanh(m * n / 2), "exponentials", algebra),
    )


def experiment(derived: Derivation) -> Items:
    scaled, reach = derived["scaled"], derived["alone"].end.subs({m: S.Half, n: 64})
    for name, slope in SLOPES.items():
        for keys in (4, 16, 64):
            at, control = {m: slope, n: keys, d: 16}, (name, keys) == ("m05", 4)
            yield Check(f"row-{name}-n{keys}", scaled, at, control=control)
    yield Check("independent-n16", derived, {m: S.Half, n: 16, sigma: 2})
    what, at, row = r"$\sum_j p_j^2$ of equal scores", {"m": 0.5, "n": 64}, softmax(-np.arange(64) / 2)
    yield Computed("reach", what, np.dot, (row, row), equals=reach, settings=at, allowance=ROUNDING)
    yield Wrong("scale-alone", of="row-m05-n64", equals=1, says="the scale alone gives {value}")
    says = "the bias adds {twelfth} to what scores have alone"
    yield Wrong("twelfth-of-n-squared", of="row-m05-n4", equals=1 + m**2 * n**2 / 12, says=says)
    says = "the slope enters once, not squared"
    yield Wrong("slope-once", of="row-m0125-n64", equals=scaled.end.subs(m, sqrt(m)), says=says)
    yield Wrong("one-over-the-slope", of="reach", equals=S.Half, says="attention reaches {inverse} keys")


CLAIM = Claim(
    statement="Let a row's {n} scores be independent with mean zero and standard deviation {sigma}, less a "
    "slope {m} times the distance of the key. Their mean variance within the row is {main:end}; that of "
    "scaled scores of components with mean 0 and variance 1 is the same at {sigma} = 1. Where the scores are "
    "equal, the bias alone leaves a sum of squared weights of {alone:end}: in long rows, for a small slope, "
    "attention over about as many keys as twice the inverse of the slope.",
    meaning="Scaling sets the variance of the scores and not that of what softmax is given. With the "
    "steepest slope of eight heads, one half, seven keys are enough for the bias to count as much as scaled "
    "scores; with the flattest it takes hundreds. In longer rows the bias by itself keeps attention to the "
    "near keys.",
    symbols={"m": m, "twelfth": m**2 * n**2 / 12, "inverse": 1 / m},
    references=cite("press2022"),
)
