"""Prints what is derived: expressions as the field writes them, hypotheses in words; and compiles it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import (
    Basic,
    Expr,
    Idx,
    Indexed,
    IndexedBase,
    Integral,
    Interval,
    MatrixSymbol,
    Mul,
    Pow,
    Range,
    S,
    Symbol,
    Trace,
    exp,
    lambdify,
    oo,
)
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.stringpict import prettyForm
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

from verify.symbolic.kernel.gate import bound_in
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Vectors, assumed, free_symbols, parts_of
from verify.symbolic.kernel.words import E, Ordered, OrderedBase, Var

if TYPE_CHECKING:
    from verify.symbolic.kernel.core import Theorem


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
        return str(super()._print_Mul(self._without_signs(expr)))

    @staticmethod
    def _without_signs(expr: Any) -> Any:
        # SymPy would simplify each negative exponent first, to see whether it is a constant, and load its
        # physical units for that; only powers with constant ones go below a fraction's line.
        return expr.func(*map(_with_unsigned, expr.args), evaluate=False) if expr.is_Mul else expr

    def _print_Integral(self, expr: Any) -> str:  # noqa: N802
        # SymPy would print an integral within another as a factor of the numerator, above the other factors.
        inner = [one for one in Mul.make_args(expr.function) if isinstance(one, Integral)]
        if not inner or [len(limit) for limit in expr.limits] != [3]:
            return str(super()._print_Integral(expr))
        rest = Mul(*(one for one in Mul.make_args(expr.function) if one not in inner), evaluate=False)
        outer = rf"\left({self._print(rest)}\right)" if rest.is_Add else self._print(rest)
        variable, *ends = map(self._print, expr.limits[0])
        return r"\int\limits_{{{}}}^{{{}}} {}\, d{}".format(
            *ends, " ".join([outer, *map(self._print, inner)]), variable
        )

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


def unicode_art(expression: Any, before: str = "") -> str:
    """Return a SymPy expression drawn with Unicode characters, on several lines, behind a text before it."""
    entries = {entry: _as_symbol(entry) for entry in expression.atoms(Indexed)}
    drawn = prettyForm(*_ART._print(expression.xreplace(entries)).left(before))
    text: str = drawn.render(wrap_line=False)
    return text


def _as_symbol(entry: Any) -> Symbol:
    label = entry.base.label
    subscript = ",".join(map(plain, entry.indices))
    return Ordered(f"{plain(label)}_{subscript}", f"{getattr(label, 'rank', label)}_{subscript}")


_ROW, _COLUMN = Idx("i"), Idx("j")
_ORDINALS = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
_ENTRIES = {
    "ordered": "${0}_1$ is the largest of all ${0}_i$, and ${0}_2$ the next.",
    "symmetric": "${0}$ is symmetric.",
    "runs": "${0}$ is one of $1, \\dots, {1}$.",
    "bounded": "Every ${0}_i$ lies between $-{1}$ and ${1}$.",
}


_KNOWN = {
    Range(1, oo): "positive whole number",
    Range(0, oo): "whole number from $0$ on",
    S.Integers: "whole number",
    S.Reals: "real number",
    Interval.open(0, oo): "positive number",
    Interval(0, oo): "number from $0$ on",
}


def assumptions_of(theorem: Theorem) -> tuple[str, ...]:
    """Return what a theorem assumes, a sentence each: laws, domains, conditions, definitions."""
    found = theorem.hypotheses
    sentences: list[str] = []
    if isinstance(found.law, Vectors):
        sentences += _joint(found.law)
    elif found.law:
        sentences += _law(found.law, _indices(theorem))
    if found.law is None and (theorem.lhs.has(E, Var) or theorem.rhs.has(E, Var)):
        sentences.append("Any law for which the means exist.")
    sentences += _domains(found, theorem)
    sentences += [f"${latex(one)}$." for one in sorted(found.conditions, key=str)]
    # That a symbol is constant goes without saying: all others are named as random.
    for kind, *rest in sorted((one for one in found.entries if one[0] in _ENTRIES), key=str):
        sentences.append(_ENTRIES[kind].format(*map(latex, rest)))
    for name, meaning in found.definitions:
        sentences.append("${}$ stands for ${}$.".format(*map(latex, _defined(name, meaning))))
    return tuple(sentences)


def _defined(name: Any, meaning: Any) -> tuple[Any, Any]:
    """Return the name of what is defined, with indices if it is a family, and what it stands for."""
    if not isinstance(name, IndexedBase):
        return name, meaning
    indices, expression = meaning.args
    taken = {one.name for one in expression.atoms(Symbol)} - {one.name for one in indices}
    letters = (Symbol(one, integer=True) for one in "ijabce" if one not in taken)
    named = dict(zip(indices, letters, strict=False))
    return name[tuple(named.values())], expression.xreplace(named)


def _indices(theorem: Theorem) -> dict[Any, str]:
    """Return how the indices of families of entries are printed, as many as their entries have."""
    entries = parts_of(theorem.lhs, Indexed) | parts_of(theorem.rhs, Indexed)
    return {one.base: "ijabce"[: len(one.indices)] for one in entries}


def _law(law: Population, indices: dict[Any, str]) -> Iterator[str]:
    """Yield what is assumed of components, those of one law together."""
    names = {one: _entry(one, indices) for one, _ in law.laws}
    groups: dict[Any, list[str]] = {}
    families = {name for one, name in names.items() if isinstance(one, IndexedBase)}
    for one, moments in law.laws:
        groups.setdefault((moments, one in law.normal), []).append(names[one])
    if families or len(law.laws) > 1:
        yield f"All {_listed([*names.values()])} are independent."
    for group in law.alike:
        yield f"All {_listed([names[one] for one in group])} have one law."
    for (moments, normal), members in groups.items():
        each = f"Each {_listed(members)}" if len(members) > 1 or members[0] in families else members[0]
        if moments is None:
            yield f"{_listed(members)} may have any law for which the means exist."
        elif parts := [*_moments(moments)]:
            yield f"{each} {'is normal with' if normal else 'has'} {_listed(parts)}."


def _entry(component: Any, indices: dict[Any, str]) -> str:
    """Return a component as it is printed, a family as any one of its entries."""
    if not isinstance(component, IndexedBase):
        return f"${latex(component)}$"
    letters = indices.get(component, "i")
    return f"${latex(component[tuple(Idx(one) for one in letters)])}$"


def _joint(law: Vectors) -> Iterator[str]:
    """Yield what is assumed of random vectors: which depend on each other, their means and covariances."""
    yield from _sizes(set(law.moments), "random ")
    yield from _dependence(law)
    covariances = {(one, other): matrix for one, other, matrix in law.covariances}
    alike: dict[str, list[str]] = {}
    for one, mean in law.means:
        parts = [f"mean ${latex(mean)}$"]
        if (one, one) in covariances:
            parts.append(f"covariance matrix ${_matrix(covariances.pop((one, one)))}$")
        alike.setdefault(_listed(parts), []).append(f"${latex(one)}$")
    for words, members in alike.items():
        yield f"{'Each ' * (len(members) > 1)}{_listed(members)} has {words}."
    for (one, other), matrix in covariances.items():
        of_matrix = isinstance(matrix, MatrixSymbol)
        value = latex(matrix[_ROW, _COLUMN] if of_matrix else matrix)
        unless = "" if of_matrix else f" for ${latex(_ROW)} = {latex(_COLUMN)}$, and else $0$"
        pair = f"${latex(one[_ROW, 0])}$ with ${latex(other[_COLUMN, 0])}$"
        yield f"The covariance of {pair} is ${value}${unless}."


def _dependence(law: Vectors) -> Iterator[str]:
    """Yield which random vectors depend on each other, and whether they are normal."""
    groups = [[f"${latex(one)}$" for one in group] for group in law.groups()]
    if len(groups) > 1 and all(len(group) == 1 for group in groups):
        yield f"{_listed([*chain(*groups)])} are independent."
    elif len(groups) > 1:
        yield f"Independent of each other are {_listed([_listed(group, 'with') for group in groups])}."
    if law.normal:
        yield from (f"All entries of {_listed(group)} are jointly normal." for group in groups)


def _matrix(covariance: Any) -> str:
    """Return a matrix of covariances; a number is one times the unit matrix $I$."""
    if isinstance(covariance, MatrixSymbol):
        return latex(covariance)
    number = latex(covariance)
    return "I" if covariance == 1 else rf"\left({number}\right) I" if covariance.is_Add else f"{number} I"


def _moments(moments: tuple[Any, ...]) -> Iterator[str]:
    if len(moments) > 1:
        yield f"mean ${latex(moments[1])}$"
    if len(moments) > 2:
        yield f"variance ${latex((moments[2] - moments[1] ** 2).expand())}$"
    for order in range(3, len(moments)):
        yield f"{_ORDINALS[order]} moment ${latex(moments[order])}$"


def _listed(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def _domains(found: Hypotheses, theorem: Theorem) -> Iterator[str]:
    """Yield the domains of all free symbols, those of one domain together."""
    bound = bound_in(theorem.lhs) | bound_in(theorem.rhs)
    random = set(found.law.moments) if found.law else set()
    families = parts_of(theorem.lhs, IndexedBase) | parts_of(theorem.rhs, IndexedBase)
    matrices = parts_of(theorem.lhs, MatrixSymbol) | parts_of(theorem.rhs, MatrixSymbol)
    sizes = {one for matrix in matrices for size in matrix.shape for one in size.free_symbols}
    free = free_symbols(theorem.lhs) | free_symbols(theorem.rhs) | sizes | _of_law(found.law)
    free |= {one for one, _ in found.domains}
    free -= bound | random | {one.label for one in families}
    by_domain: dict[tuple[str, str], list[str]] = {}
    for one in sorted(free, key=str):
        if type(one) in {Symbol, Ordered}:
            by_domain.setdefault(_in_words(found.domain(one)), []).append(f"${latex(one)}$")
    for one in sorted(families - random, key=str):
        if (domain := assumed(one[Idx("i")])) not in {S.Complexes, S.Reals}:
            by_domain.setdefault(_in_words(domain), []).append(f"${latex(one[Idx('i')])}$")
    for (single, many), members in by_domain.items():
        if single:
            yield f"{_listed(members)} {f'are {many}' if len(members) > 1 else f'is {single}'}."
    yield from _sizes(matrices - random)


def _of_law(law: Population | Vectors | None) -> set[Any]:
    """Return the symbols in the moments or covariances of a law."""
    if isinstance(law, Vectors):
        parts = [matrix for *_, matrix in law.covariances]
    else:
        parts = [moment for _, moments in (law.laws if law else ()) for moment in moments or ()]
    return {one for part in parts for one in part.free_symbols}


def _sizes(matrices: Collection[Any], kind: str = "") -> Iterator[str]:
    """Yield the sizes of matrices, those of one size together."""
    by_shape: dict[Any, list[str]] = {}
    for one in sorted(matrices, key=str):
        by_shape.setdefault(one.shape, []).append(f"${latex(one)}$")
    for (rows, columns), members in by_shape.items():
        several = len(members) > 1
        if columns == 1:
            words = f"{kind}vectors" if several else f"a {kind}vector"
            size = latex(rows)
        else:
            words, size = "matrices" if several else "a matrix", rf"{latex(rows)}\times {latex(columns)}"
        yield f"{_listed(members)} {'are' if several else 'is'} {words} of ${size}$ real numbers."


@cache
def _in_words(domain: Any) -> tuple[str, str]:
    """Return what a domain is called, of one symbol and of several."""
    if isinstance(domain, Range) and domain.stop == oo and domain.start > 1:
        words = f"whole number from ${domain.start}$ on"
        return f"any {words}", words.replace("number", "numbers")
    if domain == S.Complexes:
        return "", ""
    if words := _KNOWN.get(domain, ""):
        return f"any {words}", words.replace("number", "numbers")
    inside = f"in ${latex(domain)}$"
    return inside, inside
