"""What the claims about the limits of the law alone are derived and measured with."""

from verify.montecarlo.distributions import CAUCHY

SINGLE_SCORES = "every block is a single score, so that a sharper share takes many more draws"
"""Why the tolerance of a share of scores that are drawn one by one is wide."""
