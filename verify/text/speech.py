"""Formulas in words that a screen reader can speak, such as ``variance of q dot k equals d sub k``."""

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from verify.text.escapes import pieces
from verify.text.latex import spoken

_NAME = re.compile(
    r"\\(?P<kind>operatorname|mathrm|mathbb|mathbf|mathcal|mathsf|text|textrm)\*?\s*\{(?P<name>[\w ]+)\}"
)
_SILENT = re.compile(
    r"\\(?:displaystyle|textstyle|limits|nolimits|quad|qquad|mathrm|mathbb|mathbf|mathsf|[bB]igg?[lr]?)(?![A-Za-z])"
    r"|\\(?:left|right)(?![A-Za-z])\.?|(?<!\\)\\[,;:! ]|\\(?:begin|end)\{(?:aligned|matrix|cases)\}|[\s&~]+"
)
_TOKEN = re.compile(r"\\(?:name|words)\{[^}]*\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|.", re.DOTALL)
_SIGNS = {
    "+": "plus",
    "-": "minus",
    "=": "equals",
    "<": "is less than",
    ">": "is greater than",
    "/": "over",
    "!": "factorial",
    "*": "times",
    "(": "open paren",
    ")": "close paren",
    "[": "open bracket",
    "]": "close bracket",
    r"\{": "open brace",
    r"\}": "close brace",
    "|": "given",
    r"\mid": "given",
    r"\cdot": "dot",
    r"\times": "times",
    r"\circ": "times, entry by entry,",
    r"\pm": "plus or minus",
    r"\le": "is at most",
    r"\leq": "is at most",
    r"\ge": "is at least",
    r"\geq": "is at least",
    r"\ne": "is not",
    r"\neq": "is not",
    r"\approx": "is about",
    r"\sim": "is distributed as",
    r"\propto": "is proportional to",
    r"\in": "in",
    r"\subset": "lies in",
    r"\cap": "and",
    r"\cup": "or",
    r"\to": "goes to",
    r"\Rightarrow": "implies",
    r"\implies": "implies",
    r"\iff": "if and only if",
    r"\Leftrightarrow": "if and only if",
    r"\infty": "infinity",
    r"\emptyset": "the empty set",
    r"\ell": "l",
    r"\dots": "and so on",
    r"\ldots": "and so on",
    r"\cdots": "and so on",
    r"\top": "T",
    r"\varepsilon": "epsilon",
    r"\varphi": "phi",
    r"\\": ";",
    r"\%": "percent",
    r"\substack": "",
    "{": "",
    "}": "",
}
_FUNCTIONS = {
    "E": "E",
    "Var": "variance",
    "Cov": "covariance",
    "erf": "error function",
    "tr": "trace",
    "erfinv": "inverse error function",
    "diag": "diagonal",
    "rowsum": "row sums",
    "softmax": "softmax",
    "se": "standard error",
    "sign": "sign",
    "shape": "shape",
    r"\ln": "log",
    r"\log": "log",
    r"\exp": "exponential",
    r"\max": "maximum",
    r"\min": "minimum",
    r"\tanh": "hyperbolic tangent",
}
_CALLED = frozenset(["f", r"\phi", r"\varphi", r"\psi", r"\Phi", r"\Gamma"])  # functions before a bracket
_RANGES = {
    r"\sum": "sum",
    r"\prod": "product",
    r"\int": "integral",
    r"\lim": "limit",
    r"\max": "maximum",
    r"\min": "minimum",
}
_ACCENTS = {r"\bar": "bar", r"\overline": "bar", r"\hat": "hat", r"\widehat": "hat", r"\tilde": "tilde"}
_NORMS = {"|": "absolute value", r"\|": "norm", r"\lVert": "norm"}
_CLOSING = {"(": ")]", "[": ")]", r"\{": (r"\}",), "|": "|", r"\|": (r"\|",), r"\lVert": (r"\rVert",)}
_DEEPER, _SHALLOWER = frozenset(["(", "[", "{", r"\{"]), frozenset([")", "]", "}", r"\}"])
_POWERS = {"2": "squared", "3": "cubed", "capital T": "transposed", "T": "transposed", "plus": "from above"}
_FRACTIONS = frozenset([r"\frac", r"\tfrac", r"\dfrac"])
_OPERATOR = re.compile(r"(?:the fraction )?(?:d|partial)(?: squared)? over (?:d|partial) (?!sub )")
# What has a name among the signs, but is a factor as letters are.
_FACTOR_SIGNS = frozenset(["{", r"\infty", r"\ell", r"\varepsilon", r"\varphi", *_CLOSING])
_FACTORS = ("the sum", "the product", "the integral", "the limit", "the fraction")


