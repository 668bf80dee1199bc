"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

from verify.symbolic.kernel import (
    calculus,
    core,
    equations,
    integrals,
    limits,
    moments,
    normal,
    normal_means,
    signs,
    sums,
    surplus,
)  # fmt: skip

RULES = core.close()
"""All rules there are."""

__all__ = [
    "RULES", "calculus", "equations", "integrals", "limits", "moments", "normal", "normal_means", "signs",
    "sums", "surplus",
]  # fmt: skip
