"""Components without a second moment have no variance to scale."""

from functools import cache

import numpy as np
from scipy import special
from sympy import E as EULER
from sympy import Integral, Interval, Rational, S, limit, log, oo, pi, sqrt, symbols

from verify.claims.limits.shared import CAUCHY, SINGLE_SCORES
from verify.former import (
    Array, Bounded, Claim, Derivation, DistanceToLaw, Experiment, Fact, Figure, Findings, Ordered, PairShares,
    Quantity, Route, Simulated, Step, cell_of, cite, d, fact, figure, function, gauss, integrated, line,
    of_probability, prediction, scaled, scatter, score_law, threshold, wrong,
)  # fmt: skip
from verify.former.rules import (
    Compared,
    Hypotheses,
    Integrated,
    Primitive,
    Replaced,
    Rising,
    Turned,
    Unfolded,
)

POINTS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
D, FAR = 64, 10.0
LABEL = "largest gap between measured and exact distribution function"
BEYOND = r"$P(q\cdot k/\sqrt{d_k} \le -10)$"
ROOT = 1 / sqrt(d)

x = Ordered("x", "x", positive=True)
u, T = symbols("u T", positive=True)
f = Ordered("f(x)", "f", real=True)
DENSITY = 2 * log(x) / (pi**2 * (x**2 - 1))
"""Of the product of two independent Cauchy numbers, for x > 0; the law is symmetric."""

CAUCHY_DENSITY = 1 / (pi * (1 + u**2))
_BOTH = Integral(2 * CAUCHY_DENSITY * CAUCHY_DENSITY.subs(u, x / u) / u, (u, 0, oo))
"""Over the first factor, which has either sign: both densities, and 1/u for the change of variables."""


def derive() -> Derivation:
    """Derive the law of one product, and that its truncated second moment grows without bound."""
    primitive = log((1 + u**2) / (u**2 + x**2)) / (pi**2 * (x**2 - 1))
    route = Route.of(
        "The product of two Cauchy components",
        f,
        Step(_BOTH, "Over all ways to write x as a product", Unfolded({f: _BOTH})),
        Step(DENSITY, "Partial fractions", Primitive(u, primitive)),
    )
    beyond_e = Hypotheses().restricted(x, Interval(EULER, oo))
    at_least_one = Route.of(
        "From e on", S.One, Step(log(x), "It rises", Rising(x)),
        Step(S.One, "The sides exchanged", Turned()), under=beyond_e,
    )  # fmt: skip
    least = 4 * x**2 / (pi**2 * (x**2 - 1))
    moment = Route.of(
        r"The second moment of a product, cut off at $T$",
        2 * x**2 * DENSITY,
        Step(least, r"From $x = e$ on $\ln x$ is at least 1", Replaced(at_least_one.proved())),
        Step(4 / pi**2, "and $x^2$ over $x^2 - 1$ is more than 1", Compared("≥")),
        Step(Integral(4 / pi**2, (x, EULER, T)), "Integrated from $e$ to $T$",
             Integrated(x, EULER, T)),
        Step(4 / pi**2 * (T - EULER), "The moment grows with $T$, without bound",
             Primitive(x, 4 * x / pi**2)),
        defines="$x^2$ times the density of either sign", under=beyond_e,
    )  # fmt: skip
    return Derivation.of(route, lemmas=(moment,))


@cache
def _upper(point: float) -> float:
    """Return P(qk ≤ point) for positive points by integrating the derived density."""
    density = function((x,), DENSITY, "numpy")
    ends = [0.0, *sorted({end for end in (1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0, point) if end <= point})]
    return 0.5 + float(np.sum(gauss.integrals(density, ends, 1e-14)))


def _transform(t: float | Array) -> Array:
    """Return E cos(t·qk) of one product: E e^(-t·size) over the size of a Cauchy number.

    Source: NIST Digital Library of Mathematical Functions, 6.7.13.
    """
    sine, cosine = special.sici(t)
    return np.asarray(2 / np.pi * (cosine * np.sin(t) + (np.pi / 2 - sine) * np.cos(t)), np.float64)


@cache
def _below(dimension: int, point: float) -> float:
    """Return P(q·k ≤ -point) for a positive point, by inverting the characteristic function.

    Source: J. Gil-Pelaez, Note on the inversion theorem, Biometrika 38 (1951), 481-482.
    """

    def wave(t: Array) -> Array:
        return np.sin(t * point) / t * _transform(t) ** dimension

    # From one zero of the sine to the next, until the characteristic function has died away.
    zeros = np.arange(400) * np.pi / point
    return 0.5 - float(np.sum(gauss.integrals(wave, zeros, 1e-14))) / np.pi


