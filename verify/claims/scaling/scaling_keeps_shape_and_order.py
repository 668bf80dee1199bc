"""Scaling changes the spacing of the scores and nothing else."""

from collections.abc import Callable

import numpy as np
from sympy import Sum, Symbol, exp, log, sign

from verify.former import (
    NORMAL, Array, Claim, Control, Derivation, DistanceToLaw, Exact, Experiment, Ordered, OrderedBase,
    PairShares, Quantity, Simulated, assume, cell_of, computed, i, j, n, of_probability, one_step, p,
    prediction, s, score_law, softmax, stream, wrong,
)  # fmt: skip
from verify.former.rules import Families, PositiveFactor, SumIdentity

SIZES = (2, 5, 64, MOST := 512)
"""Numbers of keys in the matrices whose rows are compared."""

D = 64
FACTORS = (D**-0.5, D**-0.25, 1 / D, 0.3, 7.0)
"""Factors under which ranks are compared; by 1/8 alone the arithmetic of the test would be exact."""

c = Symbol("c", positive=True)
first, second = Symbol("s_1", real=True), Symbol("s_2", real=True)


P = OrderedBase(Ordered("P", "p"))
SCALED = Families(made_of={P: ((i,), exp(c * s[i]) / Sum(exp(c * s[j]), (j, 1, n)))})
"""The weights of scaled scores."""


def derive() -> Derivation:
    """Derive that order is kept, and that the softmax feels the spacing alone."""
    order = one_step("Which of two scores is larger", sign(c * first - c * second), sign(first - second),
                     "A positive factor leaves the sign of the difference", PositiveFactor(c))  # fmt: skip
    cancels = "The common denominator cancels: only the difference counts"
    odds = one_step("What the softmax makes of two scores", log(p[1] / p[2]), s[1] - s[2], cancels,
                    SumIdentity(), defines="the logarithm of the ratio of two "
                    "weights", name="odds")  # fmt: skip
    scaled = one_step("and of two scaled scores", log(P[1] / P[2]), c * (s[1] - s[2]),
                      "The differences are multiplied by the factor", SumIdentity(SCALED),
                      defines="the same of the weights of scaled scores")  # fmt: skip
    return Derivation.of(order, lemmas=(odds, scaled))


def _drawn(keys: int) -> tuple[Array, Array]:
    """Return 64 queries and a number of keys, always the same ones."""
    rng = stream(0, "scaling-keeps-shape-and-order", f"keys-{keys}", 0)
    return NORMAL.draw(rng, (64, D)), NORMAL.draw(rng, (keys, D))


def _scores(keys: int) -> Array:
    query, key = _drawn(keys)
    return query @ key.T


def _reordered(scores: Array, *factors: float | Array) -> int:
    """Return how many rows rank their keys otherwise after scaling by any of the factors."""
    ranks = np.argsort(scores, axis=1, kind="stable")
    scaled = (np.argsort(scores * factor, axis=1, kind="stable") for factor in factors)
    moved = np.stack([np.any(one != ranks, axis=1) for one in scaled])
    return int(moved.any(axis=0).sum())


def _order(name: str, keys: int, factors: str, *values: float | Array) -> Exact:
    label, scores = "rows whose keys change their order", _scores(keys)
    where: dict[str, int | str] = {"keys": keys, "rows": 64, "factor": factors}
    return computed(name, label, where, 0, _reordered, scores, *values)


def _entries(scale: Callable[[Array], Array]) -> int:
    """Return how many scores there are after scaling those of 64 queries and the most keys."""
    return int(scale(_scores(MOST)).size)


def _shape(name: str, scale: Callable[[Array], Array]) -> Exact:
    label, settings = "entries of the scaled score matrix", {"keys": MOST, "rows": 64}
    return computed(name, label, settings, 64 * MOST, _entries, scale)


def experiment() -> Experiment:
    """Compare ranks and shapes of drawn matrices, and measure how many scaled scores are not small."""
    ranks = tuple(_order(f"order-n{n}", n, f"each of {len(FACTORS)}", *FACTORS) for n in SIZES)
    shape = _shape("shape", lambda scores: scores / D**0.5)
    reach = D**0.5
    upper = score_law.below(D, reach)
    cell = cell_of("pairs", Simulated(NORMAL, NORMAL, 64, 64, D), PairShares((-reach, reach)))
    label, distance = r"gap in $P(q\cdot k/\sqrt{d_k} \le \pm 1)$", DistanceToLaw((1 - upper, upper))
    beyond = Quantity("scores-beyond-one", label, cell, distance, prediction(0), of_probability(0.5))
    scores, lengths = _scores(MOST), np.linalg.norm(_drawn(MOST)[1], axis=1)
    moved = float(np.abs(softmax(scores) - softmax(scores / D**0.5)).sum(axis=1).mean())
    label = "mean change of a row's weights, in all"
    weights = Exact("weights-stay", label, (("keys", MOST),), prediction(0), moved)
    own = "a factor of its own for each key, as in cosine similarity, keeps the order as well"
    product = "a matrix product with a factor for each key keeps the shape as well"
    small = "scaling makes all scores small: none is larger than one in size"
    controls = (
        Control(own, _order("own-factor", MOST, "1 / length of the key", 1 / lengths)),
        Control(product, _shape("matrix-product", lambda scores: scores @ (1 / lengths))),
        wrong(beyond, "all-small", small, estimand=DistanceToLaw((0.0, 1.0))),
        Control("as the order stays, so do the softmax weights", weights),
    )
    return Experiment((*ranks, shape, beyond), controls)


CLAIM = Claim(
    title="Scaling keeps shape and order and changes only the spacing",
    statement="For any positive factor {c}, {theorem}: the score matrix keeps its shape, every row its "
    "ranking, and so the place of its largest entry. The differences are multiplied by {c}, and these are "
    "all that the softmax sees: {odds}.",
    meaning="Scaling never decides which key wins, only by how much. Nor does it make all scores small: at "
    "{scores-beyond-one:d_k} dimensions almost a third of the scaled scores are still larger than one in "
    "size. Its purpose is one spread in every dimension.",
    assumptions=assume(normal="For the share of scores beyond one: components are standard normal."),
    symbols={"c": c},
)
