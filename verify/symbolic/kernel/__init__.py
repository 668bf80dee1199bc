"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

from verify.symbolic.kernel import (
    calculus,
    core,
    entries,
    equations,
    existence,
    integrals,
    laws,
    limits,
    matrices,
    moments,
    normal,
    signs,
    special_integrals,
    sums,
    transforms,
)

RULES = core.close(
    existence.where_all_exists,
    signs.where_variances_are_real,
    signs.refuse_outside_assumptions,
    signs.refuse_contradictory,
)
"""All rules there are."""

__all__ = [
    "RULES",
    "calculus",
    "entries",
    "equations",
    "integrals",
    "laws",
    "limits",
    "matrices",
    "moments",
    "normal",
    "signs",
    "special_integrals",
    "sums",
    "transforms",
]