def _law(stretch: float = 1.0) -> tuple[float, ...]:
    """Return the distribution function of a product, ``stretch`` times as large, at the grid's points."""
    upper = np.array([_upper(point / stretch) for point in POINTS])
    return tuple(np.concatenate([1 - upper[::-1], upper]).tolist())


def experiment(tolerance: float) -> Experiment:
    """Measure the law of one product, and how many scaled scores lie far out; no variance is estimated."""
    grid = (*(-point for point in POINTS[::-1]), *POINTS)
    cell = cell_of("cauchy-d1", Simulated(CAUCHY, CAUCHY, 64, 64, 1), PairShares(grid))
    distance = DistanceToLaw(_law())
    law = Quantity("law-of-a-product", LABEL, cell, distance, prediction(S.Zero), of_probability(0.5))
    below = PairShares((-FAR / scaled(ROOT, D),))
    cell = cell_of("cauchy-d64", Simulated(CAUCHY, CAUCHY, 1, 1, D), below, scale=ROOT)
    share, unscaled = (integrated(_below(D, point), 5) for point in (FAR * D**0.5, FAR))
    wide = of_probability(because=SINGLE_SCORES)
    far = Quantity("far-out-after-scaling", BEYOND, cell, Bounded("share-0"), share, wide)
    lower = [1 - score_law.below(1, point) for point in POINTS[::-1]]
    normal = DistanceToLaw((*lower, *(score_law.below(1, point) for point in POINTS)))
    stretch = 1 + 10 * tolerance
    return Experiment((law, far), (
        wrong(law, "as-if-normal", "a product of Cauchy components has the law of a product of normal ones",
              estimand=normal),
        wrong(law, "stretched", f"products of Cauchy components are {stretch - 1:.0%} larger",
              estimand=DistanceToLaw(_law(stretch))),
        wrong(far, "as-without-scaling",
              "division by the root brings no score back: as many lie below minus ten without", unscaled),
        wrong(far, "ordinary-after-scaling",
              "dividing by the root brings scores back to ordinary size: under one per cent lie that far",
              threshold(Rational(1, 100)), relation="≤"),
    ))  # fmt: skip


def facts() -> Fact:
    """Return the density's value where query and key components multiply to 1."""
    what = "density of the product of two Cauchy components at 1"
    return fact("density-at-one", what, limit(DENSITY, x, 1))


def figures(findings: Findings) -> Figure:
    """Draw how many products lie beyond a size, for Cauchy and for normal components."""
    shares = findings.samples["cauchy-d1"].mean[: len(POINTS)][::-1]
    return figure(
        "tails",
        "Cauchy components: large products are so frequent that no variance exists",
        "The share of products beyond a size, on logarithmic axes: for Cauchy components it falls "
        "hardly faster than one over the size, for normal ones it drops off a cliff beyond ten.",
        "share beyond",
        line("Cauchy", lambda point: 2 * (1 - _upper(point)), at=POINTS),
        line("normal", lambda point: 2 * score_law.below(1, -point), "other", at=POINTS[:6]),
        scatter("measured", POINTS, 2 * shares),
        x="size of a product",
    )


CLAIM = Claim(
    title="Components without a second moment have no variance to scale",
    statement="The product of two independent standard Cauchy components has the density {theorem:result} at "
    "a positive {x} and the same at its negative. Its second moment is infinite: no scale gives it unit "
    "variance.",
    meaning="The theory of scaling is a theory of second moments. Where they do not exist, an estimate of "
    "the variance grows with the sample and never settles, so none is made here: what can be known "
    "are shares and quantiles. At {far-out-after-scaling:d_k} dimensions "
    "{far-out-after-scaling:prediction.2%} of such scores lie below minus ten after division by "
    "{root_d}, and as many above ten, which is computed numerically and measured. In between, "
    "Student’s t with three degrees of freedom has a variance, but no fourth moment, and therefore no "
    "standard error for its estimate; this tool leaves such a check undecided.",
    symbols={"x": x},
    references=cite(
        "springer1979",
        "M. D. Springer, The Algebra of Random Variables, Wiley, 1979: products of Cauchy variables.",
    ),
)
