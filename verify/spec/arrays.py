"""Array code that claims hold against formulas, and what they compare it with.

Array, stream         NumPy's arrays; the random generator of a claim's cell
softmax               softmax over the last axis, as a program computes it
probabilities         the weights of queries and keys; ``attention`` their mean values
gradients             what reaches queries, keys and values
complex_step          derivatives of array code, without any formula
loops                 second sources: attention and its gradients in plain loops
in_single_precision   array code that computes with half as many digits
largest_difference    the largest absolute difference of two arrays
"""

from verify.montecarlo import reference_loops as loops
from verify.montecarlo.attention import attention, gradients, probabilities, softmax
from verify.montecarlo.distributions import Array, stream
from verify.montecarlo.estimands import complex_step
from verify.montecarlo.reference_loops import in_single_precision, largest_difference

__all__ = [
    "Array",
    "attention",
    "complex_step",
    "gradients",
    "in_single_precision",
    "largest_difference",
    "loops",
    "probabilities",
    "softmax",
    "stream",
]
