"""Prints statements as a mathematician writes them: LaTeX, one line for the terminal, words to be spoken.

An index is printed only where it tells something: with a single query and a single key, the score is
q·k; with two keys it is q·k_j and q·k_l. The weights of raw scores are p_j and their entropy is H; those of
other scores name them, as in softmax(q·k/√d_k)_j and H(q·k/√d_k).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sympy import (
    Add,
    Indexed,
    Integral,
    Limit,
    Mul,
    Number,
    Pow,
    Product,
    Rational,
    S,
    Sum,
    Symbol,
    sqrt,
    sympify,
)
from sympy.printing.latex import LatexPrinter

from verify.symbolic.vocabulary import (
    BINDERS,
    Dot,
    E,
    Entropy,
    Family,
    Index,
    Indicator,
    Largest,
    Law,
    LogSumExp,
    Softmax,
    d,
    d_v,
    families_of,
    k,
    m,
    n,
    q,
    s,
    u,
    v,
)
from verify.text.latex import spoken as in_signs
from verify.text.speech import in_words

if TYPE_CHECKING:
    from verify.symbolic.chains import Chain, Statement

SIGNS = {"=": "=", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">", "~": r"\sim", "⇔": r"\iff"}
"""How relations of lines and statements are written in LaTeX."""

_LARGE = (Sum, Product, Integral, Limit, LogSumExp, Largest)
"""What reaches to the end of its product, and is a factor only in brackets or as the last."""

_BRACKETS = re.compile(
    r"\\left([(\[|])((?:(?!\\(?:left|right|frac|sum|int|prod)(?![a-z])).)*)\\right([)\]|])"
)
_CALLED = r"(?:E|variance|covariance|median) of"
_MEAN = re.compile(
    rf"(?<!the )\b(?P<name>E|variance|covariance|median) of (?:open (?P<kind>paren|bracket) "
    rf"(?P<inside>(?:(?!\b{_CALLED}|\b(?:open|close) (?P=kind)).)*?),? close (?P=kind)|"
    r"(?P<alone>capital \w+|(?!open|capital|the)\w+(?: sub \w+)?(?: squared)?))(?P<more>,? (?!equals |is |plus |minus |close |end |over )(?=\w))?"
)
_SHORT = re.compile(r"([_^])\{(\w)\}")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def latex(expression: Any) -> str:
    """Return the LaTeX of an expression or proposition, for a line of its own."""
    return _tidy(_Writer(sympify(expression)).text)


def in_line(expression: Any) -> str:
    """Return the LaTeX of an expression or proposition for a line of text: with strokes and low brackets."""
    text = _tidy(_Writer(sympify(expression), stroke=True).text)
    while (shorter := _BRACKETS.sub(r"\1\2\3", text)) != text:
        text = shorter
    return text


def plain(expression: Any) -> str:
    """Return an expression or proposition as one line of Unicode, such as ``E[(q·k)²] − E[q·k]²``."""
    text = in_signs(re.sub(r"\\sum(?![a-z])", "Σ", in_line(expression)).replace(r"\int", "∫"))
    text = re.sub(r"\^([0-9]+)(?![\w/.])", lambda power: power[1].translate(_RAISED), text)
    return re.sub(r"_\((\w),(\w)\)", r"_\1\2", re.sub(r"_\(([\w.]+)\)", r"_\1", text))


def spoken(expression: Any) -> str:
    """Return an expression or proposition in words, such as ``the variance of q dot k``."""
    words, count = in_words(in_line(expression)), 1
    while count:
        words, count = _MEAN.subn(_without_brackets, words)
    return words


def _without_brackets(mean: re.Match[str]) -> str:
    """Return a mean or a variance in words without brackets; where it ends is said unless that is plain."""
    name, inside = mean["name"].replace("E", "mean"), mean["inside"] or mean["alone"]
    end = f", end {name}," if mean["more"] and " " in inside else ""
    return f"the {name} of {inside}{end}{' ' if mean['more'] else ''}"


def proposition_latex(statement: Statement) -> str:
    """Return both sides of a statement with the sign between them, in LaTeX for a line of its own."""
    return latex(statement.proposition)


def _tidy(text: str) -> str:
    return re.sub(r" {2,}", " ", _SHORT.sub(r"\1\2", text.replace(r" \right", r"\right"))).strip()


class _Writer(LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    """Writes one expression; which of its indices tell something is found out first."""

    def __init__(self, expression: Any, *, stroke: bool = False) -> None:
        super().__init__({"ln_notation": True, "fold_frac_powers": True})
        self._stroke, self._hidden = stroke, set[Any]()
        places = set(_places(expression))
        self._single = {
            place for size, place in places if isinstance(place, Index) and _is_alone(size, places)
        } - _summed(expression)
        self._several_queries = len([place for size, place in places if size == m]) > 1
        self.text = str(self.doprint(expression))

    # --- what is drawn, scores and weights ---

    def _subscripts(self, family: Family, places: tuple[Any, ...]) -> str:
        """Return the name of a family with the indices that tell something."""
        shown = [
            self._print(place)
            for size, place in zip(family.ranges or places, places, strict=False)
            if not (size in (m, n) and place in self._single | self._hidden)
        ]
        name = self._print(family.label)
        if not shown:
            return str(name)
        return f"{{{name}}}_{{{','.join(shown)}}}" if "_" in name else f"{name}_{{{','.join(shown)}}}"

    def _print_Indexed(self, expr: Any) -> str:  # noqa: N802 - SymPy dispatches by these names
        if isinstance(expr.base, Family):
            return self._subscripts(expr.base, expr.indices)
        return f"{self._print(expr.base)}_{{{','.join(map(self._print, expr.indices))}}}"

    def _print_Dot(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        left, first, right, second = expr.args
        if (left, first) == (right, second):
            return self._raised(rf"\left|{self._subscripts(left, (first,))}\right|^{{2}}", exp, tight=False)
        text = rf"{self._subscripts(left, (first,))}\cdot {self._subscripts(right, (second,))}"
        return self._raised(text, exp, tight=False)

    def _print_Softmax(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        x, key = expr.args
        index = f"_{{{self._query_of(x)}{self._print(key)}}}"
        if _is_raw(x):
            return self._raised(f"p{index}", exp)
        with self._without(key):
            return self._raised(rf"\operatorname{{softmax}}\left({self._print(x)}\right){index}", exp)

    def _print_Entropy(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        x, key = expr.args
        if _is_raw(x):
            query = self._query_of(x).rstrip(",")
            return self._raised(f"H_{{{query}}}" if query else "H", exp)
        with self._without(key):
            return self._raised(rf"H\left({self._print(x)}\right)", exp)

    def _print_LogSumExp(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        x, key = expr.args
        return self._raised(
            rf"\ln \sum_{{{self._print(key)}}} e^{{{self._in_exponent(x)}}}", exp, tight=False
        )

    def _print_Largest(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        x, key = expr.args
        inner = rf"\left({self._print(x)}\right)" if x.is_Add else self._print(x)
        return self._raised(rf"\max_{{{self._print(key)}}} {inner}", exp, tight=False)

    def _query_of(self, x: Any) -> str:
        places = {place for size, place in _places(x) if size == m} if self._several_queries else set()
        return "".join(f"{self._print(place)}," for place in sorted(places, key=str))

    @contextmanager
    def _without(self, key: Any) -> Iterator[None]:
        """Hide the index of a key: what runs over all keys stands for all their scores."""
        before, self._hidden = self._hidden, self._hidden | {key}
        yield
        self._hidden = before

    # --- means, and what is made of them ---

    def _print_E(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        (x,) = expr.args
        if isinstance(x, Indicator):
            return self._raised(rf"P\left({self._event(x)}\right)", exp)
        return self._raised(rf"\mathbb{{E}}\left[{self._print(x)}\right]", exp)

    def _print_Var(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        return self._named("Var", expr.args, exp)

    def _print_Cov(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        return self._named("Cov", expr.args, exp)

    def _print_Quantile(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        x, level = expr.args
        if level == S.Half:
            return self._named("median", (x,), exp)
        share = f"{float(level):g}" if level.is_number else self._print(level)
        return self._raised(rf"Q_{{{share}}}\left({self._print(x)}\right)", exp)

    def _print_Indicator(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        return self._raised(rf"\left[{self._event(expr)}\right]", exp)

    def _event(self, indicator: Any) -> str:
        """Return x > y for the indicator of x - y."""
        terms = Add.make_args(indicator.args[0])
        below = [-term for term in terms if term.could_extract_minus_sign()]
        above = [term for term in terms if not term.could_extract_minus_sign()]
        return f"{self._print(Add(*above))} > {self._print(Add(*below))}"

    def _print_Equivalent(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802, ARG002
        return rf" {SIGNS['⇔']} ".join(map(self._print, expr.args))

    def _print_Leading(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802, ARG002
        return rf" {SIGNS['~']} ".join(map(self._print, expr.args))

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802
        sign = {"==": "=", "<=": r"\le", ">=": r"\ge", "!=": r"\ne"}.get(expr.rel_op, expr.rel_op)
        return f"{self._print(expr.lhs)} {sign} {self._print(expr.rhs)}"

    # --- sums, products, powers ---

    def _print_Sum(self, expr: Any) -> str:  # noqa: N802
        signs = ""
        for index, low, high in reversed(expr.limits):
            # That a sum over keys reaches over all of them goes without saying.
            whole = isinstance(index, Index) and (low, high) in ((1, n), (1, m))
            start = self._print(index) if whole else f"{self._print(index)}={self._print(low)}"
            signs += rf"\sum_{{{start}}}" + ("" if whole else f"^{{{self._print(high)}}}") + " "
        body = self._print(expr.function)
        return signs + (rf"\left({body}\right)" if expr.function.is_Add else body)

    def _print_Add(self, expr: Any, order: Any = None) -> str:  # noqa: N802
        terms = sorted(
            self._as_ordered_terms(expr, order=order), key=lambda term: bool(term.could_extract_minus_sign())
        )
        text = ""
        for place, term in enumerate(terms):
            minus = place > 0 and term.could_extract_minus_sign()
            text += (" - " if minus else " + ") if place else ""
            written = self._print(-term if minus else term)
            text += rf"\left({written}\right)" if term.is_Piecewise or term.is_Relational else written
        return text

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        sign, above, below = _fraction(expr)
        if not below:
            return sign + self._product(above)
        # A sum stands beside its fraction; its terms would be small above the line.
        large = [] if self._stroke else [factor for factor in above if isinstance(factor, _LARGE)]
        over = self._product([factor for factor in above if factor not in large]) or "1"
        under = self._product(below)
        if self._stroke and r"\frac" not in over + under:
            alone = len(above) == 1 and (above[0].is_Add or isinstance(above[0], _LARGE))
            over = rf"\left({over}\right)" if alone else over
            is_product = len(below) > 1 or below[0].is_Add or isinstance(below[0], Dot)
            return f"{sign}{over}/" + (rf"\left({under}\right)" if is_product else under)
        return rf"{sign}\frac{{{over}}}{{{under}}}" + "".join(f" {self._print(factor)}" for factor in large)

    def _product(self, factors: list[Any]) -> str:
        """Return factors side by side, in brackets what would not be read as a factor."""
        factors = sorted(factors, key=_rank)
        text = ""
        for place, factor in enumerate(factors):
            written = self._print(factor)
            last = place == len(factors) - 1
            lonely = isinstance(factor, Dot) and sum(isinstance(other, Dot) for other in factors) == 1
            if len(factors) > 1 and (
                factor.is_Add
                or factor.is_Piecewise
                or (isinstance(factor, Dot) and not (lonely and last))
                or (isinstance(factor, _LARGE) and not last)
                or (factor.is_Mul and place)
            ):
                written = rf"\left({written}\right)"
            text += (r" \cdot " if re.match(r"\d", written) else " ") * bool(place) + written
        return text

    def _print_Pow(self, expr: Any) -> str:  # noqa: N802
        base, power = expr.base, expr.exp
        if power.is_Rational and power.is_negative:
            return self._print_Mul(expr)
        if power.is_Rational and power.p == 1 and power.q > 1:
            root = f"[{power.q}]" if power.q > 2 else ""
            return rf"\sqrt{root}{{{self._print(base)}}}"
        exponent = f"{power.p}/{power.q}" if power.is_Rational and power.q > 1 else self._in_exponent(power)
        if base.is_Function:
            return str(self._print(base, exp=exponent))
        simple = base.is_Symbol or isinstance(base, Indexed) or (base.is_Integer and base.is_nonnegative)
        written = self._print(base)
        return f"{written}^{{{exponent}}}" if simple else rf"\left({written}\right)^{{{exponent}}}"

    def _print_Rational(self, expr: Any) -> str:  # noqa: N802
        if expr.q == 1:
            return str(expr.p)
        sign = "-" if expr.p < 0 else ""
        return f"{expr.p}/{expr.q}" if self._stroke else rf"{sign}\frac{{{abs(expr.p)}}}{{{expr.q}}}"

    def _print_Abs(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        return self._raised(rf"\left|{self._print(expr.args[0])}\right|", exp)

    def _print_ExpBase(self, expr: Any, exp: str | None = None) -> str:  # noqa: N802
        return self._raised(f"e^{{{self._in_exponent(expr.args[0])}}}", exp, tight=False)

    def _print_log(self, expr: Any, exp: str | None = None) -> str:
        (x,) = expr.args
        simple = (x.is_Symbol or x.is_Integer) and exp is None
        text = rf"\ln {self._print(x)}" if simple else rf"\ln\left({self._print(x)}\right)"
        return self._raised(text, exp)

    def _in_exponent(self, expression: Any) -> str:
        before, self._stroke = self._stroke, True
        text = self._print(expression)
        self._stroke = before
        return str(text)

    def _named(self, name: str, args: tuple[Any, ...], exp: str | None) -> str:
        return self._raised(rf"\operatorname{{{name}}}\left({', '.join(map(self._print, args))}\right)", exp)

    @staticmethod
    def _raised(text: str, exp: str | None, *, tight: bool = True) -> str:
        """Return a text with an exponent; one that is not ``tight`` gets brackets first."""
        if exp is None:
            return text
        return f"{text}^{{{exp}}}" if tight else rf"\left({text}\right)^{{{exp}}}"

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:  # noqa: N802
        # A name with a command in it is LaTeX already.
        return str(expr.name if "\\" in expr.name else super()._print_Symbol(expr, style))


def _is_raw(x: Any) -> bool:
    return isinstance(x, Dot | Indexed)


def _places(expression: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a range of queries or keys that is printed, with the size of the range."""
    if isinstance(expression, Softmax | Entropy):
        x, key = expression.args
        yield from ((size, place) for size, place in _places(x) if place != key)
    elif isinstance(expression, Dot):
        left, first, right, second = expression.args
        yield from ((base.ranges[0], place) for base, place in ((left, first), (right, second)))
    elif isinstance(expression, Indexed) and isinstance(expression.base, Family):
        yield from zip(expression.base.ranges, expression.indices, strict=False)
    else:
        for part in expression.args:
            yield from _places(part)


