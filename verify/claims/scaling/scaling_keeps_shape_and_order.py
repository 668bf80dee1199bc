"""Scaling keeps shape and order and changes only the spacing."""

import numpy as np
from sympy import sign

from verify.spec import NORMAL, ROUNDING, Abs, Chain, Chains, Check, Claim, Computed, Derivation, Dot, E
from verify.spec import Indicator, Integral, Items, Softmax, Symbol, Wrong, a, algebra, assume, d, erfc, j, l
from verify.spec import log, of_probability, oo, q, s, score, sqrt
from verify.spec.arrays import Array, softmax, stream
from verify.spec.lemmas import CHI_SQUARE, of_normals, w

D, MOST = 64, 512
FACTORS = (D**-0.5, D**-0.25, 1 / D, 0.3, 7.0)  # by 1/8 alone the arithmetic of the test would be exact
c, first, second = Symbol("c", positive=True), s[a, j], s[a, l]


def derive() -> Chains:
    leaves = "a positive factor leaves the sign of the difference"
    yield Chain(sign(c * first - c * second)).then(sign(first - second), leaves, algebra)
    ratio = log(Softmax(first, j) / Softmax(second, l))
    odds = Chain(ratio, name="odds", title="The logarithm of the ratio of two weights")
    yield odds.then(first - second, "the denominator cancels: only the difference counts", algebra)
    given_query = E(erfc(sqrt(d / (2 * Dot(q, a, q, a)))))
    lengths = Integral(erfc(sqrt(d / (2 * w))) * CHI_SQUARE, (w, 0, oo))
    yield Chain(E(Indicator(Abs(score) - sqrt(d))), name="beyond", title="Scaled scores beyond 1").through(
        (given_query, "given the query, the score is normal", of_normals("normal combination")),
        (lengths, "the squared length of the query is chi-square", of_normals("chi-square")),
    )


def scores(keys: int = MOST) -> Array:
    """Return the scores of 64 queries and a number of keys, always the same scores."""
    return drawn("queries", 64) @ drawn(f"keys-{keys}", keys).T


def drawn(name: str, number: int) -> Array:
    return NORMAL.draw(stream(0, "scaling-keeps-shape-and-order", name, 0), (number, D))


def experiment(derived: Derivation) -> Items:
    def reordered(rows: Array, *factors: float | Array) -> int:
        ranks = np.argsort(rows, axis=1, kind="stable")
        moved = [np.any(np.argsort(rows * by, axis=1, kind="stable") != ranks, axis=1) for by in factors]
        return int(np.any(moved, axis=0).sum())

    what, factors = "rows whose keys change their order", f"each of {len(FACTORS)}"
    for keys in (2, 5, 64, MOST):
        at = {"keys": keys, "rows": 64, "factor": factors}
        yield Computed(f"order-n{keys}", what, reordered, (scores(keys), *FACTORS), equals=0, settings=at)
    at, what, divided = {"keys": MOST, "rows": 64}, "entries of the scaled score matrix", scores() / D**0.5
    yield Computed("shape", what, np.size, (divided,), equals=64 * MOST, settings=at)
    what, weights = "mean change of a row's weights, in all", softmax(scores())
    raised, spread = (np.abs(weights - softmax(x)).sum(axis=1).mean() for x in (scores() + 1, divided))
    yield Computed("raised", what, float, (raised,), equals=0, settings=at, allowance=ROUNDING)
    share, within = derived["beyond"], of_probability(0.5)
    yield Check("scores-beyond-one", share, {d: D}, tolerance=within)
    by_length = 1 / np.linalg.norm(drawn(f"keys-{MOST}", MOST), axis=1)
    says = "a factor of its own for each key, as in cosine similarity, keeps the order as well"
    yield Wrong("own-factor", of=f"order-n{MOST}", arguments=(scores(), by_length), says=says)
    says = "a matrix product with a factor for each key keeps the shape as well"
    yield Wrong("matrix-product", of="shape", arguments=(scores() @ by_length,), says=says)
    yield Wrong("weights-stay", of="raised", arguments=(spread,), says="the weights stay, too")
    yield Wrong("all-small", share, {d: D}, equals=0, tolerance=within, says="no scaled score is beyond 1")


CLAIM = Claim(
    statement="For any positive factor {c}, {main}: the score matrix keeps its shape, every row its ranking, "
    "and so the place of its largest entry. The differences are multiplied by {c}, and these are all that "
    "the softmax sees: {odds}.",
    meaning="Scaling never decides which key wins, only by how much. Nor does it make all scores small: at "
    "{scores-beyond-one:d_k} dimensions of normal components {scores-beyond-one:prediction.2%} of the scaled "
    "scores are still larger than 1 in size. Its purpose is one spread in every dimension.",
    assumptions=assume(normal_share="For the share of scores beyond 1: components are standard normal."),
)
