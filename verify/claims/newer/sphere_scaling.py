"""For keys on a sphere, scores that grow like the logarithm of the length are not enough."""

import math

import numpy as np
import scipy

from verify.spec import NORMAL_COMPONENTS, Chain, Chains, Check, Claim, Derivation, Dot, E, Eq, Family, Float
from verify.spec import Integral, Items, Largest, Plot, Rational, S, Softmax, Within, Wrong, a, algebra
from verify.spec import at_most, cite, cited, d, earlier, erf, exp, fact, integral, j, k, l, m, n, normal
from verify.spec import over_keys, q, score, sqrt, symbols
from verify.spec.arrays import Array

beta, v, w = symbols("beta v w", positive=True)
KEYS, FACTOR = (64, 512, 4096), 20
OTHERS = {2: Rational(1, 8), 5: S.One}  # dimensions but three, and the scale over n^(2/(d - 1)) there
z = Family("z", m, n)
LAWS = {**NORMAL_COMPONENTS, z: normal()}
LARGEST = E(Largest(Softmax(beta * score / sqrt(Dot(q, a, q, a) * Dot(k, j, k, j)), j), j))
# Uniform between 0 and 1: the distribution function of a normal number, at that number.
UNIFORM = (1 + erf(z[a, j] / sqrt(2))) / 2
# Nodes and weights from 0 to 1: over the largest weight, and over the other keys of a row.
(TOP, TOP_WEIGHTS), (BEYOND, BEYOND_WEIGHTS) = (
    ((1 + nodes) / 2, weights / 2) for nodes, weights in map(np.polynomial.legendre.leggauss, (24, 64))
)
SPHERE_LOG = np.linspace(-16.0, 4.0, 161)


def derive() -> Chains:
    below, falls = Integral(exp(-2 * beta * (v - w)), (w, 0, v)) / v, exp(-2 * beta * v)
    defines = "the mean of another key’s exponential over that of the largest"
    other = Chain(below, name="other", title="One other key, uniform below $v$", defines=defines).through(
        ((1 - falls) / (2 * beta * v), "integrated", integral()),
        (1 / (2 * beta * v), "without the exponential", at_most(falls / (2 * beta * v)), "≤"),
    )
    yield other
    scores, largest = 2 * beta * UNIFORM, E(Largest(Softmax(2 * beta * UNIFORM, j), j))
    total = over_keys(exp(scores.xreplace({j: l}) - Largest(scores, j)), l)
    uniform, maximum = (cited(theorem, laws=LAWS) for theorem in ("uniform cosine", "below a maximum"))
    rest = "the term of the largest, of density $nv^{n-1}$, is 1, and others are uniform below it"
    bound = Integral(n * (n - 1) * v ** (n - 2) / (2 * beta), (v, 0, 1))
    yield Chain(LARGEST, title="The largest weight", given=(Eq(d, 3, evaluate=False), n >= 2)).through(
        (largest, "cosines are twice a uniform number less 1, which shifts all scores alike", uniform),
        (E(1 / total), "the largest weight is that of the largest score", algebra),
        (1 / E(total), "convex in the total", cited("jensen"), "≥"),
        (1 / (1 + Integral(n * v ** (n - 1) * (n - 1) * below, (v, 0, 1))), rest, maximum),
        (1 / (1 + bound), "the bound of one other key", earlier(other, given=(n >= 2,)), "≥"),
        (1 / (1 + n / (2 * beta)), "integrated", integral(given=(n >= 2,))),
    )


