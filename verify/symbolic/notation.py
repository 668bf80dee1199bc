"""Prints statements as a mathematician writes them: LaTeX, one line for the terminal, words to be spoken.

An index is printed only where it tells something: with a single query and a single key, the score is
q·k; with two keys it is q·k_j and q·k_l. The weights of raw scores are p_j and their entropy is H; those of
other scores name them, as in softmax(q·k/√d_k)_j and H(q·k/√d_k).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy
from sympy import Add, Indexed, Mul, Number, Pow, Rational, S, Symbol, preorder_traversal, sqrt, sympify
from sympy.printing.latex import LatexPrinter

from verify.symbolic import vocabulary as of
from verify.symbolic.vocabulary import Dot, Family, Index, Indicator, Law
from verify.text.latex import spoken as in_signs

SIGNS = {"=": "=", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">", "~": r"\sim", "⇔": r"\iff"}
"""How relations of lines and statements are written in LaTeX."""

PHI = sympy.Function("Phi")
"""Φ, the distribution function of a standard normal number, as formulas write it."""

_LARGE = (sympy.Sum, sympy.Integral, sympy.Limit, of.LogSumExp, of.Largest)
"""Notations that reach to the end of their product: factors only in brackets or as the last."""

_OPEN = (*_LARGE, sympy.exp, sympy.log, of.LargestGap)
"""Functions that are raised to a power in brackets."""

# Brackets around nothing tall: no fraction, sum or integral, and no brackets of their own, stands in them.
_BRACKETS = re.compile(
    r"\\left([(\[|])((?:(?!\\(?:left|right|frac|sum|int|prod)(?![a-z])).)*)\\right([)\]|])"
)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@lru_cache(maxsize=2048, typed=True)
def latex(expression: Any) -> str:
    """Return the LaTeX of an expression or proposition, for a line of its own."""
    return _Writer(sympify(expression)).text


@lru_cache(maxsize=2048, typed=True)
def in_line(expression: Any) -> str:
    """Return the LaTeX of an expression or proposition for a line of text: with strokes and low brackets."""
    text = _Writer(sympify(expression), stroke=True).text.replace(r"\int\limits", r"\int")
    while (shorter := _BRACKETS.sub(r"\1\2\3", text)) != text:
        text = shorter
    return text


def plain(expression: Any) -> str:
    """Return an expression or proposition as one line of Unicode, such as ``E[(q·k)²] − E[q·k]²``."""
    text = in_signs(re.sub(r"\\sum(?![a-z])", "Σ", in_line(expression)).replace(r"\int", "∫"))
    text = re.sub(r"\^(\d+)(?![\w/.])", lambda power: power[1].translate(_RAISED), text)
    return re.sub(r"_\((\w+(?:[.,]\w+)?)\)", lambda index: f"_{index[1].replace(',', '')}", text)


class _Writer(LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    """Writes one expression, after it has seen which of its indices tell something.

    With a ``stroke``, short fractions stand on the line. SymPy calls methods by the names of classes.
    """

    def __init__(self, expression: Any, *, stroke: bool = False) -> None:
        super().__init__({"ln_notation": True})
        # An error function is written by the distribution function of a standard normal number.
        expression = expression.replace(sympy.erf, lambda x: 2 * PHI(sqrt(2) * x) - 1)
        expression = expression.replace(sympy.erfc, lambda x: 2 * PHI(-sqrt(2) * x))
        self._stroke = stroke
        places, parts = set[tuple[Any, Any]](), preorder_traversal(expression)
        for part in parts:
            if isinstance(part, of.Named):
                parts.skip()  # of what stands under a name nothing is printed
            elif isinstance(part, Dot | Indexed):
                places.update(of.places_in(part))
        of_size = Counter(size for _, size in places)
        # The index of a printed sum or maximum is printed, too.
        sums, rows = expression.atoms(sympy.Sum), expression.atoms(of.Largest, of.LogSumExp)
        summed = {limit[0] for part in sums for limit in part.limits} | {part.args[1] for part in rows}
        only = {place for place, size in places if isinstance(place, Index) and of_size[size] == 1}
        self._hidden, self._has_queries = only - summed, of_size[of.m] > 1
        # Single letters need no braces below and above: d_k and x^2.
        text = re.sub(r"\\([lgn]e)q ", r"\\\1 ", self.doprint(expression).replace(r" \right", r"\right"))
        text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
        self.text = re.sub(r" {2,}", " ", text).strip()

    def _vector(self, family: Family, places: tuple[Any, ...]) -> str:
        """Return the name of a family with the indices that tell something."""
        ranges = getattr(family, "ranges", ()) or places
        shown = [
            self._print(place)
            for size, place in zip(ranges, places, strict=False)
            if size not in (of.m, of.n) or place not in self._hidden
        ]
        name, _, index = str(self._print(family.label)).partition("_")
        shown = [*[index.strip("{}")] * bool(index), *shown]
        return f"{name}_{{{','.join(shown)}}}" if shown else name

    def _print_Indexed(self, expr: Any) -> str:  # noqa: N802
        return self._vector(expr.base, expr.indices)

    def _print_Dot(self, expr: Any) -> str:  # noqa: N802
        left, first, right, second = expr.args
        if _is_squared_length(expr):
            return rf"\left|{self._vector(left, (first,))}\right|^{{2}}"
        return rf"{self._vector(left, (first,))}\cdot {self._vector(right, (second,))}"

    def _print_Named(self, expr: Any) -> str:  # noqa: N802
        return str(self._print(expr.args[0]))

    def _print_Softmax(self, expr: Any) -> str:  # noqa: N802
        weights = self._of_row(expr, "p", r"\operatorname{softmax}")
        return f"{weights}_{{{self._print(expr.args[1])}}}"

    def _print_Entropy(self, expr: Any) -> str:  # noqa: N802
        return self._of_row(expr, "H", "H")

    def _of_row(self, expr: Any, usual: str, name: str) -> str:
        """Return the letter of the weights or entropy of raw scores; for all other scores they are named."""
        scores, key = expr.args
        is_raw = isinstance(scores, Dot) or (isinstance(scores, Indexed) and scores.base == of.s)
        # Among several queries it has to be said whose scores they are.
        if is_raw and not self._has_queries:
            return usual
        # Without the index of the key, a score stands for those of all keys.
        before, self._hidden = self._hidden, self._hidden | {key}
        text = self._named(name, (scores,))
        self._hidden = before
        return text

    def _print_LogSumExp(self, expr: Any) -> str:  # noqa: N802
        x, key = expr.args
        return rf"\ln \sum_{{{self._print(key)}}} e^{{{self._above(x)}}}"

    def _print_Largest(self, expr: Any) -> str:  # noqa: N802
        x, key = expr.args
        return rf"\max_{{{self._print(key)}}} {_in_brackets_if(x.is_Add, self._print(x))}"

    def _print_E(self, expr: Any) -> str:  # noqa: N802
        (x,) = expr.args
        if isinstance(x, Indicator):
            return rf"P\left({self._event(x)}\right)"
        return rf"\mathbb{{E}}\left[{self._print(x)}\right]"

    def _print_Quantile(self, expr: Any) -> str:  # noqa: N802
        x, level = expr.args
        share = f"{float(level):g}" if level.is_number else self._print(level)
        name = r"\operatorname{median}" if level == S.Half else f"Q_{{{share}}}"
        return self._named(name, (x,))

    def _print_LargestGap(self, expr: Any) -> str:  # noqa: N802
        share, x, *_ = expr.args
        at = self._print(x)
        return rf"\max_{{{at}}} \left|{self._print(share)} - F\left({at}\right)\right|"

    def _print_Indicator(self, expr: Any) -> str:  # noqa: N802
        return rf"\left[{self._event(expr)}\right]"

    def _event(self, indicator: Any) -> str:
        """Return x > y for the indicator of x - y, with random terms on the left."""
        terms = Add.make_args(indicator.args[0])
        left = [term for term in terms if of.families_of(term)]
        if len(left) in (0, len(terms)):
            left = [term for term in terms if not term.could_extract_minus_sign()]
        above, below = Add(*left), Add(*(term for term in terms if term not in left))
        if left and all(term.could_extract_minus_sign() for term in left):
            return f"{self._print(-above)} < {self._print(below)}"
        return f"{self._print(above)} > {self._print(-below)}"

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802
        if expr.rel_op == "==" and expr.rhs == 0 and expr.lhs.is_Mul and len(expr.lhs.args) == 2:
            first, second = expr.lhs.args
            middle, distance = (first + second) / 2, (first - second) / 2
            # A product (x - a)(x + a) is 0 where x is a or -a.
            if middle.is_Symbol:
                size = -distance if distance.could_extract_minus_sign() else distance
                return rf"{self._print(middle)} = \pm {self._print(size)}"
        return str(super()._print_Relational(expr))

    def _print_Related(self, expr: Any) -> str:  # noqa: N802
        left, sign, right = expr.args
        return f"{self._print(left)} {SIGNS[sign.name]} {self._print(right)}"

    def _print_Sum(self, expr: Any) -> str:  # noqa: N802
        text = ""
        for index, low, high in reversed(expr.limits):
            # That a sum over keys reaches over all of them goes without saying.
            is_whole = isinstance(index, Index) and (low, high) in ((1, of.n), (1, of.m))
            limits = "" if is_whole else f"={self._print(low)}}}^{{{self._print(high)}"
            text += rf"\sum_{{{self._print(index)}{limits}}} "
        return text + _in_brackets_if(expr.function.is_Add, self._print(expr.function))

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        # SymPy orders terms by their names, so for that those of keys come after those of queries.
        named = {term.xreplace(_renamed(expr)): term for term in expr.args}
        terms = [named[term] for term in super()._as_ordered_terms(Add(*named, evaluate=False), order)]
        # A polynomial of higher degree keeps to its powers; any other sum starts without a minus if it can.
        is_by_powers = len(terms) > 3 and len(expr.free_symbols) == 1 and expr.is_polynomial()
        if terms[0].could_extract_minus_sign() and not is_by_powers:
            terms = sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))
        return terms

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        sign, above, below = _fraction(expr)
        if not below:
            return sign + self._product(above)
        under = self._product(below)
        if self._stroke and r"\frac" not in (over := self._product(above)) + under:
            last = max(above, key=_rank)
            is_open = len(above) == 1 and isinstance(last, (Add, *_LARGE))
            is_open |= isinstance(last, sympy.log) and last.args[0].is_Atom
            over = _in_brackets_if(is_open, over)
            lies_open = len(below) > 1 or below[0].is_Add or _is_dot(below[0]) or isinstance(below[0], _LARGE)
            return f"{sign}{over}/{_in_brackets_if(lies_open, under)}"
        # A sum stands beside its fraction; its terms would be small above the line.
        large = [factor for factor in above if isinstance(factor, _LARGE)] if not self._stroke else []
        over = self._product([factor for factor in above if factor not in large]) or "1"
        return " ".join([rf"{sign}\frac{{{over}}}{{{under}}}", *map(self._print, large)])

    def _product(self, factors: list[Any]) -> str:
        """Return factors side by side, in brackets where they would not be read as factors."""
        text, dots = "", sum(map(_is_dot, factors))
        factors = sorted(factors, key=_rank) if len(factors) > 1 else factors
        for place, factor in enumerate(factors):
            is_last = place == len(factors) - 1
            lies_open = factor.is_Add or (isinstance(factor, _LARGE) and not is_last)
            lies_open |= _is_dot(factor) and (dots > 1 or not is_last)
            written = _in_brackets_if(lies_open and len(factors) > 1, self._print(factor))
            text += ("" if not place else r" \cdot " if written[0].isdigit() else " ") + written
        return text

    def _print_Pow(self, expr: Any) -> str:  # noqa: N802
        base, power = expr.base, expr.exp
        if power.is_Rational and power.is_negative:
            return self._print_Mul(expr)
        text, is_length = str(self._print(base)), _is_squared_length(base)
        if is_length:
            text, power = text.removesuffix("^{2}"), 2 * power
        if power.is_Rational and power.p == 1:
            return rf"\sqrt{f'[{power.q}]' * (power.q > 2)}{{{text}}}" if power.q > 1 else text
        is_closed = is_length or base.is_Symbol or base.is_NumberSymbol or isinstance(base, Indexed)
        is_closed |= bool(base.is_Integer and base.is_nonnegative)
        is_closed |= base.is_Function and not isinstance(base, _OPEN) and not _is_dot(base)
        return f"{_in_brackets_if(not is_closed, text)}^{{{self._above(power)}}}"

    def _print_Rational(self, expr: Any) -> str:  # noqa: N802
        if expr.q == 1 or self._stroke:
            return f"{expr.p}/{expr.q}".removesuffix("/1")
        return rf"{'-' * (expr.p < 0)}\frac{{{abs(expr.p)}}}{{{expr.q}}}"

    def _print_Abs(self, expr: Any) -> str:  # noqa: N802
        return rf"\left|{self._print(expr.args[0])}\right|"

    def _print_ExpBase(self, expr: Any) -> str:  # noqa: N802
        return f"e^{{{self._above(expr.args[0])}}}"

    def _print_log(self, expr: Any) -> str:
        (x,) = expr.args
        return rf"\ln {self._print(x)}" if x.is_Symbol or x.is_Integer else self._named(r"\ln", (x,))

    def _print_Subs(self, expr: Any) -> str:  # noqa: N802
        at = ", ".join(
            f"{self._print(x)} = {self._print(value)}" for x, value in zip(*expr.args[1:], strict=True)
        )
        return rf"\left[{self._print(expr.expr)}\right]_{{{at}}}"

    def _print_Function(self, expr: Any) -> str:  # noqa: N802
        return self._named(self._hprint_Function(expr.func.__name__), expr.args)

    def _named(self, name: str, args: tuple[Any, ...]) -> str:
        return rf"{name}\left({', '.join(map(self._print, args))}\right)"

    def _above(self, exponent: Any) -> str:
        """Return an exponent, in which all fractions have strokes."""
        before, self._stroke = self._stroke, True
        text = str(self._print(exponent))
        self._stroke = before
        return text


def _in_brackets_if(lies_open: Any, text: str) -> str:
    return rf"\left({text}\right)" if lies_open else text


def _is_dot(x: Any) -> bool:
    """Return whether something is written as a dot product, by itself or by its name."""
    if isinstance(x, Dot):
        return bool(x.args[:2] != x.args[2:])
    return isinstance(x, of.Named) and r"\cdot" in x.args[0].name


def _is_squared_length(part: Any) -> bool:
    return isinstance(part, Dot) and part.args[:2] == part.args[2:]


def _fraction(expression: Any) -> tuple[str, list[Any], list[Any]]:
    """Return the sign of a product, its factors above the line and those below."""
    sign, above, below = "", list[Any](), list[Any]()
    for part in Mul.make_args(expression):
        factor = abs(part) if isinstance(part, Number) else part
        sign = sign if factor == part else "" if sign else "-"
        if isinstance(factor, Rational):
            above += [S(factor.p)] * (factor.p != 1)
            below += [S(factor.q)] * (factor.q != 1)
        elif factor.is_Pow and (power := factor.exp).could_extract_minus_sign() and not power.is_Add:
            below.append(Pow(factor.base, -factor.exp))
        else:
            above.append(factor)
    # √2/2 is 1/√2, and several roots are drawn together: √(2 d_k/π).
    for root in [factor for factor in above if _is_root(factor) and factor.base in below]:
        above.remove(root)
        below[below.index(root.base)] = root
    over, under = (
        [x for x in side if _is_root(x) and not _is_squared_length(x.base)] for side in (above, below)
    )
    if len(over) + len(under) > 1:
        top, bottom = (Mul(*(root.base for root in roots)) for roots in (over, under))
        root = sqrt(top / bottom if over else bottom, evaluate=False)
        above = [*(factor for factor in above if factor not in over), *[root] * bool(over)]
        below = [*(factor for factor in below if factor not in under), *[root] * (not over)]
    return sign, above or [S.One], below


def _is_root(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp == S.Half)


SIZES = {of.d: 0, of.d_v: 1, of.n: 2, of.m: 3}
_ORDER = {"q": 0, "k": 1, "v": 2, "u": 3}


def _renamed(expression: Any) -> dict[Any, Any]:
    """Return names by which the numbers of keys stand behind those of queries."""
    of_keys = (symbol for symbol in expression.free_symbols if symbol.is_Symbol and symbol.name[-2:] == "_k")
    return {x: Symbol(f"{x.name[:-1]}q~", **x.assumptions0) for x in of_keys if x not in SIZES}


@lru_cache(maxsize=4096)  # for it prints most factors, which stand in line after line
def _rank(factor: Any) -> tuple[Any, ...]:
    """Return where a factor stands in a product: numbers, symbols, sums, random numbers, large signs."""
    base = factor.base if factor.is_Pow else factor
    if factor.is_number:
        return 0, 0, str(factor)
    if isinstance(base, Symbol):
        stem, _, index = base.name.partition("_")
        return 1, SIZES.get(base, 9), stem, _ORDER.get(index, 9), index
    families = [_ORDER.get(str(family.label), 9) for family in of.families_of(base)]
    if isinstance(base, Dot):
        return 7, min(families, default=0), str(factor)
    if isinstance(base, _LARGE):
        return 8, 0, str(factor)
    kind = 4 + base.is_Add if families else 3 - base.is_Add
    return kind, min(families, default=0), str(factor.xreplace(_renamed(factor)))


_VECTORS = {of.q: "queries", of.k: "keys", of.v: "values", of.u: "gradients of outputs"}
_FORMULA = re.compile(r"[μσρτλαγκ](?:_\w)?[²³]?|±?(?<![\w.(])\d+(?:[./]\d+)?(?![\w.])")
_LETTERS = {"μ": r"\mu", "σ": r"\sigma", "ρ": r"\rho", "τ": r"\tau", "λ": r"\lambda", "α": r"\alpha"}
_LETTERS |= {"γ": r"\gamma", "κ": r"\kappa"}


def sentences_of(laws: Mapping[Family, Law]) -> list[str]:
    """Return the assumptions on families, those of the same law together."""
    sentences, groups = list[str](), dict[Law, list[str]]()
    for family in (family for family in _VECTORS if family in laws):
        groups.setdefault(laws[family], []).append(_VECTORS[family])
    if groups:
        everything = _listed([name for names in groups.values() for name in names])
        shared = _of_law(next(iter(groups)), "with") if len(groups) == 1 else ""
        sentences.append(f"All components of {everything} are independent{shared}.")
    if len(groups) > 1:
        sentences += [f"Those of {_listed(names)}{_of_law(law, 'have')}." for law, names in groups.items()]
    for family in (family for family in laws if family not in _VECTORS):
        what = "scores of a row" if family == of.s else f"${latex(family.label)}$"
        sentences.append(f"All {what} are independent{_of_law(laws[family], 'with')}.")
    return sentences


def _of_law(law: Law, verb: str) -> str:
    """Return a law as it follows "are independent", if ``verb`` is "with", or a family, if it is "have"."""
    words, joint = law.words, f"{',' * (verb == 'with')} {verb} "
    is_named = law.whole or "components" in words
    if "components" in words:
        words = words.replace(" components of", " with").replace(" components", "")
        joint = " and " if verb == "with" else " are "
    for name, sign in (("mu_", "μ_"), ("sigma_", "σ_"), ("**2", "²")):
        words = words.replace(name, sign)

    def as_formula(piece: re.Match[str]) -> str:
        text = piece[0].replace("²", "^2").replace("³", "^3").replace("±", r"\pm ")
        return f"${_LETTERS.get(text[0], text[0])}{text[1:]}$"

    return joint + _FORMULA.sub(as_formula, words) + ("" if is_named else ", of whatever law")


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
