"""Reads a question as a reader writes it, such as ``Var(q·k)`` or ``E(sum(p^2))``: a parser, and no more.

    expression = term {("+" | "-") term}
    term       = factor {["*" | "·" | "/"] factor}
    factor     = "-" factor | atom {"²" | "³" | …} ["^" factor]
    atom       = number | name | name "(" expression {"," expression} ")"
               | "(" expression ")" | "|" expression "|"

A statement's computation may also hold lists of numbers, such as ``softmax([2, 1]/sqrt(d_k), 1)`` and
``[1, 2]·[3, 4]``. Nothing of a text is executed. What ``notation.plain`` prints of a question about a single
query can be read.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from sympy import Abs, Add, Expr, ImmutableMatrix, Integer, Rational, S, Sum, binomial, exp, gamma, log, pi
from sympy import E as EULER
from sympy import sqrt, sympify

from verify.errors import ClaimError, unknown
from verify.symbolic import vocabulary as of
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Index, Indicator, Quantile, Softmax, Var


class QuestionError(ClaimError):
    """A question or a formula cannot be read; its text says why, with a mark below the place."""


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


_TOKEN = re.compile(
    r"(?P<score>q(?:_[ab])?\s*[·⋅.*]\s*k(?:_[jl])?(?![\w]))|(?P<length>\|[qk]\||cos\( *q *, *k *\))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>√|∛|Σ(?:_j)?|_j|[A-Za-zα-ωΓ][A-Za-z0-9α-ω_]*)|(?P<raised>[⁰¹²³⁴-⁹]+)"
    r"|(?P<sign>\*\*|[-+*/^·⋅−×()\[\]|,<>])|(?P<space>\s)|(?P<other>.)"
)
_NAMES = ("name", "score", "length")
"""Kinds of tokens that stand for something by their text; |q| is a length, and |x| of a number its size."""

_SIGNS = {"**": "^", "⋅": "*", "·": "*", "×": "*", "−": "-"}
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
"""How tightly signs bind; a minus before a number binds more than a product, and less than a power."""

_OPERATIONS = {"+": operator.add, "-": operator.sub, "/": operator.truediv, "^": operator.pow}
_CLOSING = {"(": ")", "[": "]", "|": "|"}
_LONGEST, _DEEPEST, _HIGHEST = 500, 30, 64


def _log(x: Any) -> Any:
    """Return the logarithm; that of a sum of exponentials is a function of its own, which cannot overflow."""
    if isinstance(x, Sum) and isinstance(x.function, exp) and x.limits == ((of.j, 1, of.n),):
        return of.LogSumExp(x.function.args[0], of.j)
    return log(x)


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "sqrt": sqrt,
    "√": sqrt,
    "∛": lambda x: x ** Rational(1, 3),
    "log": _log,
    "ln": _log,
    "exp": exp,
    "abs": Abs,
    "gamma": gamma,
    "Γ": gamma,
}
_CONSTANTS = {"d_k": of.d, "d": of.d, "n": of.n, "pi": pi, "π": pi, "e": EULER}


def _standardized(x: Any, order: int) -> Any:
    """Return the mean of the standardized x to some power, by the binomial theorem, in raw moments."""
    raw = [S.One, *(E(x**power) for power in range(1, order + 1))]
    terms = (binomial(order, power) * raw[power] * (-E(x)) ** (order - power) for power in range(order + 1))
    return Add(*terms) / Var(x) ** Rational(order, 2)


_MEANS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    **dict.fromkeys(("E", "P", "mean"), (1, E)),
    "Var": (1, Var),
    "Cov": (2, Cov),
    "corr": (2, lambda x, y: Cov(x, y) / sqrt(Var(x) * Var(y))),
    **dict.fromkeys(("sd", "std"), (1, lambda x: sqrt(Var(x)))),
    "median": (1, lambda x: Quantile(x, S.Half)),
    "quantile": (2, Quantile),
    "kurtosis": (1, lambda x: _standardized(x, 4)),
    "skewness": (1, lambda x: _standardized(x, 3)),
}
"""Functions that average, with the number of their arguments."""

_BINDERS: Mapping[str, Callable[[Any, Index], Any]] = {
    "sum": of.over_keys,
    "max": of.Largest,
    "H": Entropy,
    "entropy": Entropy,
    "logsumexp": of.LogSumExp,
}
"""Functions that run over all keys."""


_FORMULA = (*_PLAIN, *_CONSTANTS)
_VECTORS = ("q_i", "k_i", "q·k", "|q|", "|k|", "cos(q,k)")
_RANDOM = ("score", "s", "p", "p_j", "p_scaled", "H", "H_scaled", *_VECTORS)
_QUESTION = (*_MEANS, *_BINDERS, *_FORMULA, *_RANDOM, "softmax")


def parse(text: str) -> Expr:
    """Return a question as an expression of the vocabulary.

    ``p`` is the weight of any key, or inside ``sum`` and ``max`` that of each.

    Raises:
        QuestionError: it is no such expression, or nothing in it is averaged.
    """
    expression = _Reader(text, _QUESTION).whole()
    if not expression.has(E, Var, Cov, Quantile):
        raise QuestionError(_marked("nothing is averaged: write E(…) or Var(…)", text, 0))
    if not of.families_of(expression):
        raise QuestionError(_marked("nothing in it is random: ask about q·k, |q|, p or H", text, 0))
    return expression


def parse_formula(text: str) -> Expr:
    """Return a formula of d_k and n, such as ``7*d_k/144``, as an expression.

    Raises:
        QuestionError: it is none, or has other symbols.
    """
    return _Reader(text, _FORMULA).whole()


def parse_value(text: str) -> Expr:
    """Return the expression that a statement has computed: with means, d_k, and lists of numbers.

    Raises:
        QuestionError: it is no such expression, or its value is a list.
    """
    try:
        value = _Reader(text, _QUESTION, lists=True).whole()
    except (AttributeError, NotImplementedError, TypeError, ValueError):  # SymPy's, of a matrix
        if "[" not in text:
            raise
        value = ImmutableMatrix()
    if isinstance(value, ImmutableMatrix):
        problem = "a list is no number; take one of its numbers, as in softmax([2, 1], 1)"
        raise QuestionError(_marked(problem, text, 0))
    return value


def _marked(problem: str, text: str, at: int) -> str:
    return f"{problem}\n  {text}\n  {' ' * at}^"


class _Reader:
    """Reads one text from left to right; a score is of the key that the innermost sum around it runs over."""

    def __init__(self, text: str, known: tuple[str, ...], *, lists: bool = False) -> None:
        self.text, self.known, self.lists = text, known, lists
        self._averaged, self._deep, self._bars = False, 0, False
        self._keys = [of.j]
        self._tokens, self._place = list[_Token](), 0
        if not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise QuestionError(f"an expression is one line of 1 to {_LONGEST} characters, such as Var(q·k)")
        for piece in _TOKEN.finditer(text):
            token = _Token(str(piece.lastgroup), _SIGNS.get(piece[0], piece[0]), piece.start())
            if token.text in ("=", "≤", "≥") and known is _QUESTION and not lists:
                self.fail("ask for the quantity alone, and give a formula to be tested as --against", token)
            if token.text == "?":
                self.fail("ask in a formula, such as Var(q·k)", token)
            if token.kind == "other":
                self.fail(f"{token.text} means nothing here", token)
            if token.kind != "space":
                self._tokens.append(token)
        self._tokens.append(_Token("end", "the end", len(text)))

    def fail(self, problem: str, token: _Token) -> NoReturn:
        """Raise the error that marks a place of the text."""
        raise QuestionError(_marked(problem, self.text, token.at))

    def whole(self) -> Expr:
        """Return the whole text as an expression."""
        expression, rest = self._expression(), self._next
        if rest.kind != "end":
            problems = dict.fromkeys(")]|", "this bracket was not opened")
            problems |= dict.fromkeys("<>", "a comparison stands in P(x > y) alone")
            self.fail(problems.get(rest.text, f"{rest.text} means nothing here"), rest)
        if sympify(expression).has(S.ComplexInfinity, S.NaN, S.Infinity, S.NegativeInfinity, S.ImaginaryUnit):
            self.fail("it divides by 0, or takes a root of a negative number", self._tokens[0]._replace(at=0))
        return sympify(expression)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> _Token | None:
        """Return the next token and go on, if it is among these signs."""
        token = self._next
        if token.kind != "sign" or token.text not in texts:
            return None
        self._place += 1
        return token

    def _expression(self, least: int = 0) -> Any:
        """Return what stands up to the next sign that binds no tighter than ``least``, as ``_BINDS`` says."""
        # A minus binds less than a power and more than a product: -x^2 is -(x^2), and -x·y is (-x)·y.
        value = -self._expression(3) if self._take("-") else self._atom()
        while (binds := self._binds(self._next)) > least:
            sign = self._next
            self._place += sign.text in _BINDS or sign.kind == "raised"
            if sign.kind == "raised":  # such digits belong to the number before them
                value **= Integer(sign.text.translate(_DIGITS))
                continue
            # The sign ^ reads from the right: 2^3^2 is 2^9.
            operand = self._expression(3 if sign.text == "^" else binds)
            if sign.text == "/" and operand == 0:
                self.fail("this divides by 0", sign)
            if sign.text == "^" and value.is_Rational and operand.is_number and abs(operand) > _HIGHEST:
                self.fail(f"a power of a number is at most {_HIGHEST}", sign)
            if isinstance(value, ImmutableMatrix) and isinstance(operand, ImmutableMatrix) and binds == 2:
                value = value.dot(operand)
            else:
                value = _OPERATIONS.get(sign.text, operator.mul)(value, operand)
        return value

    def _binds(self, token: _Token) -> int:
        """Return how tightly a token binds what follows to what stands before it; 0 where it ends that."""
        # A factor may stand behind another without a sign, as in 2 d_k or n (n - 1).
        if token.kind in _NAMES or token.text in "([" or (token.text == "|" and not self._bars):
            return 2
        return 5 if token.kind == "raised" else _BINDS.get(token.text, 0)

    def _atom(self) -> Any:
        token = self._next
        if token.kind == "end":
            self.fail("something is missing at the end", token)
        self._place += 1
        if token.kind == "number":
            digits = token.text.lower().partition("e")[0].strip("0.")
            # Beyond these a float is 0 or infinite, and what is measured would be nothing.
            if digits and not 1e-300 < float(token.text) < 1e300:
                self.fail("a number is at most 1e300, and at least 1e-300 or 0", token)
            return Rational(token.text)
        if token.kind in _NAMES:
            return self._named(token)
        if token.text not in _CLOSING:
            self.fail(f"something is missing before {token.text}", token)
        if token.text == "[" and self.lists:
            return ImmutableMatrix(self._inside(token, range(1, _LONGEST)))
        (inside,) = self._inside(token)
        return Abs(inside) if token.text == "|" else inside

    def _inside(self, opening: _Token, numbers: Sequence[int] = (1,), name: str = "a bracket") -> list[Any]:
        """Return the expressions in a bracket that was opened; ``numbers`` says how many there may be."""
        # Within bars the next bar closes them; within brackets in them a bar opens others.
        before, self._bars = self._bars, opening.text == "|"
        self._deep += 1
        if self._deep > _DEEPEST:
            self.fail("too many brackets in each other", opening)
        parts = list[Any]()
        while not parts or self._take(","):
            part = self._expression()
            if name == "P" and (sign := self._take(">", "<")):
                part = Indicator(part - self._expression() if sign.text == ">" else self._expression() - part)
            parts.append(part)
        if not self._take(_CLOSING[opening.text]):
            if self._next.kind == "end":
                self.fail("this bracket is not closed", opening)
            self.fail(f"{self._next.text} means nothing here", self._next)
        self._deep, self._bars = self._deep - 1, before
        if len(parts) not in numbers:
            things = "one expression" if numbers[0] == 1 else "two expressions"
            self.fail(f"{name} holds {things}, not {len(parts)}", opening)
        return parts

    def _arguments(self, token: _Token, numbers: Sequence[int] = (1,)) -> list[Any]:
        bracket = f"{token.text} needs a bracket: {token.text}(…)"
        opening = self._take("(", "[") or self.fail(bracket, token)
        parts = self._inside(opening, numbers, token.text)
        if token.text != "softmax" and any(isinstance(part, ImmutableMatrix) for part in parts):
            self.fail(f"{token.text} is of a number, not of a list", token)
        return parts

    def _named(self, token: _Token) -> Any:
        """Return the expression that a name stands for, a function with its arguments."""
        # A cosine is written with spaces, or without.
        name = "score" if token.kind == "score" else token.text.replace("Σ", "sum").replace(" ", "")
        name = name.removesuffix("_j") if name in ("max_j", "sum_j", "p_j") else name
        is_called = self._next.text in ("(", "[")
        if name not in self.known:
            if self.known is _FORMULA:
                self.fail(f"a formula has d_k and n only, not {token.text}", token)
            if token.text in ("q", "k"):
                self.fail(f"{token.text} is a vector: write q·k, |{token.text}| or {token.text}_i", token)
            # Every single letter is near a name, so that a suggestion would mislead.
            near, kind = self.known * (len(token.text) > 1), "function" if is_called else "name"
            names = "there are q·k, p, p_scaled, H, d_k, n, E, Var, …"
            self.fail(unknown(kind, token.text, near, names), token)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _PLAIN:
            return _PLAIN[name](self._arguments(token)[0] if is_called else self._atom())
        if name in _MEANS:
            return self._mean(token)
        if name == "softmax" or (name in _BINDERS and (name != "H" or is_called)):
            return self._over_keys(token, name)
        if not self._averaged:
            problem = f"{token.text} is random, and stands outside a mean; write E(…) or Var(…) around it"
            self.fail(problem, token)
        key = of.l if "_l" in token.text else self._keys[-1]
        score = of.score_of(of.b if "_b" in token.text else of.a, key)
        scores = score / sqrt(of.d) if name.endswith("_scaled") else score
        meanings = {
            "p": Softmax(scores, key),
            "H": Entropy(scores.xreplace({key: of.j}), of.j),
            "q_i": of.q[of.a, of.i],
            "k_i": of.k[key, of.i],
            "|q|": sqrt(Dot(of.q, of.a, of.q, of.a)),
            "|k|": sqrt(Dot(of.k, key, of.k, key)),
        }
        meanings["cos(q,k)"] = score / (meanings["|q|"] * meanings["|k|"])
        return meanings.get(name.removesuffix("_scaled"), score)

    def _mean(self, token: _Token) -> Any:
        if self._averaged:
            problem = f"{token.text} stands within another mean; all that is drawn is averaged at once"
            self.fail(problem, token)
        # What is random may stand inside only.
        self._averaged = True
        number, function = _MEANS[token.text]
        value = function(*self._arguments(token, (number,)))
        self._averaged = False
        if token.text == "P" and not isinstance(value.args[0], Indicator):
            self.fail("P is of an event: write P(x > y) or P(x < y)", token)
        if isinstance(value, Quantile) and not (value.args[1].is_Rational and 0 < value.args[1] < 1):
            self.fail("a quantile's level is a number between 0 and 1, as in quantile(q·k, 0.95)", token)
        return value

    def _over_keys(self, token: _Token, name: str) -> Any:
        """Return a sum, a maximum or an entropy over keys; without a bracket, of the product that follows."""
        if name == "softmax":
            key, parts = self._keys[-1], self._arguments(token, (1, 2))
            self._place += self._next.text == "_j"  # as the terminal prints it
        else:
            # A sum within another runs over an index of its own.
            if len(self._keys) > 2:
                self.fail("at most two sums over keys stand in each other", token)
            key = of.j if len(self._keys) == 1 else of.l
            self._keys.append(key)
            is_called = name not in ("sum", "max") or self._next.text in ("(", "[")
            parts = self._arguments(token) if is_called else [self._expression(1)]
            self._keys.pop()
        if isinstance(parts[0], ImmutableMatrix):
            powers, place = parts[0].applyfunc(exp), parts[-1]
            # Of the list that softmax makes a second argument picks a number.
            if len(parts) == 1 or not (place.is_Integer and 1 <= place <= len(powers)):
                problem = f"of a list softmax takes a second argument, a place from 1 to {len(powers)}"
                self.fail(problem, token)
            return powers[int(place) - 1] / sum(powers)
        if len(parts) > 1:
            self.fail("softmax holds one expression, not 2", token)
        if key not in of.free_indices(parts[0]):
            self.fail(f"nothing in {token.text} depends on the key", token)
        if name in ("H", "entropy") and isinstance(parts[0], Softmax):
            # Of weights it is the entropy of these, and not of weights that are made of them once more.
            return Entropy(parts[0].args[0], key)
        return (Softmax if name == "softmax" else _BINDERS[name])(parts[0], key)
