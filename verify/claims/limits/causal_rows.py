"""Under a causal mask, the mean entropy grows with the position."""

import math

import scipy
from scipy import special

from verify.spec import Approximation, Chain, Chains, Check, Claim, Derivation, E, Entropy, Indicator, Items
from verify.spec import Plot, Rational, S, Threshold, Within, Wrong, cited, d, earlier, integrated, j, log, n
from verify.spec import of_probability, over_lengths, score, sqrt
from verify.spec.lemmas import entropy_lost, of_queries

POSITIONS, D = (2, 8, 32, 128), 64
ENTROPY = Entropy(score / sqrt(d), j)
SHARE = E(Indicator(log(n) - S.Half - ENTROPY))  # the share of rows that lose more than half a nat


def derive() -> Chains:
    *others, scaled = entropy_lost("bound")
    yield from (*others, scaled, of_queries(E(log(n) - ENTROPY), "loss", "Their mean loss"))
    most = Chain(E(ENTROPY), name="most", title="A row of any scaled scores at most")
    yield most.then(log(n), r"equal weights have most: in row $t$, $\ln t$", cited("gibbs"), "≤")
    least = Chain(E(ENTROPY), title="Row $t$ of a causal mask, with its $n = t$ keys, at least")
    yield least.then(log(n) - S.Half, "no more than half a nat is lost", earlier(scaled), "≥")


def half_a_nat_lost(_: int, deviation: float) -> Approximation:
    """Return the probability that two keys' scores are so far apart that H < ln 2 - ½."""

    def beyond(gap: float) -> float:
        p = special.expit(gap)
        return float(special.entr(p) + special.entr(1 - p)) - math.log(2) + 0.5

    gap = scipy.optimize.brentq(beyond, 0.0, 40.0, xtol=1e-13)
    return Approximation(float(special.erfc(gap / (2 * deviation))), 1e-12)


def experiment(derived: Derivation) -> Items:
    lost, (two, *_, last), near = derived["scaled"], POSITIONS, Within(0.25, fixed=True)
    for t in POSITIONS:
        at, is_last = {n: t, d: D}, t == last
        yield Check(f"at-least-t{t}", lost, at, tolerance=near, sharper=0.95 * is_last)
        yield Check(f"value-t{t}", derived["loss"], at, tolerance=0.5 if is_last else 0.75)
    share = over_lengths(half_a_nat_lost, two, D, D**-0.5).value
    rare, at_two = Within(10, because="few rows lose so much", fixed=True), {n: two, d: D}
    yield Check(f"rows-below-t{two}", SHARE, at_two, equals=share, tolerance=rare)
    for t, least in {8: Rational(9, 50), 32: Rational(29, 100), last: Rational(37, 100)}.items():
        of_rows = Check.sharing(at_least=Threshold(least), tolerance=Within(fixed=True))
        yield of_rows(f"rows-below-t{t}", SHARE, {n: t, d: D}, sharper=1.1 * (t == last))
    says = "every row of a text of {at-least-t128:n} tokens spreads over about as many keys"
    yield Wrong("as-if-unmasked", math.log(last / two) + lost.start, at_two, at_most=S.Half, says=says)
    says, late = "row {cell:n} loses as much as row {value-t128:n}", integrated(derived["loss"].end, at)
    yield Wrong("same-loss", of=f"value-t{two}", equals=late, says=says)
    says, few = "every row, not only their mean, keeps all but half a nat", of_probability()
    yield Wrong("every-row", SHARE, {n: last, d: D}, at_most=Threshold(0), tolerance=few, says=says)
    yield Wrong("same-share", of=f"rows-below-t{two}", equals=Threshold(least))
    curves, bounds = {"{main:end}": derived.end}, {"{most:end}": derived["most"].end}
    plot = Plot.sharing(as_drawn=lambda at, lost: math.log(at) - lost, x="position {n}", linear="y")
    yield plot("by-position", "value-t*", n, curves=curves, bounds=bounds, y="mean entropy, in nats")


CLAIM = Claim(
    headline="value-t2",
    statement="Row {n} of causal attention has {n} keys: with scaled scores of independent standard normal "
    "components, its mean entropy is at most {most:end} and at least {main:end}.",
    meaning="A mask changes no score, but it decides among how many keys a row chooses. The first token "
    "attends to itself with certainty, whatever the scale, and gets no gradient through its scores; late "
    "tokens average. Statistics over all rows of a causal head mix these. The lower bound holds for the "
    "mean: in {value-t2:d_k} dimensions {rows-below-t2:estimate.1%} of the rows lose more with two keys, "
    "{rows-below-t8:estimate.2%} with 8, {rows-below-t32:estimate.2%} with 32 and "
    "{rows-below-t128:estimate.2%} with {value-t128:n}.",
)
