"""What the claims about gradients alone are derived and measured with."""

from collections.abc import Callable

from verify.claims.gradients.shared.samplers import LayerStack, Normalisation, SingleQueries
from verify.evidence import PlotLayer
from verify.montecarlo.attention import gradients
from verify.montecarlo.blocks import Outputs, output_name
from verify.montecarlo.experiment import Relation
from verify.montecarlo.intervals import student_quantile
from verify.former import Array, Control, Exact, loops, no_distance
from verify.symbolic.printing import plain

SCALE = 0.25
"""The scale at which array code is compared with loops."""


def against_loops(name: str = "array-code", softmax: Callable[[Array], Array] | None = None) -> Exact:
    """Return the comparison of the array code's gradients with those of plain loops.

    With ``softmax`` the array code gets that one's weights, in place of its own.
    """
    label = "largest distance of an entry of the array code's gradients from those of plain loops"
    found = loops.distance_from_loops(SCALE, softmax)
    return no_distance(name, label, (("scale", SCALE),), found, loops.distance_from_loops)


def softmax_over_queries() -> Control:
    """Return what the comparison of the array code with plain loops must refute."""
    what = "the softmax may run over the queries instead of the keys"
    return Control(what, against_loops("over-queries", loops.over_queries))
