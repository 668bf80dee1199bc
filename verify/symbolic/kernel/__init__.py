"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

from verify.symbolic.kernel import (
    calculus, core, equations, integrals, laws, moments, normal, signs, special_integrals, sums, surplus,
    vectors,
)  # fmt: skip

RULES = core.close()
"""All rules there are."""

__all__ = [
    "RULES", "calculus", "equations", "integrals", "laws", "moments", "normal", "signs", "special_integrals",
    "sums", "surplus", "vectors",
]  # fmt: skip
