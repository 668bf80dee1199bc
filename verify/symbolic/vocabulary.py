"""The words of statements about attention: means, families of components, scores, weights.

Everything here is plain SymPy: an expression is derived line by line, printed, and compiled to arrays. What
is random stands inside ``E``, and belongs to a *family*: ``q[a, i]`` is component i of query a. An index that
no sum binds means *any*, and two such indices over one range mean *different places*:
``Cov(score_of(a, j)**2, score_of(b, j)**2)`` is about two queries and one key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import Expr, Function, Indexed, IndexedBase, S, Sum, Symbol, exp, expand, log, sqrt, symbols
from sympy import sympify

from verify.errors import ClaimError

d, m, n, d_v = symbols("d_k m n d_v", positive=True, integer=True)
"""Sizes: components of a query or key, queries, keys, and components of a value."""

sigma = Symbol("sigma", positive=True)
"""The standard deviation of the scores of a row."""


class StepError(Exception):
    """A line does not follow from the one before; its text says why, in one line."""


class Index(Symbol):  # type: ignore[misc]  # SymPy has no types
    """A place in a range of a family, counted from 1."""

    def __new__(cls, name: str) -> Index:
        """Return the index of this name."""
        index: Index = Symbol.__new__(cls, name, positive=True, integer=True)
        return index

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.name,), {}


a, b, i, j, l, e = (Index(name) for name in "abijle")  # noqa: E741 - as they stand in formulas
"""Two queries, a component, two keys, and a component of a value."""


class Family(IndexedBase):  # type: ignore[misc]  # SymPy has no types
    """Random numbers of a kind, a number for each place in its ``ranges``: ``Family("x", m, d)[a, i]``.

    The sizes are no arguments in SymPy's sense: a number put in for d leaves the family what it is. Families
    of the same name and sizes are the same object, for a proof compares them a million times.
    """

    ranges: tuple[Any, ...]
    _made: ClassVar[dict[Any, Family]] = {}

    def __new__(cls, name: Any, *ranges: Any) -> Family:
        """Return the family of this name, with the sizes of its indices' ranges."""
        key = (cls, str(name), ranges)
        if key not in cls._made:
            family: Family = IndexedBase.__new__(cls, str(name))
            family.ranges = ranges
            cls._made[key] = family
        return cls._made[key]

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (str(self.label), *self.ranges)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.ranges)

    def doit(self, **_: Any) -> Family:
        """Return the family itself; made anew of its label it would have no ranges."""
        return self


class Given(Family):
    """Numbers that are given, such as the entries of a matrix: the same in every mean, and never drawn."""


class Made(Family):
    """Numbers that programs make of the draws: of unknown law, and dependent on all families."""


q, k = Family("q", m, d), Family("k", n, d)
v, u = Family("v", n, d_v), Family("u", m, d_v)
"""Components of queries, keys, values, and of the gradient that reaches an output."""

s = Family("s", m, n)
"""Scores of rows: that of query a and key j is ``s[a, j]``, independent of all others."""


class Defined(Function):  # type: ignore[misc]  # SymPy has no types
    """A function that stands for an expression of its arguments, which its class writes out."""

    @property
    def definition(self) -> Expr:
        """The expression that it stands for."""
        return self._written_out(*self.args)


class _LikeItsArgument(Function):  # type: ignore[misc]  # SymPy has no types
    """A function that is real, positive or not negative where its first argument is."""

    def _eval_is_extended_real(self) -> Any:
        return self.args[0].is_extended_real

    def _eval_is_positive(self) -> bool | None:
        return self.args[0].is_positive or None

    def _eval_is_nonnegative(self) -> bool | None:
        return self.args[0].is_nonnegative or None


class E(_LikeItsArgument):
    """The mean over everything that is drawn."""

    nargs = 1

    def _eval_evalf(self, _: int) -> None:
        # SymPy would take it for mpmath's constant of this name, which is no function.
        return None


