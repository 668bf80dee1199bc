"""What the claims about the pipeline alone measure with: its array code, its score matrices, its values."""

from verify.claims.pipeline.shared.beside_values import ScoresBesideValues
from verify.montecarlo.attention import attention
from verify.montecarlo.experiment import EXACTLY
from verify.montecarlo.statistics import EntryProducts

__all__ = ["EXACTLY", "EntryProducts", "ScoresBesideValues", "attention"]
