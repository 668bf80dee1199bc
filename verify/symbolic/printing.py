"""Prints SymPy objects the way the field writes them: queries before keys, minus signs last."""

from __future__ import annotations

from typing import Any

from sympy import Indexed, S, Symbol
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter


class Ordered(Symbol):  # type: ignore[misc]  # SymPy has no types
    """A symbol printed before or after others by ``rank`` rather than by the alphabet."""

    __slots__ = ("rank",)

    def __new__(cls, name: str, rank: str, **assumptions: Any) -> Ordered:
        """Return the symbol ``name`` that sorts as if it were called ``rank``."""
        symbol: Ordered = Symbol.__xnew__(cls, name, **assumptions)
        symbol.rank = rank
        return symbol

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Any]]:
        return (self.name, self.rank), self._assumptions_orig

    def sort_key(self, order: Any = None) -> Any:
        """Return the key that SymPy orders by; a power of the symbol already sorts by its rank."""
        return self.class_key(), (1, (self.rank,)), S.One.sort_key(order), S.One

    def _sympystr(self, printer: Any) -> str:
        # SymPy orders the factors and terms it prints by the plain text of their atoms.
        return str(self.name) if isinstance(printer, _Plain) else self.rank


class _Plain(StrPrinter):  # type: ignore[misc]  # SymPy has no types
    pass


class _MinusLast(Printer):  # type: ignore[misc]  # SymPy has no types
    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms: list[Any] = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _Latex(_MinusLast, LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:  # noqa: N802
        # A name with a command in it is LaTeX already; SymPy would read all after its "_" as an index.
        name: str = expr.name
        return name if "\\" in name else str(super()._print_Symbol(expr, style))

    def _print_Indexed(self, expr: Any) -> str:  # noqa: N802  # SymPy dispatches by this name
        return rf"{self._print(expr.base)}_{{{','.join(map(self._print, expr.indices))}}}"


class _Art(_MinusLast, PrettyPrinter):  # type: ignore[misc]  # SymPy has no types
    pass


_LATEX = _Latex({"mul_symbol": None, "ln_notation": True, "fold_short_frac": False})
_ART = _Art({"use_unicode": True, "wrap_line": False})


def latex(expression: Any) -> str:
    """Return the LaTeX of a SymPy expression or relation."""
    text: str = _LATEX.doprint(expression)
    return text


def plain(expression: Any) -> str:
    """Return a SymPy expression or relation as one line of text."""
    text: str = _Plain().doprint(expression)
    return text


def unicode_art(expression: Any) -> str:
    """Return a SymPy expression or relation drawn with Unicode characters, on several lines."""
    entries = {entry: _as_symbol(entry) for entry in expression.atoms(Indexed)}
    text: str = _ART.doprint(expression.xreplace(entries))
    return text


def _as_symbol(entry: Any) -> Symbol:
    label = entry.base.label
    subscript = ",".join(map(str, entry.indices))
    return Ordered(f"{plain(label)}_{subscript}", f"{label}_{subscript}")
