"""What the claims about newer kinds of attention alone rest on, and measure with."""

from verify.claims.newer.shared import termwise
from verify.claims.newer.shared.rounding import (
    ClippedScores, EightBits, LowDenominators, LowSums, OnlineRows, change_by_rotation,
    distance_from_softmax, distance_from_temperature, largest_clipped, largest_partial_sum, running,
    sum_of_ones,
)  # fmt: skip
from verify.claims.newer.shared.rows import (
    AdaptiveRows, DifferentialRows, LeadingRows, LevelRows, SecondValues, SigmoidRows, SoftpickRows,
    SphereRows, correlation_of_two, factor_at, growth_of_scale, mean_of_largest, mean_of_leader,
    mean_of_sigmoids, mean_of_softpick, mean_over_signs, mean_slope, weights_of_levels,
)  # fmt: skip
from verify.claims.newer.shared.termwise import N, weight_of_leader
from verify.montecarlo.estimands import entropy_lost
from verify.symbolic.kernel.words import M, x

__all__ = [
    "AdaptiveRows", "ClippedScores", "DifferentialRows", "EightBits", "LeadingRows", "LevelRows",
    "LowDenominators", "LowSums", "M", "N", "OnlineRows", "SecondValues", "SigmoidRows", "SoftpickRows",
    "SphereRows", "change_by_rotation", "correlation_of_two", "distance_from_softmax",
    "distance_from_temperature", "entropy_lost", "factor_at", "growth_of_scale", "largest_clipped",
    "largest_partial_sum", "mean_of_largest", "mean_of_leader", "mean_of_sigmoids", "mean_of_softpick",
    "mean_over_signs", "mean_slope", "running", "sum_of_ones", "termwise", "weight_of_leader",
    "weights_of_levels", "x",
]  # fmt: skip
