"""What the claims about newer kinds of attention alone rest on, and measure with."""

from verify.claims.newer.shared import termwise
from verify.claims.newer.shared.rows import LeadingRows, SigmoidRows, mean_of_leader, mean_of_sigmoids
from verify.claims.newer.shared.termwise import N, weight_of_leader

__all__ = ["LeadingRows", "N", "SigmoidRows", "mean_of_leader", "mean_of_sigmoids", "termwise", "weight_of_leader"]
