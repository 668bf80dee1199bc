"""Array code that claims compare with formulas, and second sources for it.

Array, stream         NumPy's arrays; the random generator of a claim's cell
softmax               softmax over the last axis, as a program computes it
probabilities         the weights of queries and keys; ``attention`` their mean values
gradients             the gradients at queries, keys and values
entries               an expression at all places of its indices, for families given as arrays
complex_step          derivatives of array code, without any formula
loops                 second sources: attention and its gradients in plain loops
in_single_precision   array code that computes with half as many digits
largest_difference    the largest absolute difference of two arrays
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sympy import Expr

from verify.montecarlo import reference_loops as loops
from verify.montecarlo.attention import attention, gradients, probabilities, softmax
from verify.montecarlo.compiling import BLOCK, Compiler
from verify.montecarlo.distributions import Array, stream
from verify.montecarlo.reference_loops import complex_step, in_single_precision, largest_difference
from verify.symbolic.vocabulary import Index, families_of, unnamed

__all__ = [
    "Array",
    "attention",
    "complex_step",
    "entries",
    "gradients",
    "in_single_precision",
    "largest_difference",
    "loops",
    "probabilities",
    "softmax",
    "stream",
]


def entries(
    expression: Expr, places: Sequence[Index], families: Mapping[str, Array], at: Mapping[Any, Any]
) -> Array:
    """Return an expression at all places of its free indices, an axis for each, with values of its symbols.

    ``families`` are arrays by the names of the expression's families.

    Example:
        >>> entries(c * score, (a, j), {"q": queries, "k": keys}, {c: 0.5})
    """
    opened = unnamed(expression)
    used = families_of(opened)
    sizes = {
        extent: length
        for family in used
        for extent, length in zip(family.ranges, families[str(family.label)].shape, strict=True)
    }
    compiler = Compiler(sizes, {**sizes, **at}, used)
    compiler.learn(opened)
    node = compiler.view(compiler.node(opened), (BLOCK, *places))
    draws = {str(family.label): families[str(family.label)][None] for family in used}
    values: Array = compiler.compiled([node]).run(draws, np.random.default_rng(0))[0, 0]
    return values
