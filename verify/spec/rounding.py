"""Numbers of few bits: the nearest, ties to even, whatever the exponent.

rounded    the nearest numbers of an array
Rounded    the same as an expression: ``E((Rounded(score, 8) - score)**2)``
"""

from typing import Any

import numpy as np
from sympy import Function, S

from verify.montecarlo.distributions import Array
from verify.symbolic.vocabulary import Made


def rounded(values: Array, bits: int) -> Array:
    """Return the nearest numbers of ``bits`` significant bits, ties to even; no exponent is out of range."""
    values = np.asarray(values, order="C")
    patterns = values.view(f"u{values.itemsize}")
    dropped = patterns.dtype.type(np.finfo(values.dtype).nmant + 1 - bits)
    unit = patterns.dtype.type(1)
    # Add half of the last bit that stays, less 1 where that is even; a carry into the exponent is right.
    moved = patterns + ((unit << (dropped - unit)) - unit + ((patterns >> dropped) & unit))
    nearest: Array = (moved >> dropped << dropped).view(values.dtype)
    return nearest


class Rounded(Function):  # type: ignore[misc]  # SymPy has no types
    """``Rounded(x, bits)``: the number of so many significant bits that is nearest to x."""

    nargs = 2
    is_extended_real = True

    @property
    def drawn(self) -> Any:
        """The number of unknown law that stands for it where a line is checked."""
        return Made(str(self), S.One)[1]

    @staticmethod
    def numpy(values: Array, bits: float) -> Array:
        """Return it for arrays."""
        return rounded(values, int(bits))

    def _latex(self, printer: Any) -> str:
        x, bits = map(printer._print, self.args)
        return rf"\operatorname{{fl}}_{{{bits}}}\left({x}\right)"
