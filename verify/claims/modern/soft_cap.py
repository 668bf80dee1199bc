"""A soft cap bounds scores and costs hardly any variance while they are small beside it."""

from functools import partial

import numpy as np

from verify.spec import NORMAL_COMPONENTS, Abs, Chain, Chains, Check, Claim, Derivation, Derivative, E, Expr
from verify.spec import Integral, Items, Line, Plot, Rational, Symbol, Within, Wrong, at_most, cite, d
from verify.spec import derivative, earlier, lambdify, leading, moments, numerically, score, sqrt, symbols
from verify.spec import tanh
from verify.spec.lemmas import lengths

# Dimension of the scaled scores, and caps, the last about as large as those in use.
D, CAPS = 16, (1, 2, 4, 32)
(c, u), x = symbols("c u", positive=True), Symbol("s", real=True)
SCALED, CAPPED = score / sqrt(d), c * tanh(x / c)
# The cap's reduction of a square; and how far a difference for a slope reaches either way.
LOST, STEP = x**2 - CAPPED**2, Rational(1, 100)


def derive() -> Chains:
    first, second, normal = 2 * x**4 / (3 * c**2), -17 * x**6 / (45 * c**4), moments(NORMAL_COMPONENTS)
    # Integrated by parts, this is 2v⁴/3 - v² + tanh²v for v = |s|/c, with no term that can be negative.
    rest, t = Abs(x) / c - u, tanh(u)
    fourth = Rational(8, 3) * rest**3 * t**2 + 8 * rest**2 * t**3 + 6 * rest * t**4
    less = c**2 * Integral(fourth, (u, 0, Abs(x) / c))
    taken = Chain(LOST, name="taken", title="What a cap takes of a square").through(
        (first - less, "by the derivatives up to the fourth", numerically()),
        (first, "what is integrated is nowhere negative", at_most(less), "≤"),
    )
    bound = Chain(E(LOST.subs(x, SCALED))).through(
        (E(first.subs(x, SCALED)), "of every scaled score", earlier(taken, at={x: SCALED}), "≤"),
        ((2 + 4 / d) / c**2, "its fourth moment", normal),
    )
    yield from (taken, bound)
    large = Line(first, "the first term of the series in $1/c$", leading(c), "~")
    yield Chain(LOST, large, name="first", title="For a large cap")
    beyond = Line(second, "the second term", leading(c), "~")
    yield Chain(LOST - first, beyond, name="second", title="Beyond the first term")
    sixth = Rational(17, 3) * (1 + 2 / d) * (1 + 4 / d)
    of_scores = Line(bound.end - sixth / c**4, "fourth and sixth moment", normal)
    both, title = E((first + second).subs(x, SCALED)), "Both terms, of scaled scores"
    yield Chain(both, of_scores, name="two-terms", title=title)
    damps = Line(1 - CAPPED**2 / c**2, "tanh' = 1 − tanh²", derivative())
    yield Chain(Derivative(CAPPED, x), damps, name="slope", title="The cap’s slope")


def integrated(of_score: Expr, cap: float) -> float:
    """Return the mean of a function of a scaled score under that cap, integrated over the exact law."""
    length, probability = lengths(D)
    nodes = np.linspace(-9.5, 9.5, 381)
    density = np.exp(-(nodes**2) / 2)
    values = lambdify(x, of_score.subs(c, cap))(np.outer(length, nodes) / D**0.5)
    return float(probability @ values @ density / density.sum())


def experiment(derived: Derivation) -> Items:
    slope = E((CAPPED.subs(x, SCALED + STEP) - CAPPED.subs(x, SCALED - STEP)) / (2 * STEP))
    for cap in CAPS:
        at, lost, less = {d: D, c: cap}, integrated(LOST, cap), 0.98 if cap == CAPS[-1] else 0
        yield Check(f"lost-c{cap}", derived, at, equals=lost, tolerance=Within(2), control=cap == 1)
        yield Check(f"bound-c{cap}", derived, at, tolerance=Within(0.5, fixed=True), sharper=less)
        yield Check(f"slope-c{cap}", slope, at, equals=integrated(derived["slope"].end, cap))
    says, both = "two terms suffice at a cap of one deviation", derived["two-terms"].end
    yield Wrong("first-terms-suffice", of="lost-c1", equals=both, says=says)
    yield Wrong("bound-as-value", of="lost-c2", equals=derived.end, says="the bound is what a cap takes")
    yield Wrong("slope-kept", of="slope-c1", equals=1, says="the cap leaves gradients as they are")
    curves, bounds = {"integrated": partial(integrated, LOST)}, {"bound": derived.end.subs(d, D)}
    yield Plot("lost", "lost-c*", c, curves=curves, bounds=bounds, x="cap {c}", y="variance lost")


CLAIM = Claim(
    statement="Capped scores {CAPPED} stay within {c} of zero. Whatever the law of {x}, the cap takes at "
    "most {most} of their mean square: of scaled scores of normal components {main:end}, and nearly as much "
    "where {c} is large. It multiplies the gradient of each score by {slope:end}.",
    meaning="A cap of {lost-c32:c}, as in practice, takes {lost-c32:prediction.1%} of the variance of scaled "
    "scores in {lost-c32:d_k} dimensions: at the start of training it has little effect. It acts when scores "
    "grow, bounding the softmax’s input and damping the gradient of just those scores. A cap of {lost-c4:c} "
    "takes {lost-c4:prediction.2%}, one of {lost-c2:c} takes {lost-c2:prediction.2%}. The series in the "
    "inverse cap fails for small caps: at one standard deviation its first two terms are far off.",
    headline="lost-c32",
    symbols={"most": E(2 * x**4 / (3 * c**2))},
    references=cite("gemma2024"),
)
