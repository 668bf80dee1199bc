"""The printed softmax values, recomputed."""

import numpy as np

from verify.spec import Allowance, Chain, Claim, Computed, Derivation, Expr, Items, Rational, Softmax
from verify.spec import Threshold, Wrong, a, algebra, d, exp, fact, latex, n, s, sqrt, substitute
from verify.spec.arrays import in_single_precision, largest_difference, softmax

FIRST, SECOND = s[a, 1], s[a, 2]


def derive() -> Chain:
    return Chain(Softmax(FIRST, 1)).through(
        (exp(FIRST) / (exp(FIRST) + exp(SECOND)), "the definition for two keys", substitute({n: 2})),
        (1 / (1 + exp(SECOND - FIRST)), "above and below over the first exponential", algebra),
    )


def experiment(derived: Derivation) -> Items:
    def weight(first: int, second: int) -> Expr:
        return derived.end.subs({FIRST: first, SECOND: second})

    for first, second in ((4, 5), (1, 10), (14, 10), (7, 5)):
        name, scores, value = f"softmax-{first}-{second}", (first, second), weight(first, second)
        at, by_code = {"scores": f"{first}, {second}"}, (softmax(np.array(scores, float))[0],)
        near, what = Allowance(1e-15), f"weight of the scores {first} and {second}"
        yield Computed(name, derived.start, float, by_code, value, settings=at, allowance=near)
        yield fact(f"{name}-first", f"first {what}", value)
        yield fact(f"{name}-second", f"second {what}", weight(second, first))
    little, at, lower = Threshold(Rational(1, 50)), {"scores": "0, 4"}, softmax(np.array([0.0, 4.0]))[0]
    yield Computed("gap-of-four", "weight of a score less by 4", float, (lower,), at_most=little, settings=at)
    what = f"distance of the scores times ${latex(1 / sqrt(d))}$ from 7, 5"
    where = {"scores": "14, 10", "d_k": 4}
    printed, scaled = np.array([14.0, 10.0]), np.array([7.0, 5.0])
    yield Computed("scaled-14-10", what, largest_difference, (printed / 2, scaled), equals=0, settings=where)
    says = "the first scaled weight is {value:3} to three digits"
    yield Wrong("as-misprinted", of="softmax-7-5", equals=Rational(880, 1000), says=says)
    yield Wrong("ratio-counts", of="softmax-14-10", equals=weight(7, 5), says="the ratio of scores counts")
    single = in_single_precision(softmax)(np.array([4.0, 5.0]))[0]
    yield Wrong("single", of="softmax-4-5", arguments=(single,), says="single precision is exact")
    says = "a gap of four leaves less than a fifty-sixth"
    yield Wrong("less-than-a-56th", of="gap-of-four", at_most=Threshold(Rational(1, 56)), says=says)
    yield Wrong("over-d", of="scaled-14-10", arguments=(printed / 4, scaled), says="the divisor is {d_k}")


CLAIM = Claim(
    statement="The first of two scores has the weight {main:end}, and the second likewise: "
    "{softmax-4-5-first:4} and {softmax-4-5-second:4} for {softmax-4-5:scores}; {softmax-1-10-first:1} and "
    "{softmax-1-10-second:4} for {softmax-1-10:scores}; {softmax-14-10-first:3} and {softmax-14-10-second:2} "
    "for {softmax-14-10:scores}; {softmax-7-5-first:3} and {softmax-7-5-second:3} for {softmax-7-5:scores}.",
    meaning="A gap of 4 leaves one key less than 1/50 of the weight; halving both scores halves the gap and "
    "gives it more than 6 times as much. One of the printed figures turns out to be wrong.",
)
