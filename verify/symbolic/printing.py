"""Prints SymPy objects the way the field writes them: queries before keys, minus signs last."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from sympy import Basic, Expr, Indexed, IndexedBase, Pow, S, Symbol, exp
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter


class _Ranked(str):
    """Text that sorts as ``rank``, for SymPy orders factors and terms by the text of their atoms."""

    __slots__ = ("rank",)
    rank: str

    def __new__(cls, text: str, rank: str) -> _Ranked:
        ranked = super().__new__(cls, text)
        ranked.rank = rank
        return ranked

    def __str__(self) -> str:
        return self

    def _key(self) -> tuple[str, str]:
        return self.rank, str.__str__(self)

    def __lt__(self, other: str) -> bool:
        return self._key() < _rank_of(other)

    def __gt__(self, other: str) -> bool:
        return self._key() > _rank_of(other)

    def __le__(self, other: str) -> bool:
        return self._key() <= _rank_of(other)

    def __ge__(self, other: str) -> bool:
        return self._key() >= _rank_of(other)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)


def _rank_of(text: str) -> tuple[str, str]:
    return text._key() if isinstance(text, _Ranked) else (text, text)


class _Ranks(StrPrinter):  # type: ignore[misc]  # SymPy has no types
    """Prints ranks in place of names."""


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

    def _hashable_content(self) -> tuple[Any, ...]:
        # Else SymPy's cache would take one for another of that name, and print what came first in a process.
        return (*super()._hashable_content(), self.rank)

    def sort_key(self, order: Any = None) -> Any:
        """Return the key that SymPy orders by; a power of the symbol already sorts by its rank."""
        return self.class_key(), (1, (str(self),)), S.One.sort_key(order), S.One

    def _sympystr(self, printer: Any) -> str:
        return self.rank if isinstance(printer, _Ranks) else _Ranked(self.name, self.rank)


class OrderedBase(IndexedBase):  # type: ignore[misc]  # SymPy has no types
    """A family of symbols, such as the components of a vector, that sorts as its label, an ``Ordered``."""

    def __getitem__(self, indices: Any, **options: Any) -> IndexedEntry:
        return IndexedEntry(*super().__getitem__(indices, **options).args)


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


class IndexedEntry(Indexed):  # type: ignore[misc]  # SymPy has no types
    """One symbol of an ``OrderedBase``."""

    @classmethod
    def class_key(cls) -> Any:
        """Return the key of ``Indexed``: entries of all families are sorted together."""
        return Indexed.class_key()

    def _sympystr(self, printer: Any) -> str:
        text = str.__str__(super()._sympystr(printer))
        return text if isinstance(printer, _Ranks) else _Ranked(text, _Ranks({"order": None}).doprint(self))


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
