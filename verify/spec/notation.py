"""What authors may type in a claim's texts, and how its expressions are written in them."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import Add, Basic, Integer, Mul, Symbol, fraction, sqrt, sympify
from sympy.logic.boolalg import Boolean
from sympy.printing.precedence import PRECEDENCE

from verify.errors import ClaimError
from verify.symbolic.printing import _Latex
from verify.symbolic.scores import d, k, q, score
from verify.text.escapes import for_terminal

_OPEN, _CLOSE, _SLOT = "\ue000", "\ue001", "\ue002"

PIECE = re.compile(rf"{_OPEN}(.*?){_CLOSE}|\{{([^{{}}]+)\}}", re.DOTALL)
"""A piece that the tool has printed, or a slot, without braces."""

_BEFORE = re.compile(rf'(?:^|(?:(?<!{_SLOT} )\b[aAI]|\S\w|[,.;:”’"—]) )[("“‘]*$|\) $')
_AFTER = re.compile(rf'-[a-z]{{2}}|[)"”’,.;:?]*(?:$| (?:[aAI]\b|\w\w|["“‘(—{_SLOT}]))')
"""What may stand before and after a slot: words and punctuation, and no lone letter."""

_IN_NAME = re.compile(r"\b[A-Za-z]+[0-9][A-Za-z0-9]*")


def printed(text: str) -> str:
    """Return text that the tool itself printed from objects, marked as such: it is no author's typing."""
    return f"{_OPEN}{text}{_CLOSE}"


