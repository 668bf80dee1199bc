"""Prints SymPy objects the way the field writes them: queries before keys, minus signs last."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from sympy import Basic, Expr, Indexed, Pow, Symbol, Trace, exp
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

from verify.symbolic.kernel.words import Ordered, OrderedBase


def ordered(names: str, **assumptions: Any) -> Any:
    """Return one ``Ordered`` or several, by their names with spaces between, as SymPy's ``symbols`` does.

    Each is ranked by its name, or by what follows it and a colon: "tau:a1". A name with [] after it is that
    of an ``OrderedBase``.
    """
    found = []
    for one in names.split():
        name, _, rank = one.replace("[]", "").partition(":")
        symbol = Ordered(name, rank or name, **assumptions)
        found.append(OrderedBase(symbol) if "[]" in one else symbol)
    return tuple(found) if len(found) > 1 else found[0]


class _MinusLast(Printer):  # type: ignore[misc]  # SymPy has no types
    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms: list[Any] = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


class _Remembering(Printer):  # type: ignore[misc]  # SymPy has no types
    """Prints from memory what it has printed: the steps of a derivation share most of their parts."""

    _printed: ClassVar[dict[Any, Any]]
    """What printers of the class have printed, all with the same settings."""

    def _print(self, expr: Any, **more: Any) -> Any:
        if more or not isinstance(expr, Basic):
            return super()._print(expr, **more)
        # Decimals of their own are printed in full, those within an expression are not.
        known = type(expr), expr, self._print_level > 0
        if known not in self._printed:
            self._printed[known] = super()._print(expr)
        return self._printed[known]

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return list(_ordered_terms(expr, order))


@cache
def _ordered_terms(expression: Any, order: Any) -> tuple[Any, ...]:
    return tuple(expression.as_ordered_terms(order=order))


class _Plain(_Remembering, StrPrinter):  # type: ignore[misc]  # SymPy has no types
    _printed: ClassVar[dict[Any, Any]] = {}


class _Unsigned(Expr):  # type: ignore[misc]  # SymPy has no types
    """An exponent whose sign nothing is known of, in the place of its own."""

    is_commutative = True

    def sort_key(self, order: Any = None) -> Any:
        """Return that of the exponent, so that factors keep their order."""
        return self.args[0].sort_key(order)


def _with_unsigned(factor: Any) -> Any:
    """Return a factor without the sign of its exponent, if that is negative and no number."""
    if isinstance(factor, Pow | exp) and factor.args[-1].free_symbols and factor.args[-1].is_negative:
        return factor.func(*factor.args[:-1], _Unsigned(factor.args[-1]))
    return factor


def _indexed(name: str, *indices: str) -> str:
    """Return a name with indices, in braces if it has an index or a prime of its own."""
    return (
        f"{{{name}}}_{{{','.join(indices)}}}" if {"_", "'"} & {*name} else f"{name}_{{{','.join(indices)}}}"
    )


def _is_number(expression: Any) -> bool:
    """Return whether it is the trace of a single number, such as a product of a row and a column."""
    return isinstance(expression, Trace) and expression.arg.shape == (1, 1)


class _Latex(_MinusLast, _Remembering, LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    _printed: ClassVar[dict[Any, Any]] = {}

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        # SymPy would simplify each negative exponent first, to see whether it is a constant, and load its
        # physical units for that; only powers with constant ones go below a fraction's line.
        if expr.is_Mul:
            expr = expr.func(*map(_with_unsigned, expr.args), evaluate=False)
        return str(super()._print_Mul(expr))

    def _print__Unsigned(self, expr: Any) -> str:  # noqa: N802
        return str(self._print(expr.args[0]))

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:  # noqa: N802
        # A name with a command in it is LaTeX already; SymPy would read all after its "_" as an index.
        name: str = expr.name
        return name if "\\" in name else str(super()._print_Symbol(expr, style))

    def _print_Transpose(self, expr: Any) -> str:  # noqa: N802
        return rf"{self.parenthesize(expr.arg, PRECEDENCE['Pow'])}^{{\mathsf T}}"

    def _print_MatrixElement(self, expr: Any) -> str:  # noqa: N802
        of_vector = expr.parent.shape[1] == 1
        return _indexed(*map(self._print, (expr.parent, *expr.indices[: 1 if of_vector else 2])))

    def _print_Trace(self, expr: Any) -> str:  # noqa: N802
        return str(self._print(expr.arg) if _is_number(expr) else super()._print_Trace(expr))

    def parenthesize(self, item: Any, level: int, *more: Any, **named: Any) -> str:
        """Return an expression in brackets where what is around it binds more tightly."""
        number = item.arg if _is_number(item) else item
        return str(super().parenthesize(number, level, *more, **named))

    def _print_Indexed(self, expr: Any) -> str:  # noqa: N802  # SymPy dispatches by this name
        return _indexed(self._print(expr.base), *map(self._print, expr.indices))


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
    return str.__str__(_Plain().doprint(expression))


def unicode_art(expression: Any) -> str:
    """Return a SymPy expression or relation drawn with Unicode characters, on several lines."""
    entries = {entry: _as_symbol(entry) for entry in expression.atoms(Indexed)}
    text: str = _ART.doprint(expression.xreplace(entries))
    return text


def _as_symbol(entry: Any) -> Symbol:
    label = entry.base.label
    subscript = ",".join(map(plain, entry.indices))
    return Ordered(f"{plain(label)}_{subscript}", f"{getattr(label, 'rank', label)}_{subscript}")
