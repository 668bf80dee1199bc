"""Visible signs: a closed list of reasons for which an expression is not negative, and no search beyond it.

Sums, products and powers of what has a sign come first, then SymPy's own assumptions, then ``REASONS``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

from sympy import Abs, Add, Derivative, Dummy, Ge, Gt, Indexed, Integral, Interval, KroneckerDelta, Le, Limit
from sympy import Function, Lt, Max, Min, Mul
from sympy import Poly, PolynomialError, Pow, S, Subs, Sum, Symbol, Wild, atan, erf, exp, expand, factor
from sympy import fraction, log, oo, real_roots, sympify, tanh, together
from sympy.core.assumptions import StdFactKB

from verify.symbolic.vocabulary import StepError
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Index, Indicator, Largest, LogSumExp, Quantile
from verify.symbolic.vocabulary import Softmax, Var, range_of

INEQUALITIES = (Le, Lt, Ge, Gt)

MEANS = (E, Sum, Integral)
"""What is not negative where its argument is not."""

RISING = (exp, log, tanh, atan, erf)
"""Functions of a real number that rise wherever they are real."""

_HIDDEN = (
    *(Indexed, Dot, Quantile, Cov, Var, LogSumExp, Largest, Softmax, Entropy, Indicator),
    *MEANS,
    *(Limit, Subs, Derivative),
)


class Signs:
    """Which expressions are visibly not negative where the ``given`` relations hold.

    Relations are SymPy's, such as ``n > 2`` or ``Le(Abs(x[j]), M)``; what they say of an
    index, they say of any.

    Raises:
        StepError: something given is no inequality.
    """

    def __init__(self, given: tuple[Any, ...] = ()) -> None:
        self.given, self.facts = given, list[tuple[Any, bool]]()
        self.ends, self.names, self.seen = dict[Any, list[Any]](), dict[Any, Any](), dict[Any, bool]()
        self.bound: set[Any] = set()
        for relation in given:
            if not isinstance(relation, INEQUALITIES):
                raise StepError(f"given {relation}, which is no inequality; write one such as n > 2")
            less, more, strict = relation.lts, relation.gts, isinstance(relation, Lt | Gt)
            sides = (less, less.args[0], -less.args[0]) if isinstance(less, Abs) else (less,)
            self.facts += [(more - side, strict) for side in sides]
            # Ends are put in for the symbol they bound, so they may not speak of one that is bounded itself.
            for symbol, end, place in ((less, more, 1), (more, less, 0)):
                if symbol.is_Symbol and not end.free_symbols & {symbol, *self.ends}:
                    whole = strict and symbol.is_integer and end.is_integer
                    self.ends.setdefault(symbol, [-oo, oo])[place] = end + (1 - 2 * place if whole else 0)

    def within(self, limits: Any) -> Signs:
        """Return the same for what stands inside a sum or an integral, between the ends of its variables."""
        ends = (
            (variable, end, kind)
            for variable, *both in limits
            for end, kind in zip(both, (Ge, Le), strict=False)
        )
        bounds = (kind(variable, end) for variable, end, kind in ends if end not in {oo, -oo})
        inside = Signs((*self.given, *(bound for bound in bounds if isinstance(bound, Ge | Le))))
        inside.bound = self.bound | {limit[0] for limit in limits}
        return inside

    def apart(self, first: Any, second: Any) -> bool:
        """Return whether two indices mean different places: free ones do, one that runs comes to any."""
        if first == second or not self.bound & {first, second}:
            return bool(first != second)
        return self._before(first, second) or self._before(second, first)

    def _before(self, less: Any, more: Any) -> bool:
        """Return whether an index visibly comes before another, by the ends of what they run over."""
        last, least = self.ends.get(less, (-oo, oo))[1], self.ends.get(more, (-oo, oo))[0]
        pairs = ((less, more), (last, more), (less, least), (last, least))
        return any(self.positive(high - low) for low, high in pairs if {low, high}.isdisjoint({oo, -oo}))

    def positive(self, x: Any) -> bool:
        """Return whether an expression is visibly positive."""
        return self.nonnegative(x, strict=True)

    def real(self, x: Any) -> bool:
        """Return whether an expression is visibly real."""
        return bool(self.plain(x).is_extended_real)

    def nonnegative(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether an expression is visibly not negative or, where ``strict``, visibly positive."""
        x = sympify(x)
        if (x, strict) not in self.seen:
            self.seen[x, strict] = False  # a reason may not rest on itself
            plain = self.plain(x)
            # Part by part is sooner than SymPy's own assumptions of the whole.
            self.seen[x, strict] = (
                any(reason(self, x, strict) for reason in PART_BY_PART)
                or bool(plain.is_positive if strict else plain.is_nonnegative)
                or any(reason(self, x, strict) for reason in REASONS)
            )
            # Between two ends a symbol is written so that it never reaches the upper one.
            for symbol in x.free_symbols & set(self.ends) if strict and self.seen[x, strict] else ():
                low, high = self.ends[symbol]
                if low != -oo and high != oo and (high - symbol, True) not in self.facts:
                    self.seen[x, strict] &= self.positive(x.xreplace({symbol: high}))
        return self.seen[x, strict]

    def sign(self, x: Any, *, strict: bool = False) -> int:
        """Return 1 where an expression is visibly not negative, -1 where it is not positive, else 0."""
        return 1 if self.nonnegative(x, strict=strict) else -int(self.nonnegative(-x, strict=strict))

    def at_most_one(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether an expression is visibly at most 1 or, where ``strict``, below 1."""
        rest = self.plain(1 - x)
        if rest.is_positive or (rest.is_nonnegative and not strict):
            return True
        below = _BELOW_ONE.get(x.func)
        return below is not None and below(self, x, strict)

    def plain(self, x: Any) -> Any:
        """Return an expression with everything that SymPy knows no sign of behind a symbol that has its sign.

        A symbol that lies between ends is written by how far it is from them.
        """
        if x not in self.names:
            if isinstance(x, _HIDDEN):
                self.names[x] = _Hidden.of(self, x)
            elif isinstance(x, Symbol):
                self.names[x] = self._placed(x)
            else:
                self.names[x] = x.func(*map(self.plain, x.args)) if x.args else x
        return self.names[x]

    def _placed(self, symbol: Any) -> Any:
        low, high = self.ends.get(symbol, (-oo, oo))
        if low == -oo and symbol.is_positive:
            low = S.One if symbol.is_integer else S.Zero if high != oo else low
        if (low, high) == (-oo, oo):
            return symbol
        step = Dummy("t", nonnegative=True, integer=(symbol.is_integer and high == oo) or None)
        if high == oo:
            return self.plain(low) + step
        return self.plain(high) - step if low == -oo else (low + high * step) / (1 + step)

    def forward(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether a sum or an integral visibly goes from low to high; else it has the other sign."""
        more = 1 if isinstance(x, Sum) else 0
        lengths = [high - low + more for _, low, high in getattr(x, "limits", ())]
        return all(length == oo or self.nonnegative(length, strict=strict) for length in lengths)


class _Hidden(Dummy):  # type: ignore[misc]  # SymPy has no types
    """A symbol for what SymPy knows no sign of; the sign is looked for when SymPy asks for it."""

    @classmethod
    def of(cls, signs: Signs, x: Any) -> Any:
        """Return the symbol for an expression."""
        symbol = cls("h")
        # SymPy's symbols share what is known of them with all that are declared alike.
        symbol._assumptions = StdFactKB(symbol.assumptions0)
        symbol.signs, symbol.whole = signs, x
        return symbol

    def _eval_is_real(self) -> bool | None:
        if isinstance(self.whole, MEANS):
            return self._inside.real(self.whole.args[0]) or None
        return not isinstance(self.whole, Limit | Subs | Derivative) or None

    def _eval_is_positive(self) -> bool | None:
        return self._has_sign(strict=True)

    def _eval_is_nonnegative(self) -> bool | None:
        return self._has_sign(strict=False)

    def _has_sign(self, *, strict: bool) -> bool | None:
        x, signs = self.whole, self.signs
        if isinstance(x, MEANS):
            inside = signs.forward(x, strict=strict) and self._inside.nonnegative(x.args[0], strict=strict)
            return inside or None
        known = x.is_positive or (not strict and x.is_nonnegative)
        return known or (isinstance(x, Largest) and signs.nonnegative(x.args[0], strict=strict)) or None

    @cached_property
    def _inside(self) -> Signs:
        inside: Signs = self.signs.within(getattr(self.whole, "limits", ()))
        return inside


def _weight(signs: Signs, x: Any, strict: bool) -> bool:  # noqa: ARG001 - as all rules
    """A weight, or the indicator of an event."""
    return not strict


def _falling(signs: Signs, x: Any, strict: bool) -> bool:
    """The exponential of what is not positive."""
    return signs.nonnegative(-x.args[0], strict=strict)


def _mean(signs: Signs, x: Any, strict: bool) -> bool:
    return signs.at_most_one(x.args[0], strict=strict)


def _power_below(signs: Signs, x: Any, strict: bool) -> bool:
    """A power of what is between 0 and 1, or a negative one of what is more than 1."""
    if signs.nonnegative(x.exp):
        return not strict and signs.nonnegative(x.base) and signs.at_most_one(x.base)
    return signs.nonnegative(-x.exp, strict=strict) and signs.nonnegative(x.base - 1, strict=strict)


def _several_weights(signs: Signs, x: Any, strict: bool) -> bool:
    """Weights of different keys of one row."""
    weights = [part for part in x.args if isinstance(part, Softmax)]
    rows = {part.args[0].xreplace({part.args[1]: _KEY}) for part in weights}
    keys = [part.args[1] for part in weights]
    are_apart = all(signs.apart(*pair) for pair in combinations(keys, 2))
    return not strict and len(rows) == 1 and len(keys) == len(x.args) and are_apart


def _all_weights(signs: Signs, x: Any, strict: bool) -> bool:
    """The sum of the weights of a row, each times what is between 0 and 1."""
    key, low, high = x.limits[0]
    inner = signs.within(x.limits)
    for weight in () if strict or len(x.limits) > 1 else x.function.atoms(Softmax):
        if weight.args[1] == key and (low, high) == (1, range_of(weight.args[0], key)):
            rest = x.function / weight
            return inner.nonnegative(rest) and inner.at_most_one(rest)
    return False


_KEY = Index("key_")
_Reason = Callable[[Signs, Any, bool], bool]
_BELOW_ONE: dict[Any, _Reason] = {
    **dict.fromkeys((Softmax, Indicator, KroneckerDelta), _weight),
    exp: _falling,
    E: _mean,
    Pow: _power_below,
    Add: _several_weights,
    Sum: _all_weights,
}
"""For each kind of expression, how it is seen to be at most 1."""


def _product(signs: Signs, x: Any, strict: bool) -> bool:
    """Products of what has a sign, an even number of them negative."""
    if not isinstance(x, Mul):
        return False
    sign = 1
    for part in x.args:
        sign *= signs.sign(part, strict=strict)
        if sign == 0:
            return False
    return sign > 0


def _power(signs: Signs, x: Any, strict: bool) -> bool:
    """Even powers of real numbers, and any power of what is positive."""
    if not isinstance(x, Pow):
        return False
    if x.exp.is_even and signs.real(x.base):
        return not strict or signs.positive(x.base) or signs.positive(-x.base)
    return signs.real(x.exp) and signs.nonnegative(x.base, strict=strict or not x.exp.is_nonnegative)


def _end(signs: Signs, x: Any, strict: bool) -> bool:
    """A sum with the largest of several, or less the least of them, that has the sign with one of them."""
    ends = [(term, term) for term in Add.make_args(x) if isinstance(term, Max)]
    ends += [(term, -term) for term in Add.make_args(x) if isinstance(-term, Min)]
    return isinstance(x, Add) and any(
        signs.nonnegative(x - term + (part if term == end else -part), strict=strict)
        for term, end in ends
        for part in end.args
    )


def _sum(signs: Signs, x: Any, strict: bool) -> bool:
    """Sums of what is not negative."""
    terms = Add.make_args(x)
    return (
        len(terms) > 1
        and all(map(signs.nonnegative, terms))
        and (not strict or any(map(signs.positive, terms)))
    )


def _given(signs: Signs, x: Any, strict: bool) -> bool:
    """What is given, for any index, and what is left without it."""
    for fact, is_strict in signs.facts:
        indices = {index: Wild(index.name) for index in fact.atoms(Index)}
        pattern = fact.xreplace(indices)
        places = [
            atom.match(part)
            for part in pattern.atoms(Indexed, Dot)
            for atom in x.atoms(Indexed, Dot)
            if part.has(Wild)
        ]
        for place in [place for place in places if place] or [{}]:
            rest = x - pattern.xreplace(place)
            shorter = rest == 0 or len(Add.make_args(rest)) < len(Add.make_args(x))
            if shorter and not rest.atoms(Wild) and signs.nonnegative(rest, strict=strict and not is_strict):
                return True
    return False


def _more(signs: Signs, x: Any, strict: bool) -> bool:
    """A term that is more than another, such as 1 than a weight."""
    terms = Add.make_args(x)
    for more in filter(signs.nonnegative, terms):
        for less in (term for term in terms if not signs.nonnegative(term)):
            rest = x - more - less
            if _exceeds(signs, more, -less, strict and rest == 0) and (
                rest == 0 or signs.nonnegative(rest, strict=strict)
            ):
                return True
    return len(terms) > 2 and S.One in terms and signs.at_most_one(1 - x, strict=strict)


def _exceeds(signs: Signs, more: Any, less: Any, strict: bool) -> bool:
    """Return whether a positive term is visibly at least another, by a function or their quotient."""
    if (more == 1 and isinstance(less, exp)) or (less == 1 and isinstance(more, exp)):
        return signs.nonnegative(log(more) - less.args[0] if more == 1 else more.args[0], strict=strict)
    if more.func == less.func and isinstance(more, RISING):
        return signs.nonnegative(more.args[0] - less.args[0], strict=strict)
    return signs.at_most_one(less / more, strict=strict) and (not strict or signs.positive(more))


def _any_score(signs: Signs, x: Any, strict: bool) -> bool:
    """The largest of scores less any of them; and log-sum-exp less any of them, or less the largest."""
    for most in x.atoms(Largest, LogSumExp) if isinstance(x, Add) and not strict else ():
        score, key = most.args
        less = most - x
        if less.match(score.xreplace({key: Wild("key")})) is not None and signs.real(score):
            return True
        if isinstance(most, LogSumExp) and _is_largest(signs, less, score, key):
            return True
    return False


def _is_largest(signs: Signs, x: Any, score: Any, key: Any) -> bool:
    """Return whether an expression is the largest of scores, its positive factor inside or outside."""
    factor_of, largest = x.as_independent(Largest, as_Add=False)
    if not isinstance(largest, Largest) or not signs.nonnegative(factor_of):
        return False
    return bool(factor_of * largest.args[0].xreplace({largest.args[1]: key}) == score) and signs.real(score)


def _factors(signs: Signs, x: Any, strict: bool) -> bool:
    """A sum that is a product of such."""
    factors = factor(x) if isinstance(x, Add) else x
    return isinstance(factors, Mul | Pow) and factors != x and signs.nonnegative(factors, strict=strict)


def _coefficients(signs: Signs, x: Any, strict: bool) -> bool:
    """Quotients of polynomials of what is not negative, with coefficients that are not."""
    above, below = (expand(part) for part in fraction(together(signs.plain(x))))
    if not isinstance(above, Add | Mul) and below == 1:
        return False
    for top, bottom in ((above, below), (-above, -below)):
        terms = Add.make_args(expand(top))
        lower = Add.make_args(expand(bottom))
        if all(term.is_nonnegative for term in (*terms, *lower)) and any(term.is_positive for term in lower):
            return not strict or any(term.is_positive for term in terms)
    return False


def _roots(signs: Signs, x: Any, strict: bool) -> bool:
    """A polynomial of one symbol that is positive between its real roots, which are counted."""
    if len(x.free_symbols) != 1 or x.atoms(Function, Indexed, *MEANS):
        return False
    (symbol,), (above, below) = x.free_symbols, fraction(together(x))
    if not symbol.is_extended_real or (below != 1 and not signs.positive(below)):
        return False
    low, high = signs.ends.get(symbol, (-oo, oo))
    least = (S.One if symbol.is_integer else S.Zero) if symbol.is_nonnegative else -oo
    domain = (
        Interval(low, high) & Interval(least, oo) if low.is_number and high.is_number else Interval(least, oo)
    )
    try:
        roots = sorted(set(real_roots(Poly(above, symbol))))
    except (PolynomialError, NotImplementedError):
        return False
    cuts = [domain.inf, *(root for root in roots if domain.inf < root < domain.sup), domain.sup]
    inside = [_between(*pair) for pair in pairwise(cuts)]
    reached = [root for root in roots if root in domain and not (root == 0 and symbol.is_positive)]
    return all(above.subs(symbol, place) > 0 for place in inside) and (not strict or not reached)


def _between(low: Any, high: Any) -> Any:
    if low == -oo:
        return S.Zero if high == oo else high - 1
    return low + 1 if high == oo else (low + high) / 2


PART_BY_PART: tuple[_Reason, ...] = (_product, _power, _sum)
REASONS: tuple[_Reason, ...] = (_roots, _end, _any_score, _coefficients, _given, _more, _factors)
"""The closed list; each says in its docstring what it sees."""
