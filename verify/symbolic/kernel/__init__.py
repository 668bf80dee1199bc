"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

from verify.symbolic.kernel import (
    calculus,
    core,
    entries,
    equations,
    gaussian,
    integrals,
    laws,
    limits,
    many_terms,
    matrices,
    moments,
    normal,
    normal_means,
    signs,
    special_integrals,
    sums,
    surplus,
    transforms,
    vectors,
    written_out,
)

RULES = core.close()
"""All rules there are."""

__all__ = [
    "RULES",
    "calculus",
    "entries",
    "equations",
    "gaussian",
    "integrals",
    "laws",
    "limits",
    "many_terms",
    "matrices",
    "moments",
    "normal",
    "normal_means",
    "signs",
    "special_integrals",
    "sums",
    "surplus",
    "transforms",
    "vectors",
    "written_out",
]