class _Phrase(NamedTuple):
    """Words; what holds more than one thing is not ``simple``; ``bare`` is what simple brackets hold."""

    words: str
    simple: bool = True
    bare: str = ""


@cache
def in_words(latex: str) -> str:
    """Return a formula in words; a command that is not known here is read as its name."""
    words = _Speaker(latex).sequence(()).words
    return re.sub(r"[ ,]*([,;])", r"\1", " ".join(words.split())).strip(", ") or spoken(latex)


def prose_in_words(prose: str) -> str:
    """Return running text with its formulas in words."""
    return "".join(in_words(piece.text) if piece.is_formula else piece.text for piece in pieces(prose))


class _Speaker:
    """Reads a formula's tokens once, from left to right."""

    def __init__(self, latex: str) -> None:
        named = _SILENT.sub(" ", _NAME.sub(_named, latex))
        self._tokens = [sign for sign in _TOKEN.findall(named) if not sign.isspace()]
        self._next = 0

    def _peek(self, further: int = 0) -> str:
        place = self._next + further
        return self._tokens[place] if place < len(self._tokens) else ""

    def _take(self) -> str:
        sign = self._peek()
        self._next += 1
        return sign

    def sequence(self, closing: Collection[str]) -> _Phrase:
        """Return the words up to a closing token, which is left to the caller, or to the end."""
        terms: list[_Phrase] = []
        after_factor = after_fraction = False
        while (sign := self._peek()) and sign not in closing and (sign != "}" or not closing):
            is_differential = sign == "d" and bool(re.fullmatch(r"[A-Za-z]|\\[a-z]+", self._peek(1)))
            term = self._term()
            summed = after_factor and term.words.startswith(_FACTORS)
            multiplies = _is_factor(sign) and not is_differential and term.words != "given"
            if summed or (after_fraction and multiplies):
                terms.append(_Phrase("times"))
            terms.append(term)
            # The d over d x of a derivative multiplies nothing.
            is_operator = sign in _FRACTIONS and _OPERATOR.match(term.words) is not None
            after_factor = _is_factor(sign) and not is_operator and not term.words.endswith(" of")
            after_fraction = sign in _FRACTIONS and not is_operator
        if terms and terms[0].words == "minus" and len(terms) == 2:
            return _Phrase(f"minus {terms[1].words}", terms[1].simple)
        simple = len(terms) < 2 and all(term.simple for term in terms)
        return _Phrase(
            " ".join(term.words for term in terms), simple, terms[0].bare if len(terms) == 1 else ""
        )

    def _term(self) -> _Phrase:
        """Return an atom with its indices and powers, a function with its argument."""
        sign = self._peek()
        if sign in _RANGES and (self._peek(1) == "_" or sign not in _FUNCTIONS):
            return self._range(_RANGES[self._take()])
        atom = self._scripted(self._atom())
        named = _name(sign) in _FUNCTIONS or (sign.startswith(r"\name{") and len(_name(sign)) > 1)
        if (named and self._has_operand()) or (sign in _CALLED and self._peek() in {"(", "["}):
            argument = self._term()
            return _Phrase(f"{atom.words} of {argument.bare or argument.words}", simple=argument.simple)
        return atom

    def _has_operand(self) -> bool:
        sign = self._peek()
        if sign in _NORMS:
            return self._has_partner(sign)
        return _is_factor(sign)

    def _range(self, name: str) -> _Phrase:
        """Return a sum, a product, an integral, a limit or a maximum with its bounds."""
        low, high = "", ""
        while self._peek() in {"_", "^"}:
            is_low = self._take() == "_"
            bound = self._argument().words
            low, high = (bound, high) if is_low else (low, bound)
        start = "from" if high else "as" if name == "limit" else "over"
        bounds = (f" {start} {low}" if low else "") + (f" to {high}" if high else "")
        return _Phrase(f"the {name}{bounds} of", simple=False)

    def _scripted(self, atom: _Phrase) -> _Phrase:
        words = atom.words
        while (mark := self._peek()) and mark in "_^'":
            self._take()
            if mark == "'":
                words += " prime"
            else:
                words += _index(self._argument()) if mark == "_" else _power(self._argument())
        return _Phrase(words) if words != atom.words else atom

    def _argument(self) -> _Phrase:
        """Return what a command applies to: a group, or the one token that follows."""
        sign = self._peek()
        if len(sign) > 1 and sign[0].isdigit():
            # TeX takes one digit at a time here.
            self._tokens[self._next : self._next + 1] = [sign[0], sign[1:]]
        return self._atom()

    def _atom(self) -> _Phrase:
        sign = self._peek()
        if sign in _CLOSING and (sign not in _NORMS or self._has_partner(sign)):
            return self._bracketed()
        self._take()
        if sign == "{":
            inner = self.sequence("}")
            self._take()
            return inner
        if sign in _ACCENTS:
            return _Phrase(f"{self._argument().words} {_ACCENTS[sign]}")
        if sign in _FRACTIONS:
            return self._fraction()
        return self._root() if sign == r"\sqrt" else _Phrase(_word(sign))

    def _fraction(self) -> _Phrase:
        above, below = self._argument(), self._argument()
        if above.simple and below.simple:
            return _Phrase(f"{above.words} over {below.words}", simple=False)
        return _Phrase(f"the fraction {above.words} over {below.words}, end fraction,")

    def _root(self) -> _Phrase:
        name = "square root"
        if self._peek() == "[":
            self._take()
            order = self.sequence("]").words
            self._take()
            name = "cube root" if order == "3" else f"root of order {order}"
        inner = self._argument()
        return _Phrase(f"{name} of {inner.words}" + ("" if inner.simple else ", end root,"))

    def _bracketed(self) -> _Phrase:
        opening = self._take()
        inner = self.sequence((*_CLOSING[opening], "}"))
        closing = self._take() if self._peek() in _CLOSING[opening] else ""
        if opening in _NORMS:
            kind = _NORMS[opening]
            # What stands behind the bars must not sound as if it stood between them; |x| squared is the same.
            plain = inner.simple and self._peek() not in ({"_", "^"} if kind == "norm" else {"_"})
            return _Phrase(f"{kind} of {inner.words}" + ("" if plain else f", end {kind},"))
        words = f"{_SIGNS[opening]} {inner.words} {_word(closing)}"
        # A power after inner brackets must not sound as if it stood after these.
        is_bare = inner.simple and closing and "open " not in inner.words
        return _Phrase(words, bare=inner.words if is_bare else "")

    def _has_partner(self, bar: str) -> bool:
        """Whether a bar is closed further on, inside the same brackets."""
        depth = 0
        for sign in self._tokens[self._next + 1 :]:
            if depth == 0 and sign in _CLOSING[bar]:
                return True
            depth += (sign in _DEEPER) - (sign in _SHALLOWER)
            if depth < 0:
                break
        return False


