"""Over what the integrals of an expression run: a check that looks at integrands alone misses the ends."""

from __future__ import annotations

from typing import Any

from sympy import Integral


def runs_over(expression: Any, *ranges: tuple[Any, Any, Any]) -> bool:
    """Return whether the integrals in ``expression``, inner ones too, run over these ranges and no others.

    A range is a variable with its lower and its upper end; integrals over the same range count as one.
    """
    found = {tuple(one) for integral in expression.atoms(Integral) for one in integral.limits}
    return found == set(ranges)
