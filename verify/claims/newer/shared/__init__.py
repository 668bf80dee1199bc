"""What the claims about newer kinds of attention alone rest on, and measure with."""

from verify.claims.newer.shared import termwise
from verify.claims.newer.shared.rows import LeadingRows, mean_of_leader
from verify.claims.newer.shared.termwise import N, weight_of_leader

__all__ = ["LeadingRows", "N", "mean_of_leader", "termwise", "weight_of_leader"]