def _index(script: _Phrase) -> str:
    # Letters in a row are one index; of anything longer the end must be audible.
    plain = script.simple or re.fullmatch(r"(?:\b(?:capital \w|\w|prime)\b|[ ,])*", script.words)
    return f" sub {script.words}" + ("" if plain else ", end sub,")


def _power(script: _Phrase) -> str:
    known = _POWERS.get(script.words, f"to the power {script.words}")
    return f" {known}" + ("" if script.simple else ", end power,")


def _named(match: re.Match[str]) -> str:
    # Text is a function only if it is one's name; else a remark, such as "if".
    is_text = match["kind"].startswith("text") and match["name"].strip() not in _FUNCTIONS
    return rf"\{'words' if is_text else 'name'}{{{match['name'].strip()}}}"


def _is_factor(sign: str) -> bool:
    """Whether a product or a function's argument may go on with this token."""
    return sign in _FACTOR_SIGNS or not (
        sign in _SIGNS or sign in {"", ",", ";", ".", ":", r"\rVert"} or sign.startswith(r"\words{")
    )


def _name(sign: str) -> str:
    return sign.partition("{")[2][:-1] if sign.startswith((r"\name{", r"\words{")) else sign


def _word(sign: str) -> str:
    """Return how a token is called."""
    name = _name(sign)
    if name in _SIGNS or name in _FUNCTIONS:
        return _SIGNS.get(name) or _FUNCTIONS.get(name, "")
    # A capital would sound like the small letter; Greek ones have commands.
    is_letter = len(name) == 1 or name.startswith("\\")
    name = name.lstrip("\\")
    return f"capital {name}" if is_letter and name[:1].isupper() else name
