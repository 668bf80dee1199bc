"""The kernel's vocabulary: what expressions may be made of, and the symbols that rules know by name."""

from __future__ import annotations

import re
from typing import Any

from sympy import (
    Abs,
    Add,
    Derivative,
    Dummy,
    Eq,
    Function,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    Integral,
    KroneckerDelta,
    Limit,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    S,
    Sum,
    Symbol,
    Trace,
    Transpose,
    Tuple,
    besselk,
    binomial,
    cos,
    cosh,
    erf,
    erfc,
    erfinv,
    exp,
    factorial,
    gamma,
    log,
    sign,
    sin,
    sinh,
    tan,
    tanh,
)  # fmt: skip
from sympy.core.function import UndefinedFunction
from sympy.core.symbol import Str
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.matrices.immutable import ImmutableDenseMatrix
from sympy.printing.str import StrPrinter

RELATION = re.compile(
    r"[<>=~≤≥≈∼≠]|\\(?:not|n?leq?|n?geq?|neq?|[lg]t|[lg]ll?|gg|approx|sim|cong|equiv|propto|doteq|asymp"
    r"|[a-z]*to|[A-Za-z]*arrow|iff|implies|in|[a-z]*eq[a-z]*|less[a-z]*|gtr[a-z]*)(?![A-Za-z])"
)
"""A sign of a relation in text or LaTeX: what no name, no definition and no label may smuggle in."""


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

    def __le__(self, other: str) -> bool:
        return self._key() <= _rank_of(other)

    def __ge__(self, other: str) -> bool:
        return self._key() >= _rank_of(other)

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

WORDS = frozenset([
    Abs, Add, Derivative, Dummy, E, Eq, Idx, ImmutableDenseMatrix, Indexed, IndexedBase, IndexedEntry,
    Integral, KroneckerDelta, Limit, MatAdd, MatMul, MatPow, MatrixElement, MatrixShape, MatrixSymbol, Max,
    Min, Mul, Ordered, OrderedBase, Pow, Str, Sum, Symbol, Trace, Transpose, Tuple, Var, besselk, binomial,
    cos, cosh, erf, erfc, erfinv, exp, factorial, gamma, log, sign, sin, sinh, tan, tanh,
    *(type(one) for one in (S.Zero, S.One, S.NegativeOne, S.Half, S.Pi, S.Exp1, S.ImaginaryUnit, S.Infinity,
                            S.NegativeInfinity, Integer(7), Rational(2, 7))),
])  # fmt: skip
"""The exact types of nodes. An author's own function, which might say of itself what it likes, is none."""

_BY_IDENTITY = frozenset(map(id, WORDS))
"""What tells classes apart: one may claim to equal another."""

_NAMELESS = frozenset(id(one) for one in WORDS if not issubclass(one, Symbol | Str))
"""Those whose nodes have no name."""

_OF_A_NAME = vars(Function("f")).keys() | {"is_commutative"}
"""All that the class of such a function holds."""

_TAKEN = {"P", "ln", "Cov", "Gamma", "K", "max", "min", "tr", *(one.__name__ for one in WORDS)}
"""What no function of an author's is called: it would be printed as one that is known."""

_ASSUMED: tuple[dict[str, bool], ...] = (
    {}, {"real": True}, {"real": True, "zero": False}, {"positive": True}, {"nonnegative": True},
    {"negative": True}, {"integer": True}, {"integer": True, "nonnegative": True},
    {"integer": True, "positive": True},
)  # fmt: skip
_DOMAINS = frozenset(frozenset(Symbol("x", **one).assumptions0.items()) for one in _ASSUMED)
"""What symbols assume: just that they lie in a domain. Nothing would say that one is even, say."""

_CALLED = ("name", "rank", "dummy_index")
"""By what symbols and names equal each other."""


def is_word(node: Any) -> bool:
    """Return whether a node is of the vocabulary by its exact type, or a function known by name alone.

    What it is called by is plain text, which does not equal another text, and a plain number. Symbols whose
    names begin with an underscore are the kernel's own: normal forms take them for bound indices. A family
    has no shape and an index no range, which would tell two of one name apart.
    """
    kind = type(node)
    if id(kind) in _NAMELESS:
        return len(node.args) == 1 if isinstance(node, Idx | IndexedBase) else True
    if type(kind) is UndefinedFunction:
        named = type(kind.__name__) is str and kind.__name__.partition("_")[0] not in _TAKEN
        return named and kind._kwargs == {} and vars(kind).keys() <= _OF_A_NAME
    called = (getattr(node, part, "") for part in _CALLED) if isinstance(node, Symbol | Str) else ()
    if id(kind) not in _BY_IDENTITY or not all(type(one) is str or type(one) is int for one in called):
        return False
    if isinstance(node, Symbol) and frozenset(node.assumptions0.items()) not in _DOMAINS:
        return False
    return not (kind is Symbol or kind is Ordered) or not node.name.startswith("_")
