"""The kernel: makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""

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

core.GATES = (existence.where_all_exists, signs.where_variances_are_real)
