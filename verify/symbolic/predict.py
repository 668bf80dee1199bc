"""Turns derived expressions into the functions that predict what is measured."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sympy import lambdify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def function(symbols: Sequence[Any], expression: Any, modules: str = "math") -> Callable[..., float]:
    """Return ``expression`` as a function of ``symbols``, evaluated in double precision.

    ``modules`` is the library that evaluates it: ``"math"``, ``"numpy"`` for arrays, ``"scipy"`` for special
    functions, or ``"mpmath"`` where its parts are too large for any of these.
    """
    return _compiled(tuple(symbols), expression, modules)


@cache  # claims and their figures put numbers into the same expressions
def _compiled(symbols: tuple[Any, ...], expression: Any, modules: str) -> Callable[..., float]:
    # Stand-in names, because a symbol's name may be LaTeX, such as |g|.
    compiled: Callable[..., float] = lambdify(
        symbols, expression, modules=modules, cse=True, dummify=True, docstring_limit=0
    )
    return compiled
