"""Normalised queries and keys need the root of the dimension as a factor, not as a divisor."""

import numpy as np

from verify.spec import NORMAL_COMPONENTS, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation, Dot, E
from verify.spec import Gt, Integral, Items, Line, S, Sum, Symbol, Var, Wrong, a, at_most, by_density, cite, d
from verify.spec import e, earlier, exp, gamma, i, integral, j, k, oo, pi, q, score, sqrt
from verify.spec.arrays import fixed_normals
from verify.spec.lemmas import CHI_SQUARE, of_normals, w

LENGTHS = Dot(q, a, q, a) * Dot(k, j, k, j)
COSINE = score / sqrt(LENGTHS)  # the score of a query and a key over both lengths
h = Symbol("h", positive=True, integer=True)
ROTATION = of_normals("rotation")


def derive() -> Chains:
    x, along, length = Symbol("x", real=True), q[a, 1], Dot(q, a, q, a)
    powers = Integral(x ** (2 * h) * exp(-(x**2) / 2) / sqrt(2 * pi), (x, -oo, oo))
    of_entry = Chain(E(along ** (2 * h)), name="entry", title="One component").through(
        (powers, "the normal density", by_density({along: x}, NORMAL_COMPONENTS)),
        (2**h * gamma(h + S.Half) / sqrt(pi), "integrated", integral()),
    )
    of_length = Chain(E(length**h), name="length", title="The squared length").through(
        (Integral(w**h * CHI_SQUARE, (w, 0, oo)), "it is chi-square", of_normals("chi-square")),
        (2**h * gamma(h + d / 2) / gamma(d / 2), "integrated", integral()),
    )
    apart = of_normals("independence")
    beta = gamma(h + S.Half) * gamma(d / 2) / (sqrt(pi) * gamma(h + d / 2))
    all_moments = Chain(E(COSINE ** (2 * h)), title="Even moments; odd ones are 0, by symmetry").through(
        (E((along**2 / length) ** h), "in a basis with the key’s direction first", ROTATION),
        (of_entry.start / of_length.start, "direction and length are independent", apart),
        (of_entry.end / of_length.start, "the moments of a component", earlier(of_entry)),
        (beta, "over those of a length: of a Beta(½, (d − 1)/2) number", earlier(of_length)),
    )
    yield from (of_entry, of_length, all_moments)
    first, second = (earlier(all_moments, at={h: half}) for half in (1, 2))
    mirrored = "its mean is 0: $-q$ is $q$ in another basis"
    variance = Chain(Var(COSINE), name="variance", title="The variance").through(
        (E(COSINE**2), mirrored, ROTATION),
        (1 / d, "the moment at $h = 1$", first),
    )
    at_root = Chain(Var(sqrt(d) * COSINE), name="at-root", title="Times the root of the dimension").through(
        (E(d * COSINE**2), mirrored, ROTATION),
        (1, "the moment at $h = 1$", first),
    )
    yield from (variance, at_root)
    yield Chain(E(COSINE**4) / Var(COSINE) ** 2, name="kurtosis", title="The kurtosis").through(
        (3 / (d * (d + 2)) / Var(COSINE) ** 2, "the moment at $h = 2$", second),
        (3 * d / (d + 2), "the variance", earlier(variance)),
    )
    crossed = Sum((q[a, i] * k[j, e] - q[a, e] * k[j, i]) ** 2, (i, 1, d), (e, 1, d)) / 2
    lagrange = at_most(d * crossed / LENGTHS, given=(Gt(Dot(q, a, q, a), 0), Gt(Dot(k, j, k, j), 0)))
    squares = Line(d, "by Lagrange’s identity, whose squares are nowhere negative", lagrange, "≤")
    yield Chain(d * COSINE**2, squares, name="bound", title="Times the root of the dimension, squared")


def experiment(derived: Derivation) -> Items:
    cosine, scaled, kurtosis = (derived[name] for name in ("variance", "at-root", "kurtosis"))
    controls = {"cosine-variance-d8": "biased-prediction", "scaled-variance-d64": "biased-scaled"}
    for name, chain in (("cosine", cosine), ("scaled", scaled)):
        for check, size in ((f"{name}-variance-d{size}", size) for size in (2, 8, 64, 512)):
            yield Check(check, chain, {d: size}, control=controls.get(check, ""))
    yield Check("kurtosis-d8", kurtosis, {d: 8})
    what = r"largest $|\sqrt{d_k}\,\hat q\cdot\hat k|$ of a query with keys, among them a multiple of itself"
    keys = fixed_normals(64, 64) * np.geomspace(1e-3, 1e3, 64)[:, None]
    query, norm = 7 * keys[0], np.linalg.norm
    scores = np.abs(8 * (keys @ query / (norm(keys, axis=1) * norm(query))))
    largest = Computed.sharing(settings={"d_k": 64, "keys": 64}, allowance=ROUNDING)
    yield largest("bound", what, np.max, (scores,), equals=8, off={"never-reached": 0.99})
    says = "dividing by {root_d} leaves the variance of cosines as it is"
    yield Wrong("usual-scale", Var(COSINE / sqrt(d)), {d: 64}, equals=1 / d, says=says)
    yield Wrong("normal", of="kurtosis-d8", equals=3, says="a cosine has the kurtosis of a normal law")


CLAIM = Claim(
    headline="scaled-variance-d64",
    statement="For independent standard normal components the score of the query and the key over their "
    "lengths, {COSINE}, has mean zero, variance {variance:end} and kurtosis {kurtosis:end}; in "
    "more than one dimension its square has a Beta law. So {root_d} times it has unit variance, and never "
    "exceeds {root_d}.",
    meaning="A normalised score is a cosine, which gets smaller as dimensions are added, not larger. "
    "Dividing it by {root_d} leaves a variance of {left}, and attention that cannot choose. Models multiply "
    "by a learnt factor instead, or normalise to length {root_d} and keep the divisor, which amounts to the "
    "same, or nearly so if the mean is also subtracted; a gain on both vectors multiplies scores and their "
    "bound by its square.",
    symbols={"left": d ** (-2)},
    references=cite("henry2020", "dehghani2023"),
)
