"""What the claims about modern attention alone measure with: its variants and rounding."""

from verify.claims.modern.shared.variants import (
    CappedScores, DroppedWeights, RotatedScores, RoundedScores, change_of_weights,
    distance_from_half, distance_of_orders, largest_move, rotation_angles, spacing_above,
)  # fmt: skip
from verify.former.figures import expected
