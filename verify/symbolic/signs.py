"""Visible signs: a closed list of reasons for which an expression is not negative, and no search beyond."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Add, Derivative, Dummy, Function, Ge, Gt, Indexed, Integral, Interval, KroneckerDelta
from sympy import Le, Limit, Lt, Mul, Poly, PolynomialError, Pow, S, Subs, Sum, Symbol, Wild, atan
from sympy import Union, erf, exp, factor, fraction, log, oo, sympify, tanh, together
from sympy.solvers.inequalities import solve_poly_inequality

from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Index, Indicator, Largest, LogSumExp, Quantile
from verify.symbolic.vocabulary import Softmax, StepError, Var, range_of

INEQUALITIES = (Le, Lt, Ge, Gt)

MEANS = (E, Sum, Integral)
"""Operations whose result is not negative where their argument is not."""

RISING = (exp, log, tanh, atan, erf)
"""Functions of a real number that rise wherever they are real."""

_HIDDEN = (
    *(Indexed, Dot, Quantile, Cov, Var, LogSumExp, Largest, Softmax, Entropy, Indicator),
    *(*MEANS, Limit, Subs, Derivative),
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
        for relation in given:
            if not isinstance(relation, INEQUALITIES):
                raise StepError(f"given {relation}, which is no inequality; write one such as n > 2")
            less, more, strict = relation.lts, relation.gts, isinstance(relation, Lt | Gt)
            sides = (less, less.args[0], -less.args[0]) if isinstance(less, Abs) else (less,)
            self.facts += [(more - side, strict) for side in sides]
            # Ends are put in for the symbol they bound, so they may speak of no symbol with ends.
            for symbol, end, place in ((less, more, 1), (more, less, 0)):
                if symbol.is_Symbol and not end.free_symbols & {symbol, *self.ends}:
                    whole = strict and symbol.is_integer and end.is_integer
                    self.ends.setdefault(symbol, [-oo, oo])[place] = end + (1 - 2 * place if whole else 0)

    def within(self, limits: Any) -> Signs:
        """Return the signs inside of a sum or an integral, between the ends of its variables."""
        bounds = []
        for variable, *ends in limits:
            both = (kind(variable, end) for kind, end in zip((Ge, Le), ends, strict=False) if end.is_finite)
            bounds += [bound for bound in both if isinstance(bound, Ge | Le)]
        return Signs((*self.given, *bounds))

    def nonnegative(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether an expression is visibly not negative or, where ``strict``, visibly positive."""
        x = sympify(x)
        x = x.primitive()[1] if x.is_Add else x  # less a positive number before the sum
        if (x, strict) not in self.seen:
            self.seen[x, strict] = False  # a reason may not rest on itself
            self.seen[x, strict] = any(reason(self, x, strict) for reason in self._REASONS)
        return self.seen[x, strict]

    def positive(self, x: Any) -> bool:
        """Return whether an expression is visibly positive."""
        return self.nonnegative(x, strict=True)

    def holds(self, relation: Any) -> bool:
        """Return whether an inequality visibly holds."""
        return self.nonnegative(relation.gts - relation.lts, strict=relation.rel_op in "<>")

    def real(self, x: Any) -> bool:
        """Return whether an expression is visibly real."""
        return bool(self.plain(x).is_extended_real)

    def sign(self, x: Any, *, strict: bool = False) -> int:
        """Return 1 where an expression is visibly not negative, -1 where it is not positive, else 0."""
        # What begins with a minus is most often negative, and it takes longest to see no reason at all.
        ways = (-1, 1) if x.could_extract_minus_sign() else (1, -1)
        return next((way for way in ways if self.nonnegative(way * x, strict=strict)), 0)

    def at_most_one(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether an expression is visibly at most 1 or, where ``strict``, below 1."""
        if isinstance(x, E):
            return self.at_most_one(x.args[0], strict=strict)
        if isinstance(x, Softmax | Indicator | KroneckerDelta):
            return not strict
        # A number of at least 1 to a power that is not positive.
        if isinstance(x, Pow) and self.nonnegative(-x.exp, strict=strict):
            return self.nonnegative(x.base - 1, strict=strict)
        # The weights of a row sum to 1, so with factors of at most 1 they sum to less.
        if isinstance(x, Sum) and len(x.limits) == 1 and not strict:
            (key, *ends), inside = x.limits[0], self.within(x.limits)
            for weight in x.function.atoms(Softmax):
                if weight.args[1] == key and ends == [1, range_of(weight.args[0], key)]:
                    rest = x.function / weight
                    return inside.nonnegative(rest) and inside.at_most_one(rest)
        rest = self.plain(1 - x)
        return bool(rest.is_positive or (rest.is_nonnegative and not strict))

    def plain(self, x: Any) -> Any:
        """Return an expression with everything that SymPy knows no sign of behind a symbol that has its sign.

        A symbol that lies between ends is written by how far it is from them.
        """
        if x in self.names:
            return self.names[x]
        if isinstance(x, _HIDDEN):
            written = self._hidden(x)
        elif x.args:
            written = x.func(*map(self.plain, x.args))
        else:
            written = x
        if isinstance(x, Symbol):
            low, high = self.ends.get(x, (-oo, oo))
            low = S.One if low == -oo and x.is_positive and x.is_integer else low
            if low != -oo:
                written = self.plain(low) + Dummy("t", nonnegative=True)
            elif high != oo and not x.is_nonnegative:
                written = self.plain(high) - Dummy("t", nonnegative=True)
        self.names[x] = written
        return written

    def _hidden(self, x: Any) -> Any:
        """Return a symbol that has the signs of a part, as far as they are visible."""
        if isinstance(x, MEANS):
            inside, of = self.within(x.args[1:]), x.args[0]
            is_real = inside.real(of)
            is_positive, is_nonnegative = (
                self.forward(x, strict=strict) and inside.nonnegative(of, strict=strict)
                for strict in (True, False)
            )
        else:
            is_real = not isinstance(x, Limit | Subs | Derivative)
            # A largest has the sign that all have; of all else here SymPy says what is known.
            of = x.args[0] if isinstance(x, Largest) else S.NegativeOne
            is_positive = x.is_positive or self.positive(of)
            is_nonnegative = x.is_nonnegative or self.nonnegative(of)
        known = {"real": is_real, "positive": is_positive, "nonnegative": is_nonnegative}
        return Dummy("h", **{fact: True for fact, holds in known.items() if holds})

    def forward(self, x: Any, *, strict: bool = False) -> bool:
        """Return whether a sum or an integral visibly goes from low to high; else it has the other sign."""
        more = 1 if isinstance(x, Sum) else 0
        lengths = [high - low + more for _, low, high in getattr(x, "limits", ())]
        return all(length == oo or self.nonnegative(length, strict=strict) for length in lengths)

    # The closed list; each says in its docstring what it sees.

    def _part_by_part(self, x: Any, strict: bool) -> bool:
        """Sums and products of expressions with a sign, even powers, and all powers of a positive base."""
        if isinstance(x, Mul):
            # Part by part as far as a part of hidden sign.
            signs = 1
            for part in x.args:
                signs *= self.sign(part, strict=strict)
                if signs == 0:
                    break
            return signs > 0
        if isinstance(x, Pow):
            strict = strict or not x.exp.is_nonnegative
            return self.real(x.exp) and self.nonnegative(x.base, strict=strict)
        if isinstance(x, Add):
            return all(map(self.nonnegative, x.args)) and (not strict or any(map(self.positive, x.args)))
        return False

    def _assumed(self, x: Any, strict: bool) -> bool:
        """The verdict of SymPy's own assumptions."""
        plain = self.plain(x)
        return bool(plain.is_positive if strict else plain.is_nonnegative)

    def _roots(self, x: Any, strict: bool) -> bool:
        """A polynomial of one symbol that is negative nowhere between its real roots."""
        if len(x.free_symbols) != 1 or x.atoms(Function, Indexed, *MEANS):
            return False
        (symbol,), (above, below) = x.free_symbols, fraction(together(x))
        if not symbol.is_extended_real or (below != 1 and not self.positive(below)):
            return False
        domain, ends = S.Reals, self.ends.get(symbol, (-oo, oo))
        if symbol.is_nonnegative:
            first = S.One if symbol.is_integer and symbol.is_positive else S.Zero
            domain = Interval(first, oo, left_open=bool(symbol.is_positive and first == 0))
        if all(end.is_number for end in ends):
            domain &= Interval(*ends)
        # SymPy isolates the real roots exactly; no number is rounded.
        try:
            elsewhere = Union(*solve_poly_inequality(Poly(above, symbol), "<=" if strict else "<"))
        except (PolynomialError, NotImplementedError):
            return False
        return bool((elsewhere & domain).is_empty)

    def _given(self, x: Any, strict: bool) -> bool:
        """A given inequality, or a largest that is more than any, and the rest of the sum without it."""
        facts = list[tuple[Any, bool]]()
        for fact, is_strict in self.facts:
            # What is given of x_j is given of x at any place: at those that stand in the expression.
            places = {i for part in fact.atoms(Indexed, Dot) for i in part.atoms(Index)}
            facts.append((fact.xreplace({i: Wild(i.name) for i in places}), is_strict))
        for most in x.atoms(Largest, LogSumExp) if isinstance(x, Add) else ():
            score, key = most.args
            if not self.real(score):
                continue
            facts.append((most - score.xreplace({key: Wild("key")}), False))
            # Log-sum-exp is more than the largest score, too, which may have a positive factor before it.
            for largest in x.atoms(Largest) if isinstance(most, LogSumExp) else ():
                times = score / largest.args[0].xreplace({largest.args[1]: key})
                if not times.has(key) and self.nonnegative(times):
                    facts.append((most - times * largest, False))
        for pattern, is_strict in facts:
            wild = [part for part in pattern.atoms(Indexed, Dot) if part.has(Wild)]
            matches = [atom.match(part) for part in wild for atom in x.atoms(Indexed, Dot)]
            for places in list(filter(None, matches)) or [{}]:
                rest = x - pattern.xreplace(places)
                shorter = rest == 0 or len(Add.make_args(rest)) < len(Add.make_args(x))
                strictly = strict and not is_strict
                if shorter and not rest.atoms(Wild) and self.nonnegative(rest, strict=strictly):
                    return True
        return False

    def _more(self, x: Any, strict: bool) -> bool:
        """A term that is more than another, such as 1 than a weight."""
        terms = Add.make_args(x)
        for more in filter(self.nonnegative, terms):
            for less in (-term for term in terms if not self.nonnegative(term)):
                # x is (more - less) + rest, so that both may be decided apart.
                rest = x - more + less
                exceeds = self._exceeds(more, less, strict and rest == 0)
                if exceeds and (rest == 0 or self.nonnegative(rest, strict=strict)):
                    return True
        return len(terms) > 2 and S.One in terms and self.at_most_one(1 - x, strict=strict)

    def _exceeds(self, more: Any, less: Any, strict: bool) -> bool:
        """Return whether a positive term is visibly at least another, by a function or their quotient."""
        if (more == 1 and isinstance(less, exp)) or (less == 1 and isinstance(more, exp)):
            return self.nonnegative(-less.args[0] if more == 1 else more.args[0], strict=strict)
        if more.func == less.func and isinstance(more, RISING):
            return self.nonnegative(more.args[0] - less.args[0], strict=strict)
        return self.at_most_one(less / more, strict=strict) and (not strict or self.positive(more))

    def _factors(self, x: Any, strict: bool) -> bool:
        """A sum that is a product of factors with a sign."""
        factors = factor(x) if isinstance(x, Add) else x
        return isinstance(factors, Mul | Pow) and factors != x and self.nonnegative(factors, strict=strict)

    # Part by part is sooner than SymPy's own assumptions of the whole.
    _REASONS = (_part_by_part, _assumed, _roots, _given, _more, _factors)
