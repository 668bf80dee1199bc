"""The words of a claim: what stands in braces is a slot, filled from what is derived and measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import Symbol, fraction, sqrt, sympify
from sympy.printing.precedence import PRECEDENCE

from verify.errors import ClaimError, unknown
from verify.spec.words import NOT_KNOWN, SIGNS, Words
from verify.symbolic.kernel.core import Theorem
from verify.symbolic.printing import _Latex, assumptions_of, latex
from verify.symbolic.scores import d, k, q, score

_BRACKETS = re.compile(r"\\left([(\[])((?:(?!\\(?:left|right|frac|sum|int|prod)).)*)\\right([)\]])")


class _InLine(_Latex):
    """Prints short fractions with a stroke."""

    _printed: ClassVar[dict[Any, Any]] = {}

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        text: str = super()._print_Mul(expr)
        over, _, under = text.rpartition(" / ")
        if not over:
            return text
        # What is below a stroke ends with its first factor, unless brackets say otherwise.
        below = fraction(self._without_signs(expr), exact=True)[1]
        is_product = below.is_Mul and under == super()._print_Mul(below)
        is_product |= isinstance(below, _InlineText) and below.precedence < PRECEDENCE["Atom"]
        return f"{over} / ({under})" if is_product else text

    def _needs_mul_brackets(self, expr: Any, **place: bool) -> bool:
        # Powers and functions of sums have brackets of their own.
        return not (expr.is_Pow or expr.is_Function) and super()._needs_mul_brackets(expr, **place)


_IN_LINE = _InLine({"mul_symbol": None, "ln_notation": True, "fold_short_frac": True})


class _InlineText(Symbol):  # type: ignore[misc]  # SymPy has no types
    @property
    def precedence(self) -> int:
        """What SymPy sets brackets by: those of a product, unless it is a single name."""
        is_name = not re.search(r"\\cdot|\\times|[-+/^\d]", self.name)
        return int(PRECEDENCE["Atom" if is_name else "Mul"])

    def _latex(self, _printer: Any) -> str:
        return str(self.name)


@dataclass(frozen=True)
class Notation:
    """How a claim writes an expression where that is not how SymPy prints it, as LaTeX without dollar signs.

    It is written so in the claim's theorems, too.
    """

    latex: str
    expression: Any

    @property
    def symbol(self) -> Symbol:
        """The symbol that stands for the expression in print; a power of it gets what brackets it needs."""
        return _InlineText(self.latex)


SYMBOLS: Mapping[str, Any] = {
    "d_k": d,
    "root_d": sqrt(d),
    "q": Symbol("q"),
    "k": Symbol("k"),
    "score": Notation(r"q\cdot k", score),
    "scaled_score": Notation(r"q\cdot k/\sqrt{d_k}", score / sqrt(d)),
    "squared_length": Notation("|k|^2", score.subs(q, k)),
}
"""What the slots of every claim may name; a claim's own symbols come first."""


def in_line(expression: Any, symbols: Mapping[str, Any] = SYMBOLS) -> str:
    """Return an expression's LaTeX for a line of text: short fractions with a stroke, brackets of usual size.

    What ``symbols`` have a notation for is written in that.
    """
    notations = [own for own in symbols.values() if isinstance(own, Notation)]
    written = {own.expression: own.symbol for own in notations}
    text = str(_IN_LINE.doprint(sympify(expression).xreplace(written)))
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text.replace(" / ", "/").replace(r" \right", r"\right"))
    text = re.sub(r"\\left\|\{([^{}]*)\}\\right\|", r"|\1|", text)
    while (shorter := _BRACKETS.sub(r"\1\2\3", text)) != text:
        text = shorter
    return re.sub(r"\{(\([^{}()]*\))\}", r"\1", text)


def assumed(claim: Any, theorem: Theorem) -> tuple[str, ...]:
    """Return what a claim's theorem assumes, and what its own notations in the theorem are written for."""
    sides = [sympify(side) for side in (theorem.lhs, theorem.rhs)]
    written = (
        f"${own.latex}$ is written for ${latex(own.expression)}$."
        for own in claim.symbols.values()
        if isinstance(own, Notation) and any(side.has(own.expression) for side in sides)
    )
    return (*assumptions_of(theorem), *written)


class FormerWords(Words):
    """What a claim's texts are filled from, in the former language, whose chains are routes to theorems."""

    common = SYMBOLS

    def chains(self) -> tuple[str, ...]:
        """Return the names by which slots may name what chains show; "theorem" is the claim's own."""
        return ("theorem", *(chain.name for chain in self.derivation.chains if chain.name))

    def shown(self, chain: str, form: str) -> str:
        """Return a theorem, or one of its sides."""
        theorem = self.derivation.theorem("" if chain == "theorem" else chain)
        if theorem is None:
            return NOT_KNOWN
        sides = {"subject": theorem.lhs, "result": theorem.rhs}
        if form and form not in sides:
            raise ClaimError(unknown("side", form, sides, "there are subject and result"))
        if form:
            return f"${in_line(sides[form], self._symbols)}$"
        left, right = (in_line(side, self._symbols) for side in sides.values())
        return f"${left} {SIGNS[theorem.relation]} {right}$"

    def assumptions(self) -> str:
        """Return all that the main theorem assumes."""
        theorem = self.derivation.theorem()
        return " ".join(assumed(self.claim, theorem)) if theorem else NOT_KNOWN

    def printed(self, expression: Any) -> str:
        """Return an expression's LaTeX for a line of text."""
        return expression.latex if isinstance(expression, Notation) else in_line(expression, self._symbols)