class Var(Defined):
    """The variance, E x² - (E x)²."""

    nargs = 1
    is_nonnegative = True

    def _written_out(self, x: Any) -> Expr:
        return E(x**2) - E(x) ** 2


class Cov(Defined):
    """The covariance, E xy - E x·E y."""

    nargs = 2
    is_extended_real = True

    def _written_out(self, x: Any, y: Any) -> Expr:
        return E(x * y) - E(x) * E(y)


class Quantile(Function):  # type: ignore[misc]  # SymPy has no types
    """``Quantile(x, level)``: the value below which the share ``level`` of x lies."""

    nargs = 2
    is_extended_real = True


class LargestGap(Function):  # type: ignore[misc]  # SymPy has no types
    """``LargestGap(P, x, points, values)``: how far a share P of independent scores is from a law, at most.

    P is the mean of an event that depends on x, as in ``E(Indicator(x - score))``; the law has the ``values``
    at the ``points``, which are tuples of numbers.
    """

    nargs = 4
    is_nonnegative = True


class Dot(Defined):
    """``Dot(q, a, k, j)``: the dot product of vector a of one family and vector j of another."""

    nargs = 4
    is_extended_real = True

    def _eval_is_nonnegative(self) -> bool | None:
        return self.args[:2] == self.args[2:] or None

    @property
    def size(self) -> Expr:
        """The number of components."""
        return self.args[0].ranges[-1]

    def _written_out(self, left: Any, first: Any, right: Any, second: Any) -> Expr:
        return Sum(left[first, i] * right[second, i], (i, 1, self.size))


def score_of(query: Any, key: Any) -> Expr:
    """Return the raw score of a query and a key, given by their indices."""
    return Dot(q, query, k, key)


score = score_of(a, j)
"""q·k, the raw score of any query and any key."""


class Softmax(Defined):
    """``Softmax(x, j)``: the weight of key j among scores x, which depend on j."""

    nargs = 2
    is_positive = True

    def _written_out(self, x: Any, _: Any) -> Expr:
        # j stays the key that is meant, and another index runs over all keys.
        row, other = self.row
        return exp(x) / Sum(exp(row), (other, 1, range_of(row, other)))

    @property
    def row(self) -> tuple[Expr, Index]:
        """The scores of all keys, and the index that runs over them, which is another than the key's."""
        x, key = self.args
        taken = {symbol.name for symbol in self.atoms(Index)}
        names = ("l", *(f"l_{place}" for place in range(9)))
        other = Index(next(name for name in names if name not in taken))
        # The key that is meant stays; only under the sum does an index run over all.
        if isinstance(key, Index):
            return x.xreplace({key: other}), other
        # A number may stand elsewhere in x, too: only the place of a key is meant.
        moved = {}
        for part in x.atoms(Indexed, Dot):
            # In a dot product families and places stand by turns.
            spots = range(1, len(part.args), 2 if isinstance(part, Dot) else 1)
            pairs = zip(spots, places_in(part), strict=False)
            places = {at: size for at, (place, size) in pairs if place == key}
            # Where a number stands both for a query and a key, as in q_1·k_1, it is the key that runs.
            keys = [at for at, size in places.items() if size == n] or list(places)[:1]
            moved[part] = part.func(*(other if at in keys else arg for at, arg in enumerate(part.args)))
        return x.xreplace(moved), other


class Entropy(Defined):
    """``Entropy(x, j)``: the entropy, in nats, of the weights of scores x over keys j."""

    nargs = 2
    is_nonnegative = True

    def _written_out(self, x: Any, key: Any) -> Expr:
        return LogSumExp(x, key) - Sum(Softmax(x, key) * x, (key, 1, range_of(x, key)))


class LogSumExp(Defined):
    """``LogSumExp(x, j)``: the logarithm of the sum of exponentials of x over keys j."""

    nargs = 2
    is_extended_real = True

    def _written_out(self, x: Any, key: Any) -> Expr:
        return log(Sum(exp(x), (key, 1, range_of(x, key))))


