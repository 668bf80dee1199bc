"""What the claims about modern attention alone measure with: its variants."""

from verify.claims.modern.shared.variants import (
    RotatedScores, rotation_angles,
)  # fmt: skip
from verify.former.figures import expected
