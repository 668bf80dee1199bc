"""Faults that survive because they change nothing that matters, each with the reason."""

_NO_USE = "an assumption on the symbol that nothing makes use of"
_AS_SMALL = "a step that is as small: its square is nothing beside 1 either way"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "verify/symbolic/blocks.py",
        'n = Symbol("n", integer=True, positive=True)',
        'n = Symbol("n", integer=True, positive=False)',
    ): _NO_USE,
    (
        "verify/claims/scaling/sqrt_scaling_unique.py",
        'c = Ordered("c", "b", real=True)',
        'c = Ordered("c", "b", real=False)',
    ): _NO_USE,
    ("verify/montecarlo/estimands.py", "_STEP = 1e-30", "_STEP = 1.01e-30"): _AS_SMALL,
    ("verify/montecarlo/estimands.py", "_STEP = 1e-30", "_STEP = 1.0000000000000001e-29"): _AS_SMALL,
    (
        "verify/symbolic/kernel/algebra.py",
        "kinds = (ExprWithLimits, Derivative, Limit, Indexed, MatrixSymbol)",
        "kinds = (ExprWithLimits, Limit, Derivative, Indexed, MatrixSymbol)",
    ): "the order of alternatives",
}
"""By file, line and faulty line."""
