"""The chapters of the report, and the order of their claims."""

# Titles by the names of folders, in the order of the report.
CHAPTERS = {
    "raw_scores": "Raw scores",
    "scaling": "Scaling",
    "softmax": "Softmax",
    "gradients": "Gradients",
    "pipeline": "The whole pipeline",
    "limits": "Where the claims fail",
    "modern": "What today’s models do to scores",
    "newer": "Newer kinds of attention",
    "user": "Claims of your own",
}

_NAMES = (
    "score-mean score-variance score-variance-general score-variance-any-law score-law score-normal-limit "
    "score-magnitude score-spread pairwise-estimator worked-dot-products "
    "variance-of-multiple sqrt-scaling sqrt-scaling-unique over-scaling scaling-exponent "
    "scaled-variance-general scaling-keeps-shape-and-order score-variance-ignores-length "
    "softmax-worked-examples softmax-identities softmax-two-keys softmax-saturation attention-entropy "
    "attention-concentration effective-keys "
    "softmax-jacobian jacobian-bounds jacobian-saturation attention-gradients ignored-keys "
    "vanishing-or-exploding gradient-through-layers training-stability "
    "attention-shapes attention-definition values-stay-out-of-scores score-matrix-variance "
    "correlated-components dependent-query-key self-score aligned-query-key row-variance projected-tokens "
    "heavy-tails length-scaling causal-rows half-precision "
    "width-and-heads variance-split scale-from-output query-key-normalisation rotary-positions linear-bias "
    "soft-cap attention-sink grouped-queries dropped-weights yarn-temperature low-precision-scores "
    "differential-attention sigmoid-attention softpick-attention softmax-dispersion bounded-scores "
    "scalable-softmax critical-scaling sphere-scaling adaptive-temperature softmax-lipschitz score-clip "
    "online-softmax low-precision-sums eight-bit-rotation singular-values "
)
# The claims, chapter by chapter; one that is not named here comes last in its chapter, by its id.
ORDER = _NAMES.split()