class Largest(_LikeItsArgument):
    """``Largest(x, j)``: the largest of x over all j; x itself where it does not depend on j."""

    nargs = 2

    @classmethod
    def eval(cls, x: Any, key: Any) -> Any:
        """Return x where it is the same for all keys."""
        return None if key in x.free_symbols else x


class Indicator(Function):  # type: ignore[misc]  # SymPy has no types
    """1 where x is above 0, else 0: the event x > y is ``Indicator(x - y)``, its probability the mean."""

    nargs = 1
    is_nonnegative = True


class Named(Defined):
    """``Named(symbol, x)``: an expression under a name of its own, by which it is printed."""

    nargs = 2
    is_extended_real = True

    def _written_out(self, _: Any, x: Any) -> Expr:
        return x


BINDERS = (Softmax, Entropy, LogSumExp, Largest)
"""Functions whose second argument is an index that they run over."""


def over_keys(x: Any, key: Index = j) -> Expr:
    """Return the sum over all keys."""
    return Sum(x, (key, 1, n))


def over_components(x: Any) -> Any:
    """Return the sum over all components i of a query or key."""
    return Sum(x, (i, 1, d))


def squares(x: Any) -> Expr:
    """Return the sum of the squared weights of scores x."""
    return over_keys(Softmax(x, j) ** 2)


@lru_cache(maxsize=65536)
def definition(expression: Any) -> Expr:
    """Return an expression with every function of this module replaced by its definition.

    ``E``, ``Quantile``, ``Largest`` and ``Indicator`` stay.
    """
    x = sympify(expression)
    # Part by part, innermost first: lines of a chain have most of their parts in common.
    parts = tuple(map(definition, x.args))
    x = x if parts == x.args else x.func(*parts)
    # Asked of the class, for asked of the function it would be made.
    return definition(x.definition) if hasattr(type(x), "definition") else x


def places_in(part: Any) -> list[tuple[Any, Any]]:
    """Return the places of a component, or of a dot product, each with the size of its range."""
    if isinstance(part, Dot):
        left, first, right, second = part.args
        return [(first, left.ranges[0]), (second, right.ranges[0])]
    return list(zip(part.indices, getattr(part.base, "ranges", ()), strict=False))


@lru_cache(maxsize=65536)
def range_of(expression: Any, index: Index) -> Expr:
    """Return the size of the range of an index, from the first family that has it.

    An index of this name that a sum within binds is another index, and counts only if there is no other.

    Raises:
        ClaimError: no family of the expression has the index.
    """
    bound = [part for part in expression.atoms(Sum) if index in {limit[0] for limit in part.limits}]
    if bound and index in (outside := expression.xreplace(dict.fromkeys(bound, S.One))).free_symbols:
        expression = outside
    for part in (*expression.atoms(Indexed), *expression.atoms(Dot)):
        for place, size in places_in(part):
            if place == index:
                return size
    raise ClaimError(f"{expression}: no family has the index {index}; write one as in k[{index}, i]")


def unnamed(expression: Any) -> Any:
    """Return an expression with every named part replaced by the name's definition."""
    return sympify(expression).replace(lambda part: isinstance(part, Named), lambda part: part.definition)


def as_drawn(expression: Any) -> Any:
    """Return an expression with a drawn number, of which nothing is known, for each column of a program."""
    return sympify(expression).replace(lambda part: hasattr(type(part), "drawn"), lambda part: part.drawn)


def free_indices(expression: Any) -> set[Index]:
    """Return the indices that no sum and no function of this module binds."""
    x = sympify(expression)
    # SymPy's free_symbols would count the key of an entropy, which it takes for any argument.
    if isinstance(x, Sum):
        return free_indices(x.function) - {limit[0] for limit in x.limits}
    if isinstance(x, BINDERS):
        # The weight of key j depends on j, while an entropy or a maximum over all j does not.
        of, key = x.args
        return free_indices(of) - (set() if isinstance(x, Softmax) else {key})
    if isinstance(x, Index):
        return {x}
    return set[Index]().union(*map(free_indices, x.args))


