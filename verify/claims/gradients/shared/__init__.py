"""What the claims about gradients alone are derived and measured with."""

from verify.claims.gradients.shared.against_loops import against_loops, softmax_over_queries
from verify.claims.gradients.shared.samplers import LayerStack, Normalisation, RowGradients, SingleQueries
from verify.claims.gradients.shared.training import Lookup, TrainingRuns, losses
from verify.evidence import Layer
from verify.montecarlo.attention import gradients
from verify.montecarlo.blocks import Outputs, output_name
from verify.montecarlo.estimands import Ratio
from verify.montecarlo.experiment import Relation
from verify.montecarlo.intervals import student_quantile
from verify.montecarlo.reference_loops import OfRows, largest_ratio, spectral_norms
from verify.montecarlo.rows import BothScales
from verify.symbolic import extremes
from verify.symbolic.printing import plain

__all__ = [
    "BothScales", "Layer", "LayerStack", "Lookup", "Normalisation", "OfRows", "Outputs", "Ratio", "Relation",
    "RowGradients", "SingleQueries", "TrainingRuns", "against_loops", "extremes", "gradients",
    "largest_ratio", "losses", "output_name", "plain", "softmax_over_queries", "spectral_norms",
    "student_quantile",
]  # fmt: skip
