"""Components without a second moment have no variance to scale."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy
from sympy import E as EULER, atan

from verify.spec import CAUCHY, Chain, Chains, Check, Claim, Derivative, E, Indicator, Integral, Items
from verify.spec import LargestGap, Law, Rational, S, Symbol, Threshold, Wrong, a, at_least, by_density, cite
from verify.spec import d, derivative, earlier, integral, j, k, lambdify, log, of_probability, oo, pi, q
from verify.spec import score, sqrt
from verify.spec.lemmas import below as below_of_normals

POINTS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
b, w, y = (Symbol(name, real=True) for name in "bwy")
L, u, x = (Symbol(name, positive=True) for name in "Lux")
# Of the product of two independent Cauchy numbers, for x > 0; the law is symmetric.
DENSITY = 2 * log(x) / (pi**2 * (x**2 - 1))
BELOW = E(Indicator(y - q[a, 1] * k[j, 1]))  # the probability that such a product is below y


def density(of: Any) -> Any:
    """Return the density of a standard Cauchy number."""
    return 1 / (pi * (1 + of**2))


# The number below which a share lies: the law is Student’s t with one degree of freedom.
QUANTILE = partial(scipy.special.stdtrit, 1)
LAWS = dict.fromkeys((q, k), Law("standard Cauchy components", (S.One,), True, density, QUANTILE))


def derive() -> Chains:
    of_key = Chain(Integral(density(w), (w, -oo, b)), name="of-key", title="The share of a key below $b$")
    of_key = of_key.then(S.Half + atan(b) / pi, "integrated", integral())
    sizes, over_key = (u, 0, oo), earlier(of_key, at={b: y / u})
    inner, densities = of_key.start.subs(b, y / u), by_density({k[j, 1]: w, q[a, 1]: u}, LAWS)
    distribution = Chain(BELOW, name="distribution", title="The product of two Cauchy components").through(
        (Integral(2 * density(u) * inner, sizes), "given the size of the query’s component", densities),
        (Integral(2 * density(u) * of_key.end.subs(b, y / u), sizes), "over the key", over_key),
    )
    yield from (of_key, distribution)
    yield Chain(Derivative(BELOW.subs(y, x), x), title="Its density").through(
        (Derivative(distribution.end.subs(y, x), x), "of its distribution", earlier(distribution, at={y: x})),
        (Integral(2 * u / (pi**2 * (1 + u**2) * (u**2 + x**2)), sizes), "differentiated", derivative()),
        (DENSITY, "partial fractions", integral(log((1 + u**2) / (u**2 + x**2)) / (pi**2 * (x**2 - 1)))),
    )
    moment, bound = (Integral(part, (x, EULER, L)) for part in (2 * x**2 * DENSITY, 4 * log(x) / pi**2))
    more = Integral(4 * log(x) / (pi**2 * (x**2 - 1)), (x, EULER, L))
    title, given = "The second moment of a product, over sizes from $e$ to $L$", (L >= EULER,)
    yield Chain(moment, name="moment", title=title, given=given).through(
        (bound, "$x^2$ is more than $x^2 - 1$", at_least(more, given=given), "≥"),
        (4 * L * (log(L) - 1) / pi**2, "it grows with L, without bound", integral()),
    )


@cache
def above_zero(point: float) -> float:
    """Return P(0 < qk ≤ point) by integrating the derived density, which is singular at 0 and 0/0 at 1."""
    at, breaks = lambdify(x, DENSITY, "numpy"), [end for end in (1.0, 10.0, 100.0) if end < point]
    return float(scipy.integrate.quad(at, 0.0, point, points=breaks, epsabs=1e-14, limit=200)[0])


@cache
def below(point: float) -> float:
    """Return P(q·k ≤ -point) in 64 dimensions, by inverting the characteristic function."""
    # Source: J. Gil-Pelaez, Note on the inversion theorem, Biometrika 38 (1951), 481-482.

    def wave(t: float) -> float:
        # E cos(t·qk) of one product is E e^(-t·size) over the size of a Cauchy number: NIST DLMF 6.7.13.
        sine, cosine = scipy.special.sici(t)
        of_product = 2 / np.pi * (cosine * np.sin(t) + (np.pi / 2 - sine) * np.cos(t))
        return float(np.sin(t * point) / t * of_product**64)

    # Beyond 2 the characteristic function has died away.
    return float(0.5 - scipy.integrate.quad(wave, 0.0, 2.0, epsabs=1e-14, limit=400)[0] / np.pi)


def experiment(tolerance: float) -> Items:
    def gap(upper: Callable[[float], float]) -> LargestGap:
        above = [0.5 + upper(point) for point in POINTS]
        places = (*(-point for point in POINTS[::-1]), *POINTS)
        return LargestGap(BELOW, y, places, (*(1 - share for share in above[::-1]), *above))

    laws, near, stretch = {q: CAUCHY, k: CAUCHY}, of_probability(0.5), 1 + 10 * tolerance
    yield Check("law-of-a-product", gap(above_zero), {d: 1}, equals=0, laws=laws, tolerance=near)
    far, share = E(Indicator(-10 - score / sqrt(d))), below(10 * 64**0.5)
    wide = of_probability(because="a sharper share of scores so far out takes many more draws")
    yield Check("far-out-after-scaling", far, {d: 64}, equals=share, laws=laws, tolerance=wide)
    law = Wrong.sharing(at={d: 1}, equals=0, laws=laws, tolerance=near)
    says = "a product of Cauchy components has the law of a product of normal ones"
    yield law("as-if-normal", gap(lambda point: 0.5 - below_of_normals(1, -point)), says=says)
    says = f"products of Cauchy components are {stretch - 1:.0%} larger"
    yield law("stretched", gap(lambda point: above_zero(point / stretch)), says=says)
    says = "dividing by the root brings scores back to ordinary size: under one per cent lie that far"
    few = Threshold(Rational(1, 100))
    yield Wrong("ordinary-after-scaling", of="far-out-after-scaling", at_most=few, says=says)
    says = "division by the root brings no score back: as many lie below minus ten without"
    yield Wrong("as-without-scaling", of="far-out-after-scaling", equals=below(10.0), says=says)


CLAIM = Claim(
    statement="The product of two independent standard Cauchy components has the density {main:end} at a "
    "positive {x} and the same at its negative. Its second moment is infinite: no scale gives it unit "
    "variance.",
    meaning="Where second moments do not exist, an estimate of the variance grows with the sample and never "
    "settles, so none is made here: what can be known are shares and quantiles. At "
    "{far-out-after-scaling:d_k} dimensions {far-out-after-scaling:prediction.2%} of such scores lie below "
    "minus ten after division by {root_d}, and as many above ten, which is computed numerically and "
    "measured. In between, Student’s t with three degrees of freedom has a variance, but no fourth moment, "
    "and therefore no standard error for its estimate; this tool leaves such a check undecided.",
    references=cite("springer1979"),
    headline="far-out-after-scaling",
)
