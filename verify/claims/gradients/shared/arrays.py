"""The array code that attention's gradients are simulated with, against plain loops."""

from verify.spec import ROUNDING, Computed, Items, Wrong
from verify.spec.arrays import loops


def same_as_loops(scale: float) -> Items:
    """Yield the comparison of the array code's gradients with those of plain loops, and a wrong softmax."""
    what = "largest distance of an entry of the array code's gradients from those of plain loops"
    code, settings = loops.distance_from_loops, {"scale": scale}
    yield Computed("array-code", what, code, (scale,), equals=0, settings=settings, allowance=ROUNDING)
    says = "the softmax may run over the queries instead of the keys"
    yield Wrong("over-queries", of="array-code", computed=code(scale, loops.over_queries), says=says)
