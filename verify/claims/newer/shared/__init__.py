"""What the claims about newer kinds of attention alone rest on, and measure with."""

from verify.claims.newer.shared.rows import (
    AdaptiveRows, LeadingRows,
    factor_at, mean_of_leader,
)  # fmt: skip
from verify.montecarlo.estimands import entropy_lost
from verify.symbolic.kernel.words import M, x