def _is_alone(size: Any, places: set[tuple[Any, Any]]) -> bool:
    return len([place for other, place in places if other == size]) == 1


def _summed(expression: Any) -> set[Any]:
    """Return the indices that a printed sign of a sum or a maximum runs over."""
    limits = {limit[0] for total in expression.atoms(Sum, Product) for limit in total.limits}
    return limits | {part.args[1] for part in expression.atoms(Largest, LogSumExp)}


def _fraction(expression: Any) -> tuple[str, list[Any], list[Any]]:
    """Return the sign of a product, its factors above the line and those below."""
    sign, above, below = "", list[Any](), list[Any]()
    for part in Mul.make_args(expression):
        factor = abs(part) if isinstance(part, Number) else part
        sign = sign if factor == part else "" if sign else "-"
        if isinstance(factor, Rational) and factor.q > 1:
            above += [S(factor.p)] if factor.p != 1 else []
            below.append(S(factor.q))
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(Pow(factor.base, -factor.exp))
        elif factor != 1:
            above.append(factor)
    return sign, *_roots_together(above or [S.One], below)


def _roots_together(above: list[Any], below: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return factors above and below a line with several square roots as a single one: √(2 d_k/π)."""
    for root in [factor for factor in above if _is_root(factor) and factor.base.is_Integer]:
        # √2/2 is 1/√2.
        for number in [factor for factor in below if factor.is_Integer and factor % root.base == 0]:
            above = [factor for factor in above if factor is not root] or [S.One]
            below = [factor for factor in below if factor is not number]
            below += [root, *([number / root.base] if number != root.base else [])]
            break
    over, under = [*filter(_is_root, above)], [*filter(_is_root, below)]
    if len(over) + len(under) < 2 or ((len(over), len(under)) == (1, 1) and not over[0].is_number):
        return above, below
    inside = Mul(*(root.base for root in over)) / Mul(*(root.base for root in under))
    rest = [factor for factor in below if factor not in under]
    if not over:
        return above, [*rest, sqrt(1 / inside, evaluate=False)]
    return [*(factor for factor in above if factor not in over), sqrt(inside, evaluate=False)], rest


def _is_root(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp == S.Half)


_SIZES = {d: 0, d_v: 1, n: 2, m: 3}
_ORDER = {"q": 0, "k": 1, "v": 2, "u": 3}


def _rank(factor: Any) -> tuple[Any, ...]:
    """Return where a factor stands in a product: numbers, symbols, sums, what is random, large signs."""
    base = factor.base if factor.is_Pow else factor
    if factor.is_number:
        return 0, 0 if isinstance(factor, Number) else 1, str(factor)
    if isinstance(base, Symbol):
        stem, _, index = base.name.partition("_")
        return 1, _SIZES.get(base, 9), stem, _ORDER.get(index, 9), index
    if isinstance(base, _LARGE):
        return 9, 0, str(factor)
    if isinstance(base, Dot):
        return 7, 0, str(factor)
    families = [_ORDER.get(str(family.label), 9) for family in families_of(base)]
    random = 4 + base.is_Add if base.has(*BINDERS) or families else 3 - base.is_Add
    return random, min(families, default=0), str(factor)


_VECTORS = {q: "queries", k: "keys", v: "values", u: "gradients of outputs"}
_FORMULA = re.compile(r"[μσρτλκαβ](?:_\w)?[²³]?|±?(?<![\w.])\d+(?:[./]\d+)?(?![\w.])")
_NAMES = {
    "μ": r"\mu",
    "σ": r"\sigma",
    "ρ": r"\rho",
    "τ": r"\tau",
    "λ": r"\lambda",
    "κ": r"\kappa",
    "α": r"\alpha",
    "β": r"\beta",
    "²": "^2",
    "³": "^3",
    "±": r"\pm ",
}


def assumptions_of(chain: Chain) -> tuple[str, ...]:
    """Return what a chain assumes, in sentences: laws, what its checks add, conditions, domains."""
    expressions = [chain.start, *(sympify(line.expression) for line in chain.lines), *chain.given]
    families = set().union(*map(families_of, expressions))
    laws = _strongest(chain)
    sentences = _laws({family: law for family, law in laws.items() if family in families})
    if not laws and any(expression.has(E) for expression in expressions):
        sentences.append("Any law for which the means exist.")
    sentences += [sentence for line in chain.lines for sentence in line.check.assumes]
    sentences += [f"${in_line(condition)}$." for condition in chain.given]
    sentences += _domains(set().union(*(expression.free_symbols for expression in expressions)))
    return tuple(dict.fromkeys(sentences))


def _strongest(chain: Chain) -> dict[Family, Law]:
    """Return the law of each family that serves all lines: the one of which most is assumed."""
    laws: dict[Family, Law] = {}
    for line in chain.lines:
        for family, law in (line.check.laws or {}).items():
            known = laws.get(family)
            if known is None or (law.whole, len(law.raw)) > (known.whole, len(known.raw)):
                laws[family] = law
    return laws


def _laws(laws: dict[Family, Law]) -> list[str]:
    """Return what is assumed of families, those of one law together."""
    sentences, groups = list[str](), dict[Law, list[str]]()
    for family in (family for family in _VECTORS if family in laws):
        groups.setdefault(laws[family], []).append(_VECTORS[family])
    everything = _listed([name for names in groups.values() for name in names])
    if len(groups) == 1:
        sentences.append(f"All components of {everything} are independent{_of_law(*groups, 'with')}.")
    elif groups:
        sentences.append(f"All components of {everything} are independent.")
        sentences += [f"Those of {_listed(names)}{_of_law(law, 'have')}." for law, names in groups.items()]
    for family in (family for family in laws if family not in _VECTORS):
        what = "scores of a row" if family == s else f"${latex(family.label)}$"
        sentences.append(f"All {what} are independent{_of_law(laws[family], 'with')}.")
    return sentences


def _of_law(law: Law, verb: str) -> str:
    """Return a law as it follows "are independent", if ``verb`` is "with", or a family, if it is "have"."""
    if "components" in law.words:
        words = law.words.replace(" components of", " with").replace(" components", "")
        joint = " and " if verb == "with" else " are "
    else:
        words, joint = law.words, f"{',' * (verb == 'with')} {verb} "
    return joint + _as_formulas(words) + ("" if law.whole else ", of whatever law")


def _as_formulas(words: str) -> str:
    """Return words of a law with its numbers and Greek letters as formulas."""
    for name, sign in (("mu_", "μ_"), ("sigma_", "σ_"), ("**2", "²")):
        words = words.replace(name, sign)

    def formula(piece: re.Match[str]) -> str:
        return "$" + "".join(_NAMES.get(sign, sign) for sign in piece[0]) + "$"

    return _FORMULA.sub(formula, words)


def _domains(symbols: set[Any]) -> list[str]:
    """Return the domains of symbols that are neither indices, sizes, deviations nor any real number."""
    sentences = []
    for symbol in sorted(symbols, key=str):
        if isinstance(symbol, Index) or symbol in _SIZES or str(symbol).startswith("sigma"):
            continue
        kind = (
            "a positive whole number"
            if symbol.is_integer and symbol.is_positive
            else "a whole number"
            if symbol.is_integer
            else "positive"
            if symbol.is_positive
            else "not negative"
            if symbol.is_nonnegative
            else ""
        )
        if kind and type(symbol) is Symbol:
            sentences.append(f"${latex(symbol)}$ is {kind}.")
    return sentences


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
