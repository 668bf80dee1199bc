"""The chapters of the report and, in each, the order of its claims; a claim not named here comes last."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chapter:
    """A chapter: the name of its folder, its title, and the ids of its claims in order."""

    folder: str
    title: str
    claims: tuple[str, ...] = ()

    def place(self, claim: str) -> tuple[int, str]:
        """Return the sort key of a claim within the chapter: as listed, the others by their ids."""
        return (self.claims.index(claim) if claim in self.claims else len(self.claims)), claim


def _chapter(folder: str, title: str, claims: str = "") -> Chapter:
    return Chapter(folder, title, tuple(claims.split()))


_IN_ORDER = (
    _chapter(
        "raw_scores",
        "Raw scores",
        "score-mean score-variance score-variance-general score-variance-any-law score-law "
        "score-normal-limit score-magnitude score-spread pairwise-estimator worked-dot-products",
    ),
    _chapter(
        "scaling",
        "Scaling",
        "variance-of-multiple sqrt-scaling sqrt-scaling-unique over-scaling scaling-exponent "
        "scaled-variance-general scaling-keeps-shape-and-order score-variance-ignores-length",
    ),
    _chapter(
        "softmax",
        "Softmax",
        "softmax-worked-examples softmax-identities softmax-two-keys softmax-saturation "
        "attention-entropy attention-concentration effective-keys",
    ),
    _chapter(
        "gradients",
        "Gradients",
        "softmax-jacobian jacobian-bounds jacobian-saturation attention-gradients ignored-keys "
        "vanishing-or-exploding gradient-through-layers training-stability",
    ),
    _chapter(
        "pipeline",
        "The whole pipeline",
        "attention-shapes attention-definition values-stay-out-of-scores score-matrix-variance",
    ),
    _chapter(
        "limits",
        "Where the claims fail",
        "correlated-components dependent-query-key self-score aligned-query-key row-variance "
        "projected-tokens heavy-tails length-scaling causal-rows half-precision",
    ),
    _chapter(
        "modern",
        "What today’s models do to scores",
        "width-and-heads variance-split scale-from-output query-key-normalisation rotary-positions "
        "linear-bias soft-cap attention-sink grouped-queries dropped-weights yarn-temperature "
        "low-precision-scores",
    ),
    _chapter(
        "newer",
        "Newer kinds of attention",
        "differential-attention sigmoid-attention softpick-attention softmax-dispersion bounded-scores "
        "scalable-softmax critical-scaling sphere-scaling adaptive-temperature softmax-lipschitz "
        "score-clip online-softmax low-precision-sums eight-bit-rotation singular-values",
    ),
    _chapter("user", "Claims of your own"),
)

CHAPTERS = {chapter.folder: chapter for chapter in _IN_ORDER}
"""The chapters by folder, in the order of the report."""
