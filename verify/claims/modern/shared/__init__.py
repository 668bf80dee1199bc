"""What the claims about modern attention alone measure with: its variants, rounding, and recovered scales."""

from verify.claims.modern.shared.variants import (
    CappedScores, Cosines, DroppedWeights, RecoveredScales,
    RotatedScores, RoundedScores, change_of_weights, distance_from_half, distance_of_orders,
    fitted_scale, largest_cosine, largest_move, response, rotation_angles, spacing_above,
)  # fmt: skip
from verify.former.figures import expected