def unmarked(text: str) -> str:
    """Return text without the marks of ``printed``."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def refuse_typed(claim: str, where: str, text: str) -> None:
    """Refuse a text that holds a digit, a formula or a relation sign outside its slots.

    A digit after a letter is part of a name, as in bfloat16. Beside a slot stand words and punctuation.

    Raises:
        ClaimError: it does; the line quotes the piece.
    """
    blank = PIECE.sub(lambda piece: " " * len(piece[0]), text)
    blank = _IN_NAME.sub(lambda name: "x" * len(name[0]), blank)
    for place, sign in enumerate(blank):
        if is_formula(sign):
            raise ClaimError(
                f"claim {claim}: its {where} types “{for_terminal(_around(text, place))}”; put a slot "
                "there, such as {theorem}, or a fact, check or symbol by its name"
            )
    marked = " ".join(PIECE.sub(_SLOT, text).split())
    for place, sign in enumerate(marked):
        if sign == _SLOT and not (_BEFORE.search(marked[:place]) and _AFTER.match(marked[place + 1 :])):
            beside = marked[max(0, place - 9) : place + 10].replace(_SLOT, "{…}")
            raise ClaimError(
                f"claim {claim}: its {where} reads as a formula at “{for_terminal(beside)}”; let only words "
                "and punctuation stand beside a slot"
            )


_DASHES = "\u2010\u2011\u2013\u2014"  # hyphens and dashes; others look like signs of equality


def is_formula(sign: str) -> bool:
    """Return whether a sign is a digit, or one of relations and formulas."""
    if sign.isascii():
        return sign in "$\\{}^=<>~+|0123456789"
    is_sign = unicodedata.category(sign) in {"Sm", "Sk", "So", "Pd"} and sign not in _DASHES
    return is_sign or unicodedata.numeric(sign, None) is not None


def _around(text: str, place: int) -> str:
    """Return the formula or the word that stands at a place of a text."""
    if text[place] == "$":
        return text[place : (text.find("$", place + 1) + 1) or len(text)]
    before, after = re.split(r"\s", text[:place])[-1], re.split(r"\s", text[place:])[0]
    return unmarked(before + after)


_NAME = re.compile(r"\\?[A-Za-z]+'*(?:[_^](?:\w|\\[a-z]+|\{[^{}]*\}))*")
"""What reads as a symbol of its own, such as n or d_k."""

_COMMANDS = "[A-Za-z]+"
_NO_NOTATION = re.compile(
    rf"\\(?!(?:{_COMMANDS})(?![A-Za-z])|[|,])(?:[A-Za-z]+|.)|(?<![A-Za-z\\])[A-Za-z]{{3,}}|(?<![{{(])[-+]"
    r"|[^\x20-\x7e]|[!:;%'\"&~#]"
)
"""What says more than what an expression is called: words, negations, and signs, of sums too."""

_BRACKETS = re.compile(r"\\left([(\[])((?:(?!\\(?:left|right|frac|sum|int|prod)).)*)\\right([)\]])")

RESERVED = {"theorem", "assumptions", "tightest", "cell", "value"}
"""Names of slots that mean the same in every claim."""


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


def in_line(expression: Any, symbols: Mapping[str, Any] | None = None) -> str:
    """Return an expression's LaTeX for a line of text: short fractions with a stroke, brackets of usual size.

    What ``symbols``, by default those of every claim, have a notation for is written in that.
    """
    known = (SYMBOLS if symbols is None else symbols).values()
    written = {one.expression: one.symbol for one in known if isinstance(one, Notation)}
    text = str(_IN_LINE.doprint(sympify(expression).xreplace(written)))
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text.replace(" / ", "/").replace(r" \right", r"\right"))
    text = re.sub(r"\\left\|\{([^{}]*)\}\\right\|", r"|\1|", text)
    while (shorter := _BRACKETS.sub(r"\1\2\3", text)) != text:
        text = shorter
    return re.sub(r"\{(\([^{}()]*\))\}", r"\1", text)


@dataclass(frozen=True)
class Notation:
    """How a claim writes an expression where that is not how SymPy prints it, as LaTeX without dollar signs.

    It is written so in the claim's theorems, too.

    Raises:
        ClaimError: the LaTeX holds a relation or a decimal, leaves a factor of the expression out or has
            numbers of its own, or is the name of a symbol.
    """

    latex: str
    expression: Any

    def __post_init__(self) -> None:
        numbers = set(re.findall(r"\d+", self.latex))
        own = {str(abs(one)) for one in self.expression.atoms(Integer)}
        sums = self.expression.atoms(Mul, Add)
        factors = {str(abs(one)) for each in sums for one in each.args if isinstance(one, Integer)}
        wrong = "a dollar sign" if "$" in self.latex else ""
        if found := re.search(r"\d[.,]\d", self.latex):
            wrong = f"the decimal {found[0]}"
        elif numbers - own or factors - numbers - {"1"}:
            wrong = "other numbers than its expression"
        elif found := _NO_NOTATION.search(self.latex):
            wrong = f"“{found[0]}”, which is no sign of a product, a root, a power or a length"
        elif _NAME.fullmatch(self.latex):
            wrong = "a name of a symbol"
        if wrong:
            raise ClaimError(
                f"notation {self.latex!r} holds {wrong}; write what the expression alone is called"
            )

    @property
    def symbol(self) -> Symbol:
        """The symbol that stands for the expression in print; a power of it gets what brackets it needs."""
        return _InlineText(self.latex)


class _InlineText(Symbol):  # type: ignore[misc]  # SymPy has no types
    @property
    def precedence(self) -> int:
        """What SymPy sets brackets by: those of a product, unless it is a single name."""
        is_name = not re.search(r"\\cdot|\\times|[-+/^\d]", self.name)
        return int(PRECEDENCE["Atom" if is_name else "Mul"])

    def _latex(self, _printer: Any) -> str:
        return str(self.name)


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


def expression_of(value: Any) -> Any:
    """Return the expression that a claim's symbol stands for."""
    return value.expression if isinstance(value, Notation) else value


def refuse_values(named: str, symbols: Mapping[str, Any]) -> None:
    """Refuse symbols of a claim that are numbers or relations: those come from theorems, facts and checks.

    ``named`` is what the message begins with.

    Raises:
        ClaimError: one is, or its name means something else.
    """
    for name, value in symbols.items():
        found = expression_of(value)
        wrong = ""
        if not name.isidentifier() or name in RESERVED:
            wrong = "that name means something else; choose another"
        elif isinstance(found, Boolean) and not isinstance(found, Symbol):
            wrong = "it is a relation; take it from a theorem"
        elif not isinstance(found, Basic) or getattr(found, "is_number", False):
            wrong = "it is no expression with symbols in it; take numbers from facts, checks or settings"
        if wrong:
            raise ClaimError(f"{named}symbol {name!r} is {found!r}: {wrong}")
