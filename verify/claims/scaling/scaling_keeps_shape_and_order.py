"""Scaling changes the spacing of the scores and nothing else."""

from collections.abc import Callable

import numpy as np
from sympy import Abs, Integral, Symbol, erfc, exp, gamma, log, oo, sign, sqrt

from verify.spec import NORMAL, NORMAL_COMPONENTS, ROUNDING, Chain, Check, Claim, Computed, Derivation, Dot
from verify.spec import E, Indicator, Items, Line, Softmax, Wrong, a, algebra, assume, cited, d, j, l
from verify.spec import of_probability, q, s, score
from verify.spec.arrays import Array, softmax, stream

SIZES = (2, 5, 64, MOST := 512)
"""Numbers of keys in the matrices whose rows are compared."""

D = 64
FACTORS = (D**-0.5, D**-0.25, 1 / D, 0.3, 7.0)
"""Factors under which ranks are compared; by 1/8 alone the arithmetic of the test would be exact."""

c, w = Symbol("c", positive=True), Symbol("w", positive=True)
first, second = s[a, j], s[a, l]


def derive() -> tuple[Chain, ...]:
    """Derive that order is kept, that softmax feels the spacing alone, and how many scores are not small."""
    order = Chain(
        sign(c * first - c * second),
        Line(sign(first - second), "a positive factor leaves the sign of the difference", algebra),
    )
    odds = Chain(
        log(Softmax(first, j) / Softmax(second, l)),
        Line(first - second, "the common denominator cancels: only the difference counts", algebra),
        name="odds",
        title="What the softmax makes of two scores",
        defines="the logarithm of the ratio of two weights",
    )
    scaled = Chain(
        log(Softmax(c * first, j) / Softmax(c * second, l)),
        Line(c * (first - second), "the differences are multiplied by the factor", algebra),
        name="scaled-odds",
        title="What it makes of two scaled scores",
        defines="the same of the weights of scaled scores",
    )
    density = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
    beyond = Chain(
        E(Indicator(Abs(score) - sqrt(d))),
        Line(
            E(erfc(sqrt(d / (2 * Dot(q, a, q, a))))),
            "given the query, the score is normal with variance its squared length",
            cited("normal combination", laws=NORMAL_COMPONENTS),
        ),
        Line(
            Integral(erfc(sqrt(d / (2 * w))) * density, (w, 0, oo)),
            "the squared length of the query is chi-square",
            cited("chi-square", laws=NORMAL_COMPONENTS),
        ),
        name="beyond",
        title="The share of scaled scores beyond 1",
    )
    return order, odds, scaled, beyond


def _keys(number: int) -> Array:
    """Return a number of keys, always the same ones."""
    return NORMAL.draw(stream(0, "scaling-keeps-shape-and-order", f"keys-{number}", 0), (number, D))


def _scores(keys: int) -> Array:
    """Return the scores of 64 queries and a number of keys."""
    queries = NORMAL.draw(stream(0, "scaling-keeps-shape-and-order", "queries", 0), (64, D))
    return queries @ _keys(keys).T


def _reordered(scores: Array, *factors: float | Array) -> int:
    """Return how many rows rank their keys otherwise after scaling by any of the factors."""
    ranks = np.argsort(scores, axis=1, kind="stable")
    scaled = (np.argsort(scores * factor, axis=1, kind="stable") for factor in factors)
    moved = np.stack([np.any(order != ranks, axis=1) for order in scaled])
    return int(moved.any(axis=0).sum())


def _entries(scale: Callable[[Array], Array]) -> int:
    """Return how many scores there are after scaling those of 64 queries and the most keys."""
    return int(scale(_scores(MOST)).size)


def _change(altered: Callable[[Array], Array]) -> float:
    """Return by how much the weights of a row change in all, on average, if its scores are altered."""
    scores = _scores(MOST)
    return float(np.abs(softmax(scores) - softmax(altered(scores))).sum(axis=1).mean())


def experiment(derived: Derivation) -> Items:
    """Compare ranks, shapes and weights of matrices, and measure how many scaled scores are not small."""
    what, factors = "rows whose keys change their order", f"each of {len(FACTORS)}"
    for keys in SIZES:
        given = (_scores(keys), *FACTORS)
        where: dict[str, int | str] = {"keys": keys, "rows": 64, "factor": factors}
        yield Computed(f"order-n{keys}", what, _reordered, given, equals=0, settings=where)
    at = {"keys": MOST, "rows": 64}
    what, divided = "entries of the scaled score matrix", (lambda scores: scores / D**0.5,)
    yield Computed("shape", what, _entries, divided, equals=64 * MOST, settings=at)
    what, raised = "mean change of a row's weights, in all", (lambda scores: scores + 1,)
    yield Computed("raised", what, _change, raised, equals=0, settings=at, allowance=ROUNDING)
    share, within = derived["beyond"], of_probability(0.5)
    yield Check("scores-beyond-one", share.start, {d: D}, equals=share.end, tolerance=within)

    by_length = 1 / np.linalg.norm(_keys(MOST), axis=1)
    says = "a factor of its own for each key, as in cosine similarity, keeps the order as well"
    yield Wrong("own-factor", of=f"order-n{MOST}", computed=_reordered(_scores(MOST), by_length), says=says)
    says = "a matrix product with a factor for each key keeps the shape as well"
    yield Wrong("matrix-product", of="shape", computed=_entries(lambda scores: scores @ by_length), says=says)
    says = "as the order stays, so do the softmax weights"
    yield Wrong("weights-stay", of="raised", computed=_change(*divided), says=says)
    says = "scaling makes all scores small: none is larger than 1 in size"
    yield Wrong("all-small", share.start, {d: D}, equals=0, tolerance=within, says=says)


CLAIM = Claim(
    title="Scaling keeps shape and order and changes only the spacing",
    statement="For any positive factor {c}, {main}: the score matrix keeps its shape, every row its ranking, "
    "and so the place of its largest entry. The differences are multiplied by {c}, and these are all that "
    "the softmax sees: {odds}.",
    meaning="Scaling never decides which key wins, only by how much. Nor does it make all scores small: at "
    "{scores-beyond-one:d_k} dimensions of normal components {scores-beyond-one:prediction.2%} of the scaled "
    "scores are still larger than 1 in size. Its purpose is one spread in every dimension.",
    assumptions=assume(normal_share="For the share of scores beyond 1: components are standard normal."),
    symbols={"c": c},
)
