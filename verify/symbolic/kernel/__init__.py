"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

from verify.symbolic.kernel import (
    calculus,
    core,
    entries,
    equations,
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

RULES = core.close()
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
