"""Under a causal mask, row t attends to t keys, and its mean entropy is that of t keys."""

import math

import numpy as np
import scipy
from scipy import special
from sympy import Rational, S, log, sqrt

from verify.spec import ROUNDING, Chain, Check, Claim, Computed, Derivation, E, Entropy, Figure, Findings
from verify.spec import Indicator, Items, Line, Threshold, Within, Wrong, cited, d, earlier, figures as draw
from verify.spec import j, n, of_probability, score
from verify.spec.arrays import softmax, stream
from verify.spec.integrals import Approximation, integrated, over_lengths
from verify.spec.lemmas import entropy_lost

POSITIONS, D = (2, 8, 32, 128), 64
BELOW = {8: Rational(9, 50), 32: Rational(29, 100), 128: Rational(37, 100)}
"""At least which share of the rows at a position there is to lose more than half a nat."""

ENTROPY = Entropy(score / sqrt(d), j)
SHARE = E(Indicator(log(n) - S.Half - ENTROPY))
"""The share of rows that lose more than half a nat."""


def derive() -> tuple[Chain, ...]:
    """Derive the bounds for n keys, which are those of the row at the position n."""
    *others, scaled = entropy_lost("bound")
    even = r"no weights have more entropy than equal ones: in row $t$, with $n = t$, $\ln t$"
    gibbs, title = Line(log(n), even, cited("gibbs"), "≤"), "A row of any scaled scores at most"
    most = Chain(E(ENTROPY), gibbs, name="most", title=title)
    least = Chain(
        E(ENTROPY), title="The same row at least, such as row $t$ of a causal mask with its $n = t$ keys"
    ).then(log(n) - S.Half, "no more than half a nat is lost", earlier(scaled), "≥")
    return *others, scaled, most, least


def distance_of_rows(masked: bool) -> float:
    """Return how far rows of attention, under a mask or none, are from those of the first t keys alone."""
    queries, keys = stream(0, "causal-rows", "vectors", 0).standard_normal((2, POSITIONS[-1], D))
    scores = queries @ keys.T / D**0.5
    hidden = np.triu(np.full(scores.shape, -np.inf), 1) if masked else 0.0
    weights = softmax(scores + hidden)
    return max(float(np.abs(weights[t - 1, :t] - softmax(scores[t - 1, :t])).max()) for t in POSITIONS)


def half_a_nat_lost(_: int, deviation: float) -> Approximation:
    """Return the probability that two keys' scores are so far apart that H < ln 2 - ½."""

    def beyond(gap: float) -> float:
        p = special.expit(gap)
        return float(special.entr(p) + special.entr(1 - p)) - math.log(2) + 0.5

    gap = scipy.optimize.brentq(beyond, 0.0, 40.0, xtol=1e-13)
    return Approximation(float(special.erfc(gap / (2 * deviation))), 1e-12)


def experiment(derived: Derivation) -> Items:
    """Measure the mean loss of entropy at four positions, and how many rows lose more than its bound."""
    lost, (two, *_, last) = derived["scaled"], POSITIONS
    near, few = Within(0.25, fixed=True), Within(fixed=True)
    values = {t: integrated(E(log(n) - ENTROPY), {n: t, d: D}) for t in POSITIONS}
    for t in POSITIONS:
        at, false = {n: t, d: D}, 0.95 if t == last else 0
        bound = {"at_most": lost.end, "sharper": false, "sharper_truth": values[t]}
        yield Check(f"at-least-t{t}", lost.start, at, tolerance=near, **bound)
        # Rows of many keys vary least.
        wide = Within(0.5 if t == last else 0.75)
        yield Check(f"value-t{t}", lost, at, equals=values[t], tolerance=wide)
    of_two = over_lengths(half_a_nat_lost, two, D, D**-0.5).value
    why = "few rows lose so much, so that a sharper share takes many more draws"
    pairs = Within(10, because=why, fixed=True)
    yield Check(f"rows-below-t{two}", SHARE, {n: two, d: D}, equals=of_two, tolerance=pairs)
    for t, least in BELOW.items():
        at, least_share, false = {n: t, d: D}, Threshold(least), 1.1 if t == last else 0
        yield Check(f"rows-below-t{t}", SHARE, at, at_least=least_share, tolerance=few, sharper=false)
    what = "largest distance of a row’s weights under a causal mask from those of its own keys alone"
    settings = {"n": last, "d_k": D}
    yield Computed("masked", what, distance_of_rows, (True,), equals=0, settings=settings, allowance=ROUNDING)
    yield from wrong_versions(derived, values)


def wrong_versions(derived: Derivation, values: dict[int, float]) -> Items:
    """Yield what is not true of rows under a mask."""
    lost, (two, *_, last) = derived["scaled"].start, POSITIONS
    says = "every row of a text of {at-least-t128:n} tokens spreads over about as many keys"
    unmasked = math.log(last / two) + lost
    yield Wrong("as-if-unmasked", unmasked, {n: two, d: D}, at_most=S.Half, says=says)
    says = "row {cell:n} loses as much as row {value-t128:n}"
    yield Wrong("same-loss", of=f"value-t{two}", equals=values[last], says=says)
    says, few = "every row, not only their mean, keeps all but half a nat", of_probability()
    yield Wrong("every-row", SHARE, {n: last, d: D}, at_most=Threshold(0), tolerance=few, says=says)
    says = "of two keys' rows as many lose half a nat as of all keys' rows"
    yield Wrong("same-share", of=f"rows-below-t{two}", equals=Threshold(BELOW[last]), says=says)
    says = "without the mask a row has the same weights"
    yield Wrong("no-mask", of="masked", computed=distance_of_rows(False), says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the mean entropy over the position, between its bounds."""
    span = POSITIONS[0], POSITIONS[-1]
    lost = findings.matching("value-t*")
    return draw.figure(
        "by-position",
        "A causal row’s mean entropy follows the logarithm of its position",
        "Measured mean entropy of the rows of causal attention over their position: it rises like "
        "the logarithm of the position and stays within half a nat below it.",
        draw.curve("{most:end}", derived["most"].end, span, "other", many=25),
        draw.curve("{main:end}", derived.end, span, many=25),
        draw.measured(lost, n, as_drawn=lambda at, value: math.log(at) - value),
        x="position {n}",
        y="mean entropy, in nats",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Under a causal mask, the mean entropy grows with the position",
    headline="at-least-t128",
    statement="Row {n} of causal attention has {n} keys: with scaled scores of independent standard normal "
    "components, its mean entropy is at most {most:end} and at least {main:end}.",
    meaning="A mask changes no score, but it decides among how many keys a row chooses. The first token "
    "attends to itself with certainty, whatever the scale, and gets no gradient through its scores; late "
    "tokens average. Statistics over all rows of a causal head mix these. The lower bound holds for the "
    "mean: in {value-t2:d_k} dimensions {rows-below-t2:estimate.1%} of the rows lose more with two keys, "
    "{rows-below-t8:estimate.2%} with eight, {rows-below-t32:estimate.2%} with thirty-two and "
    "{rows-below-t128:estimate.2%} with {value-t128:n}.",
    symbols={"n": n},
)