def mean_of_largest(keys: int, size: int, factor: float) -> float:
    """Return the mean of the largest weight of keys in so many dimensions, integrated."""

    def cosines(share: Array) -> Array:
        """Return the cosine that this share of the sphere exceeds."""
        cap = scipy.special.betaincinv((size - 1) / 2, 0.5, 2 * np.minimum(share, 1 - share))
        return np.where(share < 0.5, 1, -1) * np.sqrt(1 - cap)

    # The others' exponentials over its own sum to T, and E 1/(1 + T) is ∫ e^(-t) E e^(-tT) dt.
    nearest = 1 - TOP ** (1 / keys)
    # The fourth powers of these nodes are close together at 0, where the nearest of many keys are.
    others = nearest[:, None] + (1 - nearest[:, None]) * BEYOND**4
    terms = np.exp(factor * (cosines(others) - cosines(nearest)[:, None]))
    at = np.exp(SPHERE_LOG)
    of_key = np.exp(-at[:, None, None] * terms) @ (BEYOND_WEIGHTS * 4 * BEYOND**3)
    inner = np.trapezoid((at * np.exp(-at))[:, None] * of_key ** (keys - 1), SPHERE_LOG, axis=0)
    return float(TOP_WEIGHTS @ inner)


def growth_of_scale(size: int, few: int = 64, many: int = 4096) -> float:
    """Return the power of the number of keys with which the scale grows that keeps the mean at 1/2."""

    def above(log: float, keys: int) -> float:
        return mean_of_largest(keys, size, math.exp(log)) - 0.5

    least, most = (scipy.optimize.brentq(above, 0.0, 20.0, (keys,), xtol=1e-4) for keys in (few, many))
    return (most - least) / math.log(many / few)


def experiment(derived: Derivation) -> Items:
    for keys in KEYS:
        at, exact = {n: keys, d: 3, beta: FACTOR}, mean_of_largest(keys, 3, FACTOR)
        yield Check(f"value-d3-n{keys}", derived, at, equals=exact, control=keys == KEYS[-1])
        yield Check(f"bound-d3-n{keys}", derived, at, tolerance=Within(0.25, fixed=True))
    for size, first in OTHERS.items():
        for keys in (64, 1024):
            scale = float(first * S(keys) ** Rational(2, size - 1))
            growing, exact = {n: keys, d: size, beta: scale}, mean_of_largest(keys, size, scale)
            yield Check(f"kept-d{size}-n{keys}", LARGEST, growing, equals=exact)
    # The scale at 1024 keys, 16 times as many, had it grown by the power 1.9 in place of 2.
    smaller, slower = Rational(202, 100), mean_of_largest(1024, 2, float(OTHERS[2] * 64**2) * 16**1.9)
    yield Wrong("smaller-sum", of="bound-d3-n4096", at_least=1 / (1 + n / (smaller * beta)))
    yield Wrong("smaller-power", of="kept-d2-n1024", equals=slower, says="a power less by 5% is enough")
    yield Wrong("one-half", of="kept-d5-n1024", equals=S.Half, says="half is kept in five dimensions, too")
    for size in (2, 3, 4, 5, 9, 17):
        what = f"power of the number of keys that the scale grows with, 64 to 4096 keys, in {size} dimensions"
        yield fact(f"power-d{size}", what, Float(growth_of_scale(size), 6))
    title = "At a fixed scale the nearest key on a sphere loses its weight as keys are added"
    yield Plot("sphere", "bound-d3-n*", n, title, curves={"bound": derived.end.subs(beta, FACTOR)})


CLAIM = Claim(
    statement="Let {n} keys be uniform on the sphere in three dimensions, and let scores be {beta} times "
    "their cosines with one query. The mean of the largest weight is at least {main:end}.",
    meaning="The more keys lie on the sphere, the closer the nearest are to a query and to each other. To "
    "tell them apart in three dimensions, a scale that grows like the number of keys is enough; computed "
    "values show that one like its logarithm is far too small. The bound is close: at {bound-d3-n4096:beta=} "
    "and {bound-d3-n4096:n} keys the weight is measured as {bound-d3-n4096:estimate.3}, against "
    "{bound-d3-n4096:prediction.4}. In {d} dimensions the scale has to grow like the power {power} of {n}: "
    "that at which the largest weight is one half grows, from {bound-d3-n64:n} to {bound-d3-n4096:n} keys, "
    "like the power {power-d2:3} in two dimensions, {power-d3:3} in three, {power-d4:3} in four and "
    "{power-d5:3} in five. In nine dimensions it is still {power-d9:3}, in seventeen {power-d17:3}: these "
    "lengths are too short for the power to show.",
    symbols={"power": 2 / (d - 1)},
    references=cite("chen2025"),
)
