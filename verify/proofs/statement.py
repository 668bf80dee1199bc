"""Coq statements of chains, where the printer knows all of them, and the record of those that Coq proved.

A statement is the chain's, of Coq's real numbers: sizes are natural numbers, families that stand in
a mean are arrays of variables on a space of outcomes, all others arrays of numbers. Its hypotheses are those
of the chain: domains of symbols, ranges of indices, independence and moments of the laws that its checks
assume. Places count from 1 here and from 0 in Coq; ``_place``, ``_print_Symbol``, ``_print_Sum`` translate.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

from sympy import Add, Derivative, Eq, Ge, Gt, Indexed, KroneckerDelta, Le, Lt, Mul, Pow, Rational, S, Sum
from sympy import Symbol, Tuple, cos, exp, log, sign, sin, sympify
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from verify.proofs import RECORD, SOURCES
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.evaluation import symbols_in
from verify.symbolic.vocabulary import Dot, E, Entropy, Family, Given, Index, Made, Softmax, Var, families_of
from verify.symbolic.vocabulary import free_indices, range_of, unnamed

RELATIONS = {"=": "=", "≤": "<=", "<": "<", "≥": ">=", ">": ">", "⇔": "<->"}
PLAIN = (Add, Mul, Pow, Rational, Symbol, Indexed, Sum, Derivative, KroneckerDelta, exp, log, sign, sin, cos)
KNOWN = (*PLAIN, E, Var, Dot, Softmax, Entropy, Eq, Le, Lt, Ge, Gt)
TAKEN = re.compile("R|P|E|S|I|D|O|t|w|Var|sum|prod|delta|sign|exp|ln|sin|cos|dot|softmax|entropy")
"""Names with a meaning of their own where statements are compiled, or bound by the printer."""


class NotPrintable(Exception):  # noqa: N818 - an answer, no error of the program
    """A chain says something that the printer does not know."""


def _require(known: object, otherwise: str) -> None:
    if not known:
        raise NotPrintable(otherwise)


class Statement(StrPrinter):  # type: ignore[misc]  # SymPy has no types
    """The theorem of a chain, for Coq; sums, products and fractions are written as SymPy writes them.

    Raises:
        NotPrintable: the chain, or an assumption of it, has a part that the printer does not know.
    """

    printmethod = ""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self.relation, self.sides = chain.relation, Tuple(*map(unnamed, (chain.start, chain.end)))
        conditions = (condition for line in chain.lines for condition in line.check.conditions)
        self.given = dict.fromkeys(map(unnamed, (*chain.given, *conditions)))
        self.everything = Tuple(*self.sides, *self.given)
        self.families = sorted(families_of(self.everything), key=str)
        # A family that stands in no mean is an array of numbers; the statement holds for all of them.
        in_means = families_of(Tuple(*self.sides.atoms(E, Var)))
        self.drawn = sorted((f for f in in_means if not isinstance(f, Given)), key=str)
        self.raw = dict[Family, tuple[Any, ...]]()
        for laws in (line.check.laws or {} for line in chain.lines):
            for family in laws.keys() & set(self.drawn):
                law = laws[family]
                # Coq's expectation knows moments of an order; a normal law or a density it does not.
                unknown = law.whole or law.density or len(law.raw) < 2
                _require(not unknown and self.raw.setdefault(family, law.raw) == law.raw, f"law: {law.words}")
        for family in self.families:
            _require(getattr(family, "ranges", ()) and not isinstance(family, Made), f"the family {family}")
        numbers = [*(size for f in self.families for size in f.ranges), *sum(self.raw.values(), ())]
        symbols = set(symbols_in(Tuple(self.everything, *numbers))) - {Symbol("+")}  # a limit's direction
        self.symbols = sorted((x for x in symbols if not isinstance(x, Index)), key=_name)
        self.free = sorted(free_indices(self.sides), key=str)
        self.in_mean, self.slope, self.integrable = False, "", list[str]()
        self.offsets = dict[Any, int]()  # how far the place of a bound index lies above Coq's count
        self.varied = dict[Any, str]()  # rows of which an entry varies, as they are written meanwhile

    def theorem(self, name: str) -> str:
        """Return the theorem of this name, without its proof."""
        _require(self.relation in RELATIONS, f"the relation {self.relation}")
        says = f" {RELATIONS[self.relation]} ".join(map(self._print, self.sides))
        hypotheses = list[str]()
        for symbol in self.symbols:
            known = symbol.is_extended_real and (symbol.is_positive or not symbol.is_integer)
            _require(known, f"the symbol {symbol}, neither real nor a positive whole number")
            if symbol.is_integer:
                hypotheses.append(f"(0 < {_name(symbol)})%nat")
            elif symbol.is_nonnegative:
                hypotheses.append(f"0 {'<' if symbol.is_positive else '<='} {_name(symbol)}")
        hypotheses += self._ranges(self.free)
        for condition in self.given:
            # It holds at all places of the indices that the statement itself does not speak of.
            own = sorted(free_indices(condition) - set(self.free), key=str)
            beside = tuple(index for index in self.free if index in free_indices(condition))
            everywhere = " -> ".join([*self._ranges(own, beside), self._print(condition)])
            hypotheses.append(
                f"(forall {' '.join(map(_name, own))} : nat, {everywhere})" if own else everywhere
            )
        hypotheses += self._laws()
        lines = (f"  {hypothesis} ->\n" for hypothesis in dict.fromkeys(hypotheses))
        return f"Theorem {name}{self._head()} :\n{''.join(lines)}  {self.slope}{says}."

    def _head(self) -> str:
        kinds: dict[str, list[str]] = {"space": ["P"] * bool(self.drawn), "nat": [], "R": []}
        for symbol in (*self.symbols, *self.free):
            kinds["nat" if symbol.is_integer else "R"].append(_name(symbol))
        for family in self.families:
            kind = "nat -> " * len(family.ranges) + "P -> " * (family in self.drawn) + "R"
            kinds.setdefault(kind, []).append(_name(family.label))
        names = [name for group in kinds.values() for name in group]
        _require(len(set(names)) == len(names), f"two things of one name among {', '.join(names)}")
        return "".join(f" ({' '.join(group)} : {kind})" for kind, group in kinds.items() if group)

    def _ranges(self, indices: list[Index], beside: tuple[Index, ...] = ()) -> Iterator[str]:
        """Yield that indices are in their ranges, and that those of the same range differ."""
        sizes = {index: self._size(range_of(self.everything, index)) for index in (*beside, *indices)}
        yield from (f"({_name(index)} < {sizes[index]})%nat" for index in indices)
        for first, second in combinations(sizes, 2):
            if sizes[first] == sizes[second] and second in indices:
                yield f"{_name(first)} <> {_name(second)}"

    def _laws(self) -> list[str]:
        """Return independence and moments; where no law is assumed, that the means exist."""
        if not self.raw:
            return self.integrable
        degrees = {len(raw) - 1 for raw in self.raw.values()}
        known = len(self.raw) == len(self.drawn) and len(degrees) == 1
        _require(known, "laws of some families only, or of different orders")
        arrays, moments = list[str](), list[str]()
        for family in self.drawn:
            sizes, name = list(map(self._size, family.ranges)), _name(family.label)
            arrays.append(f"all{len(sizes)} {' '.join(sizes)} {name}")
            places = [f"i{number}" for number in range(1, len(sizes) + 1)]
            within = (f"({at} < {size})%nat -> " for at, size in zip(places, sizes, strict=True))
            entry, powers = " ".join((name, *places)), list(enumerate(map(self._print, self.raw[family])))
            equal = (f" /\\ E (fun w => {entry} w^{power}) = {moment}" for power, moment in powers[2:])
            says = f"{''.join(within)}E ({entry}) = {powers[1][1]}{''.join(equal)}"
            moments.append(f"(forall {' '.join(places)} : nat, {says})")
        return [f"independent {degrees.pop()} ({' ++ '.join(arrays)})", *moments]

    def _size(self, x: Any) -> str:
        _require(x in self.symbols if not sympify(x).is_Integer else x > 0, f"the size {x}")
        return _name(x)

    # The methods below print numbers; SymPy calls each by the name of a class.

    def _print(self, x: Any, **_: Any) -> str:
        _require(isinstance(x, KNOWN), f"{type(x).__name__}: {x}")
        return str(super()._print(x))

    def _print_Relational(self, x: Any) -> str:
        return f"{self._print(x.lhs)} {x.rel_op.replace('==', '=')} {self._print(x.rhs)}"

    def _print_Symbol(self, x: Any) -> str:
        if isinstance(x, Index) or x in self.offsets:
            return f"INR ({_name(x)} + {self.offsets.get(x, 0) + 1})"
        return f"INR {_name(x)}" if x.is_integer else _name(x)

    def _place(self, x: Any) -> str:
        _require(isinstance(x, Index) or (x.is_Integer and x > 0), f"the place {x}")
        offset = self.offsets.get(x, 0)
        return f"{x - 1}%nat" if x.is_Integer else f"({_name(x)} + {offset})%nat" if offset else _name(x)

    def _within(self, offsets: dict[Any, int], x: Any) -> str:
        before, self.offsets = self.offsets, self.offsets | offsets
        text, self.offsets = self._print(x), before
        return text

    def _print_Sum(self, x: Any) -> str:
        _require(all(low.is_Integer and low > 0 for _, low, _ in x.limits), f"the range of {x}")
        text = self._within({index: int(low) - 1 for index, low, _ in x.limits}, x.function)
        # SymPy's first limit is the innermost sum.
        for index, low, high in x.limits:
            count = self._size(high) if low == 1 else f"({self._size(high)} - {low - 1})"
            text = f"sum {count} (fun {_name(index)} => {text})"
        return text

    def _print_Pow(self, x: Any, **_: Any) -> str:
        if x.exp.is_Integer and x.exp > 0:
            return f"{self.parenthesize(x.base, PRECEDENCE['Pow'])}^{x.exp}"
        if x.exp.is_Rational and x.exp < 0:
            return f"1/{self.parenthesize(x.base**-x.exp, PRECEDENCE['Pow'])}"
        if x.exp == S.Half:
            return f"sqrt({self._print(x.base)})"
        # Coq's Rpower is exp(y ln x), and its ln is 0 where x is not positive.
        _require(x.base.is_positive, f"a power of {x.base}, which need not be positive")
        return f"Rpower ({self._print(x.base)}) ({self._print(x.exp)})"

    def _print_log(self, x: Any) -> str:
        return f"ln({self._print(x.args[0])})"

    def _print_E(self, x: Any) -> str:
        _require(not self.in_mean, f"a mean within a mean: {x}")
        self.in_mean = True
        # That a variance exists is said of the variable and of its square.
        drawn = [
            f"(fun w => {self._print(x.args[0] ** power)})" for power in range(1, 2 + isinstance(x, Var))
        ]
        self.in_mean = False
        self.integrable += [f"integrable {variable}" for variable in drawn]
        return f"{type(x).__name__} {drawn[0]}"

    _print_Var = _print_E

    def _print_Indexed(self, x: Any) -> str:
        _require(self.in_mean or x.base not in self.drawn, f"{x}, which is drawn, in no mean")
        *others, last = map(self._place, x.indices)
        row = self.varied.get((x.base, *x.indices[:-1]), " ".join((_name(x.base.label), *others)))
        return " ".join((row, last, *["w"] * (x.base in self.drawn)))

    def _print_Dot(self, x: Any) -> str:
        if not {x.args[0], x.args[2]} <= set(self.drawn):
            return self._print(x.definition)
        rows = (f"({_name(x.args[at].label)} {self._place(x.args[at + 1])})" for at in (0, 2))
        return f"dot {self._size(x.size)} {' '.join(rows)} w"

    def _print_KroneckerDelta(self, x: Any) -> str:
        return f"delta {' '.join(map(self._place, x.args))}"

    def _print_Softmax(self, x: Any) -> str:
        row, index = x.args if isinstance(x.args[1], Index) else x.row
        return f"{self._weights(row, index)} {self._place(x.args[1])}"

    def _print_Entropy(self, x: Any) -> str:
        return f"entropy {self._size(range_of(*x.args))} ({self._weights(*x.args)})"

    def _weights(self, row: Any, index: Index) -> str:
        of_each = self._within({index: 0}, row)
        return f"softmax {self._size(range_of(row, index))} (fun {_name(index)} => {of_each})"

    def _print_Derivative(self, x: Any) -> str:
        """Return ``D l``; a hypothesis before it says that D exists and is the derivative by entry l."""
        entry, *more = x.variables
        known = isinstance(entry, Indexed) and {entry.indices[-1]} == self.offsets.keys() & free_indices(x)
        _require(known and not (more or self.slope), f"the derivative {x}")
        place, at = self._place(entry.indices[-1]), self._print(entry)
        within = f"({place} < {self._size(range_of(entry, entry.indices[-1]))})%nat"
        self.varied = {(entry.base, *entry.indices[:-1]): f"upd ({at.removesuffix(f' {place}')}) {place} t"}
        slope = f"derivable_pt_lim (fun t => {self._print(x.expr)}) ({at}) (D {place})"
        self.slope, self.varied = f"exists D : nat -> R, (forall {place}, {within} -> {slope}) /\\ ", {}
        return f"D {place}"


def _name(x: Any) -> str:
    name = {"d_k": "d"}.get(str(x), str(x))
    _require(re.fullmatch(r"[A-Za-z]\w*|\d+", name, re.ASCII), f"the name {name}")
    # d, m and n are the sizes; another symbol of such a name gets a prime.
    is_size = name in {"d", "m", "n"} and getattr(x, "is_integer", False)
    return f"{name}'" if TAKEN.fullmatch(name) or (name in {"d", "m", "n"} and not is_size) else name


def digest(*texts: str) -> str:
    """Return the SHA-256 digest of texts, one after the other."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@cache
def library() -> str:
    """Return the digest of the definitions and theorems that all statements rest on."""
    return digest(*(path.read_text("utf-8") for path in sorted(SOURCES.glob("*.v"))))


@cache
def recorded() -> dict[str, Any]:
    """Return the record: Coq's version, and of each claim the theorem, its statement, digest and axioms."""
    return dict(json.loads(RECORD.read_text("utf-8")))


def theorem_of(claim: str, derivation: Derivation) -> str:
    """Return the theorem that the main chain shows, with the claim's name.

    Raises:
        NotPrintable: there is no main chain, or the printer does not know all of it.
    """
    if derivation.main is None:
        raise NotPrintable(derivation.nothing)
    return Statement(derivation.main).theorem(claim.replace("-", "_"))


def is_current(claim: str, derivation: Derivation) -> bool:
    """Return whether the recorded theorem of the claim is that of its main chain now, by its definitions."""
    try:
        says = theorem_of(claim, derivation)
    except NotPrintable:
        return False
    return (library(), digest(says)) == (recorded()["library"], recorded()["claims"][claim]["digest"])
