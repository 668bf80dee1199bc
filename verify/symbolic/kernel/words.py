"""The kernel's vocabulary: what expressions may be made of, and the symbols that rules know by name."""

from __future__ import annotations

from typing import Any

from sympy import Function, Indexed, IndexedBase, Integral, Limit, S, Sum, Symbol
from sympy.printing.str import StrPrinter


class Ranked(str):
    """Text that sorts as ``rank``, for SymPy orders factors and terms by the text of their atoms."""

    __slots__ = ("rank",)
    rank: str

    def __new__(cls, text: str, rank: str) -> Ranked:
        """Return the text with its rank."""
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

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)


def _rank_of(text: str) -> tuple[str, str]:
    return text._key() if isinstance(text, Ranked) else (text, text)


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
        return self.rank if isinstance(printer, _Ranks) else Ranked(self.name, self.rank)


class OrderedBase(IndexedBase):  # type: ignore[misc]  # SymPy has no types
    """A family of symbols, such as the components of a vector, that sorts as its label, an ``Ordered``."""

    def __getitem__(self, indices: Any, **options: Any) -> IndexedEntry:
        return IndexedEntry(*super().__getitem__(indices, **options).args)


class IndexedEntry(Indexed):  # type: ignore[misc]  # SymPy has no types
    """One symbol of an ``OrderedBase``."""

    @classmethod
    def class_key(cls) -> Any:
        """Return the key of ``Indexed``: entries of all families are sorted together."""
        return Indexed.class_key()

    def _sympystr(self, printer: Any) -> str:
        text = str.__str__(super()._sympystr(printer))
        return text if isinstance(printer, _Ranks) else Ranked(text, _Ranks({"order": None}).doprint(self))


class E(Function):  # type: ignore[misc]  # SymPy has no types
    """An expectation over the law of the hypotheses; only rules for means look inside.

    Its sign is that of what is averaged, over the declared domains of the symbols in it.
    """

    nargs = 1

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_real or None

    def _eval_is_positive(self) -> bool | None:
        return self.args[0].is_positive or None

    def _eval_is_nonnegative(self) -> bool | None:
        return self.args[0].is_nonnegative or None

    def _latex(self, printer: Any, exp: Any = None) -> str:
        body = rf"\mathbb{{E}}\left[{printer.doprint(self.args[0])}\right]"
        return body if exp is None else rf"{body}^{{{exp}}}"


class Var(Function):  # type: ignore[misc]  # SymPy has no types
    """A variance: the mean of the squared distance from the mean."""

    nargs = 1

    def _latex(self, printer: Any, exp: Any = None) -> str:
        body = rf"\operatorname{{Var}}\left({printer.doprint(self.args[0])}\right)"
        return body if exp is None else rf"{body}^{{{exp}}}"


OPAQUE = (E, Var, Sum, Integral, Limit)
"""What binds names of its own, so that what stands inside is not replaced from outside."""


class MatrixShape(Function):  # type: ignore[misc]  # SymPy has no types
    """The numbers of rows and columns of a matrix."""

    nargs = 1

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{shape}}\left({printer.doprint(self.args[0])}\right)"


n = Ordered("n", "A", integer=True, positive=True)
"""The number of keys."""

s = OrderedBase(Ordered("s", "r"))
p = OrderedBase(Ordered("p", "p"))
"""The scores of a row, and its probabilities exp(s_i)/Σexp(s_j)."""

x = OrderedBase(Ordered("x", "x"))
M = Ordered("M", "M", positive=True)
"""Any real vector over the keys, and a bound on its entries where one is assumed."""

sigma = Ordered("sigma", "s", positive=True)
"""The standard deviation of normal scores."""

largest = Ordered(r"\max_i s_i", "s0", real=True)
"""The largest of the n scores."""