@lru_cache(maxsize=65536)
def families_of(expression: Any) -> frozenset[Family]:
    """Return the families that an expression is made of."""
    dots = {base for part in expression.atoms(Dot) for base in part.args[::2]}
    return frozenset(dots | {part.base for part in expression.atoms(Indexed)})


@dataclass(frozen=True)
class Law:
    """The assumed law of the components of a family: independent, with these raw moments.

    ``raw`` are E x⁰, E x¹, … as far as they are assumed; of a law that is ``whole``, such as the normal law,
    every moment is. ``words`` say it: "mean 0 and variance 1". A law without moments is known by its
    ``density``, a function of a symbol, and its ``quantile``, a function of an array of probabilities.
    """

    words: str
    raw: tuple[Expr, ...]
    whole: bool = False
    density: Callable[[Any], Expr] | None = None
    quantile: Callable[[Any], Any] | None = None

    @property
    def is_normal(self) -> bool:
        """Whether it is the normal law, and does not only share moments with it."""
        # A law of which 16 moments are given is a law that has these, which need not be the normal law.
        if not self.whole or len(self.raw) < 3:
            return False
        return self.raw == normal(self.raw[1], sqrt(self.raw[2] - self.raw[1] ** 2)).raw


HIGHEST = 16
"""The order up to which moments of a law are written down."""


@lru_cache
def normal(mean: Any = 0, deviation: Any = 1) -> Law:
    """Return the normal law, with its moments up to order 16."""
    mu, spread = sympify(mean), sympify(deviation)
    raw = [S.One, mu]
    # By parts, E xⁿ = μ E xⁿ⁻¹ + (n - 1)σ² E xⁿ⁻².
    while len(raw) <= HIGHEST:
        raw.append(expand(mu * raw[-1] + (len(raw) - 1) * spread**2 * raw[-2]))
    named = f"normal components of mean {mu} and variance {spread**2}"
    return Law("standard normal components" if (mu, spread) == (0, 1) else named, tuple(raw), whole=True)


mu_q, mu_k = symbols("mu_q mu_k", real=True)
sigma_q, sigma_k = symbols("sigma_q sigma_k", positive=True)
gamma_q, gamma_k = symbols("gamma_q gamma_k", real=True)
kappa_q, kappa_k = symbols("kappa_q kappa_k", positive=True)
"""Mean, standard deviation, skewness and kurtosis of the components of queries and of keys."""

UNIT = Law("mean 0 and variance 1", (S.One, S.Zero, S.One))
NORMAL_LAW = normal()

Laws = Mapping[Family, Law]
"""The law of each family; all families are independent of each other."""

STANDARD: Laws = {q: UNIT, k: UNIT}
"""Components of queries and keys with mean 0 and variance 1, of whatever law."""

CENTRED: Laws = {
    q: Law("mean 0 and variance σ_q²", (S.One, S.Zero, sigma_q**2)),
    k: Law("mean 0 and variance σ_k²", (S.One, S.Zero, sigma_k**2)),
}
GENERAL: Laws = {
    q: Law("mean μ_q and variance σ_q²", (S.One, mu_q, mu_q**2 + sigma_q**2)),
    k: Law("mean μ_k and variance σ_k²", (S.One, mu_k, mu_k**2 + sigma_k**2)),
}
NORMAL_COMPONENTS: Laws = {q: NORMAL_LAW, k: NORMAL_LAW, v: NORMAL_LAW, u: NORMAL_LAW}
NORMAL_ROWS: Laws = {s: NORMAL_LAW}
"""Scores of a row that are independent and standard normal; ``sigma*s[a, j]`` has deviation σ."""
