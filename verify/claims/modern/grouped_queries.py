"""Heads that share their keys: no head's scores change, and those of two heads are not independent."""

from verify.claims.modern.shared import GroupedScores
from verify.former import (
    E, NORMAL_MOMENTS, Claim, Derivation, Experiment, Figure, Findings, Population, Route, Smooth, Tolerance,
    beside, biased, cell_of, cells_of, cite, covariance, d, figure, in_turn, k, moment_steps, normal, ordered,
    over_cells, q, score, variance, variance_route, wrong,
)  # fmt: skip

HEADS, KEYS = 8, 16
VARIANCE = r"$\operatorname{Var}(q\cdot k)$"
PRODUCT, SQUARES = (
    rf"covariance of {what} of two heads with one key" for what in ("the scores", "the squared scores")
)
other = ordered("qbar[]:q3")
ELSEWHERE = score.subs(q, other)
SHARED = Population(dict.fromkeys((q, other, k), NORMAL_MOMENTS[:5]), d)
"""The score of another head's query with the same key, and the moments of all components."""


def derive() -> Derivation:
    """Derive the variance of one head's scores, and how those of two heads with one key go together."""
    starts = {
        "Covariance of the scores of two heads": E(score * ELSEWHERE) - E(score) * E(ELSEWHERE),
        "Covariance of their squares": E(score**2 * ELSEWHERE**2) - E(score**2) * E(ELSEWHERE**2),
        "Variance of a square": E(score**4) - E(score**2) ** 2,
    }
    lemmas = tuple(
        Route.telling(one, start, moment_steps(start, SHARED))
        .defining(f"the {one[0].lower()}{one[1:]}")
        .called(name)
        for name, (one, start) in zip(("products", "squares", "square"), starts.items(), strict=True)
    )
    return Derivation.of(variance_route(score, SHARED, "One head"), lemmas=lemmas)


RELATED = Smooth(
    lambda at: (at["squares"] - at["square"] ** 2) / (at["fourth"] - at["square"] ** 2), positive=False
)
"""The correlation of two heads' squared scores, from the means of a block."""


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure variance, covariance, and the correlation of squares of heads that share their keys."""
    apart, squares, whole = (lemma.end for lemma in derivation.lemmas)
    cells = cells_of("d{d_k}", (1, 2, 8), lambda d_k: (normal(HEADS, KEYS, d_k), GroupedScores()))
    spreads = over_cells("variance-d{d_k}", VARIANCE, cells, variance(), derivation.result)
    products = over_cells("product-d{d_k}", PRODUCT, cells, covariance("product", "mean", "mean"), apart,
                          lambda d_k: Tolerance(1.0, d_k, "the variance of a score"))  # fmt: skip
    wide = Tolerance(0.5, 1.0, "a correlation of 1", "one near 0 is no easier to measure than any other")
    related = over_cells("squares-d{d_k}", SQUARES, cells, RELATED, squares / whole, wide)
    own = cell_of("own-keys", normal(HEADS, HEADS * KEYS, 1), GroupedScores(shared=False))
    return Experiment(in_turn(spreads, products, related), (
        wrong(spreads[8], "twice-the-variance", "a key that eight heads share has scores of twice the "
              "variance", 2 * 8),
        wrong(products[1], "heads-agree", "heads with one key have one score", 1),
        wrong(related[1], "independent", "scores of two heads are independent, so their squares are "
              "uncorrelated", 0),
        wrong(related[1], "own-keys", "heads with keys of their own go together as much", cell=own,
              truth=0.0),
        biased(spreads[8], tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the correlation of squared scores over the dimension."""
    _, squares, whole = (lemma.end for lemma in derivation.lemmas)
    return figure(
        "together",
        "What sharing keys does to heads fades as the dimension grows",
        "Correlation of the squared scores of two heads with one key, over the dimension: measured points on "
        "the derived curve, from a quarter in one dimension to an eleventh in eight.",
        "correlation of squared scores",
        *beside(findings.matching("squares-d*"), "derived", (squares / whole).simplify()),
    )


CLAIM = Claim(
    title="Sharing keys among heads leaves the variance of every head's scores unchanged",
    statement="For independent standard normal components, a head's scores have variance {theorem:result} "
    "however many heads share its keys. Scores of two heads with one key are uncorrelated, but not "
    "independent: their squares have covariance {squares:result}, each having variance {square:result}.",
    meaning="Grouped queries need no scale of their own: a score does not know how many other queries its "
    "key meets. What heads share is the length of the key: a long one makes the scores of all of them "
    "large, of either sign. In eight dimensions that is a correlation of {squares-d8:prediction.2%} between "
    "squares, at the start of training.",
    references=cite(
        "ainslie2023",
        "J. Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from Multi-Head "
        "Checkpoints, EMNLP 2023.",
        "https://arxiv.org/abs/2305.13245",
    ),
)
