"""Compiles expressions without means to a list of array operations, and runs it on a batch of draws.

A mean is taken in two steps: here over the places of a block, such as its queries, and later over blocks,
which are independent of each other. In blocks of 4 queries and 8 keys with 64 components, the mean of Σ p²
with p = softmax(q·k/√d), which is written ``squares(score / sqrt(d))``, becomes these operations:

    0  the number 1/8
    1  the draws of q             axes block, a, component
    2  the draws of k             axes block, j, component
    3  product over component     axes block, a, j            of 1 and 2, by matrices
    4  times                      axes block, a, j            of 0 and 3
    5  softmax                    axes block, a, j            of 4, along its last axis
    6  product over j             axes block, a               of 5 and 5
    7  mean over a                axis block                  of 6

Arrays have labelled axes: the blocks, then indices. The sum binds the index j, so operation 6 drops its axis.
An index that nothing binds, here a, means *any*: it keeps its axis until the mean is taken over all its
places. Two such indices over one range mean *different* places: ``_apart`` sees to it, and makes no array of
all pairs.

An operation is known by its function and by those that it takes its arrays from. So what several expressions
have in common is computed once, as p is here, also where they differ in names of indices; and an array is
given up after the last operation that takes it.

``Compiler`` goes top down: from means to their terms, from a term through its parts to operations.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import scipy
import sympy as sp
from sympy.utilities.iterables import multiset_partitions

from verify.errors import ClaimError
from verify.montecarlo.distributions import Array, double
from verify.montecarlo.operations import Compiled, Program, Step, largest, softmax
from verify.symbolic.vocabulary import (
    BINDERS,
    Dot,
    Family,
    Index,
    Indicator,
    Largest,
    LogSumExp,
    Made,
    Softmax,
    free_indices,
    places_in,
)

BLOCK, COMPONENT, OTHER = Index("block"), Index("component"), Index("component'")
"""Labels of the axis of blocks, and of those over which dot products are taken."""


class Node(NamedTuple):
    """The value of an expression: its place among the steps, and its axes with lengths, 0 for the blocks'."""

    place: int
    axes: tuple[Index, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it has for one block."""
        return math.prod(length for length in self.shape if length)


class Compiler:
    """Compiles expressions for blocks whose ranges have these ``sizes`` and symbols these ``values``."""

    def __init__(
        self, sizes: Mapping[Any, int], values: Mapping[sp.Symbol, float], families: Iterable[Family]
    ) -> None:
        self._sizes, self._values = dict(sizes), values
        self._families = {str(family.label) for family in families}
        self._steps: list[Step] = []
        self._places: dict[Any, int] = {}
        self._nodes: dict[sp.Expr, Node] = {}
        self._ranges: dict[Index, Any] = {}

    # ---- Means over the places of a block --------------------------------------------------------------

    def block_means(self, expressions: Iterable[sp.Expr]) -> Compiled:
        """Return the steps that compute the mean of each expression in each block."""
        written = []
        for output in expressions:
            self.learn(output)
            free = self.groups(output)
            vectors = map(places_in, output.atoms(sp.Indexed, Dot))
            for place, extent in itertools.chain.from_iterable(vectors):
                # A chain takes it for another place than that of the index, which may be any.
                if getattr(place, "is_Integer", False) and extent in free:
                    raise ClaimError(
                        f"{output}: {free[extent][0]} may be place {place} as well; "
                        "write another index for the number, or numbers for both"
                    )
            # Indices of one range are kept apart term by term: a product of sums is multiplied out for that.
            is_apart = any(len(indices) > 1 for indices in free.values())
            hints = {"power_base": False, "power_exp": False, "log": False, "func": False}
            expression = output.expand(**hints) if is_apart else output
            split = (part.as_independent(*RANDOM, as_Add=False) for part in sp.Add.make_args(expression))
            written.append([(self.value(factor), rest) for factor, rest in split])
        # The mean of a sum is the sum of the means, and terms that several outputs share are averaged once.
        terms = list(dict.fromkeys(term for parts in written for _, term in parts))
        means = {term: self._mean(term) for term in terms}
        return self.compiled(
            [self._combined([(factor, means[term]) for factor, term in parts]) for parts in written]
        )

    def learn(self, expression: sp.Expr) -> None:
        """Note the ranges of all indices; that of a family goes before what a sum says of its own."""
        for part in expression.atoms(sp.Indexed, Dot):
            self._ranges |= dict(places_in(part))
        for part in expression.atoms(sp.Sum):
            self._ranges = {index: high for index, _, high in part.limits} | self._ranges

    def groups(self, expression: sp.Expr) -> dict[Any, list[Index]]:
        """Return the free indices of an expression by their ranges."""
        groups: dict[Any, list[Index]] = {}
        for index in sorted(free_indices(expression), key=str):
            groups.setdefault(self._ranges.get(index, index), []).append(index)
        return groups

    def _mean(self, expression: sp.Expr) -> Node:
        """Return the mean over the places of all free indices in double precision, shape (blocks,).

        Those of one range are at different places.
        """
        groups = self.groups(expression)
        for extent, indices in groups.items():
            if len(indices) > 1:
                return self._apart(expression, extent, indices)
        alone = {index for (index,) in groups.values()}
        if total := self._total_of_scores(expression, alone):
            places = float(math.prod(map(self._length, groups)))
            return self.elementwise(("over", places), lambda x: x / places, [total])
        # Factors stay apart: that of a over a mean of f(a)·g(a, j) need not be spread over all j.
        nodes = [self.node(factor) for factor in _factors(expression)]
        lengths = _lengths(nodes)
        counts = {axis: float(length) for axis, length in lengths.items() if axis != BLOCK}
        if all(lengths.keys() - set(node.axes) for node in nodes) and counts:
            # An array of all indices would be larger than any factor.
            many, total = math.prod(counts.values()), self._double(self._summed(nodes, counts))
            return self.elementwise(("over", many), lambda x: x / many, [total])
        if len(nodes) > 1 and BLOCK in lengths:
            *first, last = (self._double(node) for node in nodes)
            order = sorted(lengths, key=lambda axis: axis != BLOCK)
            pair = [self.view(node, order) for node in (self.product(first), last)]
            return self.emit("mean of product", _mean_of_product, pair)
        node = self.product(nodes)
        return self._reduced(node, counts, "mean", dtype=np.float64) if counts else node

    def _apart(self, expression: sp.Expr, extent: Any, indices: Sequence[Index]) -> Node:
        """Return the mean where indices are at different places, by which of them may coincide.

        By inclusion and exclusion: of two indices over N places, with the mean over all pairs of places and
        that over equal ones, it is (N·all - same)/(N - 1). Over all pairs, a product splits into sums over
        each index, so that no array of pairs is made.
        """
        size, many, terms = self._length(extent), len(indices), []
        if size < many:
            raise ClaimError(f"{expression}: needs {many} different places of {size}; draw more")
        for partition in multiset_partitions(indices):
            places: dict[Index, Index] = {}
            for number, group in enumerate(partition):
                # Coinciding indices have a range of their own, so that they may be where others are.
                place, own = Index(f"{extent}'{number}"), sp.Symbol(f"{extent}'{number}")
                self._ranges[place], self._sizes[own] = own, size
                places |= dict.fromkeys(group, place)
            # Möbius' function of partitions: the sign and number of ways in which these places coincide.
            weight = math.prod(
                (-1) ** (len(group) - 1) * math.factorial(len(group) - 1) for group in partition
            )
            share = weight * size ** len(partition) / math.perm(size, many)
            terms.append((share, self._mean(expression.xreplace(places))))
        return self._combined(terms)

    def _combined(self, terms: Sequence[tuple[float, Node]]) -> Node:
        """Return a sum of numbers times means, not all of which may be numbers."""
        weights, nodes = zip(*terms, strict=True)
        if not any(node.axes for node in nodes):
            raise ClaimError("nothing of it is random: write what is drawn, such as q[a, i] or score")
        if weights == (1,):
            return nodes[0]
        return self.emit(("combined", weights), lambda *means: sum(map(operator.mul, weights, means)), nodes)

    def compiled(self, outputs: Sequence[Node]) -> Compiled:
        """Return the steps that compute the ``outputs``, and nothing else."""
        wanted = tuple(node.place for node in outputs)
        # From the last step to the first: what no later step needs is free after the one that takes it.
        needed, frees = set(wanted), dict[int, tuple[int, ...]]()
        for place in reversed(range(len(self._steps))):
            if place in needed:
                operands = set(self._steps[place].operands)
                frees[place] = tuple(sorted(operands - needed))
                needed |= operands
        steps = tuple((place, self._steps[place], frees[place]) for place in sorted(needed))
        return Compiled(steps, wanted)

    # ---- Expressions, kind by kind ---------------------------------------------------------------------

    def node(self, expression: sp.Expr) -> Node:
        """Return the value of an expression at every place of its free indices.

        Raises:
            ClaimError: a part of it cannot be compiled.
        """
        if expression in self._nodes:
            return self._nodes[expression]
        match expression:
            case _ if not expression.has(*RANDOM):
                node = self.number(self.value(expression))
            case Index() if expression not in self._ranges:
                raise ClaimError(f"no family has the index {expression}; write one as in k[{expression}, i]")
            case Index():
                size = self._length(self._ranges[expression])
                places = partial(np.arange, 1, size + 1, dtype=np.float32)
                node = self.emit(("places", size), places, [], (expression,), (size,))
            case sp.Indexed():
                node = self.entry(expression.base, expression.indices)
            case Dot(args=(left, first, right, second)):
                vectors = self.entry(left, (first, COMPONENT)), self.entry(right, (second, COMPONENT))
                node = self._contracted(*vectors, COMPONENT)
            case Column():
                node = self._column(expression)
            case sp.Sum():
                node = self._sum(expression)
            case sp.Pow():
                node = self._power(expression)
            case sp.Mul():
                node = self.product([self.node(part) for part in expression.args])
            case _:
                node = self._row(expression) if isinstance(expression, BINDERS) else self._applied(expression)
        self._nodes[expression] = node
        return node

    def _applied(self, expression: sp.Expr) -> Node:
        """Return a function of numbers, such as exp, applied to its arguments."""
        function = expression.func
        apply = getattr(function, "numpy", None) or _ELEMENTWISE.get(function)
        if function == sp.erf:
            # SciPy takes a while to load, and claims are shown without it.
            apply = scipy.special.erf
        if apply is None:
            raise ClaimError(
                f"{expression}: {function} cannot be measured; write it with sums, powers, exp, log, Abs, "
                "Max, Min, Indicator and the functions of softmax, or as a program's column"
            )
        # Max and Min have several arguments, and arrays are compared by two.
        nodes = [self.node(part) for part in expression.args]
        if function in {sp.Add, sp.Max, sp.Min}:
            return reduce(lambda x, y: self.elementwise(function, apply, [x, y]), nodes)
        return self.elementwise(function, apply, nodes)

    def value(self, expression: sp.Expr) -> float:
        """Return an expression of sizes and symbols as a number.

        Raises:
            ClaimError: a symbol in it has no value.
        """
        value = expression.subs(self._values).replace(Indicator, lambda x: sp.Integer(bool(x > 0)))
        if value.free_symbols:
            names = ", ".join(sorted(map(str, value.free_symbols)))
            raise ClaimError(f"{expression}: no value is given for {names}; put it into at={{…}}")
        return float(value)

    def _length(self, extent: Any) -> int:
        return self._sizes[extent] if extent in self._sizes else round(self.value(sp.sympify(extent)))

    def entry(self, family: Family, indices: Sequence[Any]) -> Node:
        """Return the draws of a family, at numbered places where an index is a number.

        Raises:
            ClaimError: the family has no law, or an index is neither an index nor a number of a place.
        """
        name = str(family.label)
        if name not in self._families:
            raise ClaimError(f"no law is given for {name}, which the quantity is made of")
        axes, shape = (BLOCK, *indices), (0, *map(self._length, family.ranges))
        drawn = partial(self.emit, is_view=True, is_drawn=True)
        node = drawn(("family", name), lambda draws, _: draws[name], [], axes, shape)
        for axis, index in reversed(list(enumerate(node.axes))):
            if getattr(index, "is_Integer", False):
                if not 1 <= index <= node.shape[axis]:
                    raise ClaimError(f"{name}: there is no place {index} of {node.shape[axis]}; draw more")
                node = self._cut(node, axis, int(index) - 1)
            elif not isinstance(index, Index):
                raise ClaimError(f"{name}{list(indices)}: an index is a, b, i, j, l, e or a number")
        return node

    def _cut(self, node: Node, axis: int, first: int, last: int | None = None) -> Node:
        """Return a node at one position of an axis, or from the ``first`` up to the ``last``."""
        cut = (*(slice(None),) * axis, first if last is None else slice(first, last))
        keep = [] if last is None else [(node.axes[axis], last - first)]
        parts = list(zip(node.axes, node.shape, strict=True))
        axes, shape = zip(*(*parts[:axis], *keep, *parts[axis + 1 :]), strict=True)
        return self.emit(("cut", axis, first, last), lambda x: x[cut], [node], axes, shape, is_view=True)

    def _column(self, column: Column) -> Node:
        made = self.emit(("program", column._hashable_content()[:2]), column.program, [], is_drawn=True)

        def named(columns: Mapping[str, Any]) -> Any:
            if column.name not in columns:
                raise ClaimError(f"the program makes no column {column.name!r}, but {', '.join(columns)}")
            values = np.asarray(columns[column.name])
            return values.reshape(len(values), -1).mean(axis=1, dtype=np.float64)

        return self.emit(("column", column.name), named, [made])

    def _power(self, expression: sp.Pow) -> Node:
        base, power = expression.args
        # A number to a random power, as in 2**s: by the exponential function.
        if not base.has(*RANDOM):
            by = math.log(self.value(base))
            return self.elementwise(("base", by), lambda y: np.exp(y * by), [self.node(power)])
        exponent = self.value(power)
        # Several times faster than NumPy's powers, and squares that are there already are used again.
        if exponent in _WHOLE:
            return self.product([self.node(part) for part in _halves(base, int(exponent))])
        if -exponent in _WHOLE:
            base, exponent = base**-power, -1.0
        return self.elementwise(("power", exponent), lambda x: x**exponent, [self.node(base)])

    def _row(self, expression: sp.Expr) -> Node:
        """Return a function of the scores of a row; its exponentials are relative to the largest."""
        x, key = expression.args
        scores = self.node(x)
        if key not in scores.axes:
            raise ClaimError(f"{expression}: its scores do not depend on {key}")
        axes = (*(axis for axis in scores.axes if axis != key), key)
        rows = self.view(scores, axes)
        of_row = axes[:-1], rows.shape[:-1]
        if isinstance(expression, Largest):
            return self.emit("largest", largest, [rows], *of_row)
        weights = self.emit("softmax", softmax, [rows], axes, rows.shape)
        if isinstance(expression, Softmax):
            return weights
        # With s less its largest, ln p = s - ln Σ exp(s), and that sum is the inverse of the largest p. Of
        # large scores those that weigh are near 0 then, and little is lost to rounding.
        most, top = (self.emit("largest", largest, [of], *of_row) for of in (weights, rows))
        if isinstance(expression, LogSumExp):
            return self.emit("logsumexp", lambda s, p: s - np.log(p), [top, most], *of_row)

        def entropy(rows: Array, weights: Array, top: Array, most: Array) -> Any:
            return -np.log(most) - np.einsum("...j,...j->...", weights, rows - top[..., None])

        return self.emit("entropy", entropy, [rows, weights, top, most], *of_row)

    def _sum(self, expression: sp.Sum) -> Node:
        # Term by term: a product of matrices takes factors, and a sum has none.
        if isinstance(expression.function, sp.Add):
            parts = (sp.Sum(part, *expression.limits) for part in expression.function.args)
            return self.node(sp.Add(*parts, evaluate=False))
        whole = {index for index, *ends in expression.limits if ends == [1, self._ranges[index]]}
        total = self._total_of_scores(expression.function, whole)
        if total and len(whole) == len(expression.limits):
            return total
        nodes, counts = [self.node(factor) for factor in _factors(expression.function)], {}
        for index, low, high in expression.limits:
            first, last = round(self.value(low)), self._length(high)
            counts[index] = self.value(high - low + 1)
            for place, node in enumerate(nodes):
                length = node.shape[node.axes.index(index)] if index in node.axes else last
                if not 1 <= first <= last <= length:
                    raise ClaimError(f"a sum over {index} from {low} to {high}: there are {length} of them")
                if (first, last) != (1, length):
                    nodes[place] = self._cut(node, node.axes.index(index), first - 1, last)
        return self._summed(nodes, counts)

    def _total_of_scores(self, x: sp.Expr, indices: set[Any]) -> Node | None:
        """Return the sum of a score, or of its square, over both its places; None where it is another sum.

        Where vectors have fewer components than there are places, the scores themselves are not needed:
        Σ q_a·k_j is Σ q_a times Σ k_j, and Σ (q_a·k_j)² is Σ_il of (Σ_a q_ai q_al)·(Σ_j k_ji k_jl).
        """
        dot, power = x.as_base_exp()
        is_of_score = isinstance(dot, Dot) and power in (1, 2)
        if not is_of_score or len(indices) < 2 or set(dot.args[1::2]) != indices:
            return None
        sides = []
        for family, place in (dot.args[:2], dot.args[2:]):
            vectors = self.entry(family, (place, COMPONENT))
            if vectors.shape[2] >= vectors.shape[1]:
                return None
            if power == 1:
                side = self._reduced(vectors, [place], "sum")
            else:
                side = self._contracted(vectors, self.entry(family, (place, OTHER)), place)
            sides.append(self._double(side))
        return self.emit("sum of product", _sum_of_product, sides)

    def _summed(self, nodes: Sequence[Node], counts: Mapping[Index, float]) -> Node:
        """Return the sum of a product over several indices, each with the number of its places.

        A sum over one index needs only the factors that have it; the others wait outside. So no array gets
        more axes than a factor of the formula has, where that can be avoided.
        """
        pending, left = list(nodes), dict(counts)
        while left:
            # First the index that the fewest factors have: it drops an axis soonest.
            index = min(left, key=lambda index: sum(index in node.axes for node in pending))
            count = left.pop(index)
            inside = [node for node in pending if index in node.axes]
            pending = [node for node in pending if index not in node.axes]
            while len(inside) > 2:
                # First two factors of which the larger has all axes, as their product is no larger then.
                ordered = sorted(inside, key=lambda node: (len(node.axes), node.place))
                pairs = permutations(range(len(ordered)), 2)
                within = (pair for pair in pairs if set(ordered[pair[0]].axes) <= set(ordered[pair[1]].axes))
                both = next(within, (0, 1))  # by their places: a square has the same factor twice
                rest = [node for place, node in enumerate(ordered) if place not in both]
                inside = [*rest, self.product([ordered[place] for place in both])]
            if len(inside) == 2:
                pending.append(self._contracted(inside[0], inside[1], index))
            elif inside:
                pending.append(self._reduced(inside[0], [index], "sum"))
            else:
                pending.append(self.number(count))
        return self.product(pending)

    # ---- Operations ------------------------------------------------------------------------------------

    def number(self, value: float) -> Node:
        """Return a number."""
        return self.emit(("number", value), lambda: value, [], (), ())

    def elementwise(self, key: Any, function: Callable[..., Any], nodes: Iterable[Node]) -> Node:
        """Return a function of numbers at every place of all axes of ``nodes``."""
        nodes = list(nodes)
        lengths = _lengths(nodes)
        # Blocks come first, then the axes of whichever operand has most of them.
        longest = max(nodes, key=lambda node: len(node.axes)).axes
        axes = sorted(dict.fromkeys([*longest, *lengths]), key=lambda axis: axis != BLOCK)
        views = [self.view(node, axes) for node in nodes]
        return self.emit((key,), function, views, axes, [lengths[axis] for axis in axes])

    def product(self, nodes: Sequence[Node]) -> Node:
        """Return the product, the smallest factors first."""
        unit = self.number(1.0).place
        pending = [node for node in nodes if node.place != unit] or [self.number(1.0)]
        while len(pending) > 1:
            first, second, *rest = sorted(pending, key=lambda node: (node.size, node.place))
            pending = [self.elementwise(sp.Mul, operator.mul, [first, second]), *rest]
        return pending[0]

    def _contracted(self, x: Node, y: Node, index: Index) -> Node:
        """Return the sum over an index of a product of two, by one product of matrices for each block.

        Axes that both have are a batch of such products, as the blocks are. Those of ``x`` alone are
        flattened to rows of the result, those of ``y`` alone to columns.
        """
        shared = [axis for axis in x.axes if axis in y.axes and axis != index]
        left, right = ([axis for axis in node.axes if axis not in (*shared, index)] for node in (x, y))
        axes, lengths, at = (*shared, *left, *right), _lengths([x, y]), len(shared)
        pair = [self.view(x, (*shared, *left, index)), self.view(y, (*shared, *right, index))]

        def matrices(p: Any, q: Any) -> Any:
            flat_p, flat_q = (array.reshape(*array.shape[:at], -1, array.shape[-1]) for array in (p, q))
            product = flat_p @ flat_q.swapaxes(-1, -2)
            return product.reshape(*product.shape[:at], *p.shape[at:-1], *q.shape[at:-1])

        # Where no index is left to either factor alone, a product of matrices would be of single rows.
        inner = partial(np.einsum, "...k,...k->...")
        function = matrices if left or right else inner
        key = ("product", at, len(left), len(right))
        return self.emit(key, function, pair, axes, [lengths[axis] for axis in axes])

    def _reduced(self, node: Node, indices: Iterable[Index], how: str, **more: Any) -> Node:
        """Return the sum or the mean over indices."""
        over = tuple(node.axes.index(index) for index in indices)
        left = [place for place in range(len(node.axes)) if place not in over]
        axes, shape = [node.axes[place] for place in left], [node.shape[place] for place in left]
        return self.emit((how, over), partial(getattr(np, how), axis=over, **more), [node], axes, shape)

    def _double(self, node: Node) -> Node:
        return self.emit("double", double, [node], node.axes, node.shape)

    def view(self, node: Node, axes: Sequence[Index]) -> Node:
        """Return a node with its axes in the order of ``axes``; those that it lacks have the length 1."""
        if not node.axes or node.axes == tuple(axes):
            return node
        # Nothing is copied: axes are put in order, and a slice with None adds those that are lacking.
        order = tuple(node.axes.index(axis) for axis in axes if axis in node.axes)
        cut = tuple(slice(None) if axis in node.axes else None for axis in axes)
        moves = order != tuple(sorted(order))

        def moved(array: Any) -> Any:
            return (array.transpose(order) if moves else array)[cut]

        lengths = dict(zip(node.axes, node.shape, strict=True))
        key = ("view", order, tuple(part is None for part in cut))
        return self.emit(key, moved, [node], axes, [lengths.get(axis, 1) for axis in axes], is_view=True)

    def emit(
        self,
        key: Any,
        function: Callable[..., Any],
        operands: Sequence[Node],
        axes: Iterable[Index] = (BLOCK,),
        shape: Iterable[int] = (0,),
        *,
        is_view: bool = False,
        is_drawn: bool = False,
    ) -> Node:
        """Return the value of ``function(*operands)``, which ``key`` tells from other functions.

        The ``key`` names positions of axes, no indices: calls that differ in their names alone share a step.
        """
        places, axes, shape = tuple(node.place for node in operands), tuple(axes), tuple(shape)
        if (key, places) not in self._places:
            self._places[key, places] = len(self._steps)
            size = 0 if is_view else math.prod(length for length in shape if length)
            self._steps.append(Step(function, places, size, is_drawn))
        return Node(self._places[key, places], axes, shape)


class Column(sp.AtomicExpr):  # type: ignore[misc]  # SymPy has no types
    """``Column(program, name)``: a column that a program makes of the draws, averaged in each block.

    ``program`` is a function of a module, for workers import it by its name.
    """

    is_commutative = True
    is_extended_real = True

    program: Program
    name: str

    def __new__(cls, program: Program, name: str) -> Column:
        """Return the column of this name."""
        column: Column = sp.AtomicExpr.__new__(cls)
        column.program, column.name = program, name
        return column

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.program, self.name

    def _hashable_content(self) -> tuple[Any, ...]:
        program = getattr(self.program, "__qualname__", None) or repr(self.program)
        return getattr(self.program, "__module__", ""), program, self.name

    @property
    def drawn(self) -> sp.Indexed:
        """The number of unknown law that stands for it where a line is checked."""
        return Made("{}.{}.{}".format(*self._hashable_content()), sp.S.One)[1]

    def _sympystr(self, _: Any) -> str:
        return self.name

    def _latex(self, _: Any) -> str:
        return rf"\text{{{self.name}}}"


RANDOM = (sp.Indexed, Dot, Index, Column)
"""Parts that are drawn, or have an axis; an expression without any of these is a number."""

_ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    Indicator: lambda x: (x > 0).astype(np.float32),
    sp.KroneckerDelta: lambda x, y: np.equal(x, y).astype(np.float32),
    sp.Add: np.add,
    sp.Max: np.maximum,
    sp.Min: np.minimum,
    sp.floor: np.floor,
    sp.ceiling: np.ceil,
    sp.exp: np.exp,
    sp.log: np.log,
    sp.Abs: np.abs,
    sp.sign: np.sign,
    sp.tanh: np.tanh,
    sp.sin: np.sin,
    sp.cos: np.cos,
}

_WHOLE = range(2, 17)  # powers that are made by multiplying


def _sum_of_product(x: Array, y: Array) -> Any:
    return np.einsum("bk,bk->b", x.reshape(len(x), -1), y.reshape(len(y), -1))


def _mean_of_product(x: Array, y: Array) -> Any:
    letters = "bcdefghijk"[: x.ndim]
    return np.einsum(f"{letters},{letters}->b", x, y) / math.prod(map(max, x.shape[1:], y.shape[1:]))


def _lengths(nodes: Iterable[Node]) -> dict[Index, int]:
    return {axis: length for node in nodes for axis, length in zip(node.axes, node.shape, strict=True)}


def _halves(base: sp.Expr, power: int) -> list[sp.Expr]:
    """Return two powers of ``base`` whose product is its power, as even as can be."""
    return [base ** ((power + 1) // 2), base ** (power // 2)]


def _factors(expression: sp.Expr) -> list[sp.Expr]:
    """Return the factors of a product, a square as two of them."""
    factors: list[sp.Expr] = []
    for factor in sp.Mul.make_args(expression):
        is_whole = isinstance(factor, sp.Pow) and factor.exp in _WHOLE
        factors += _halves(factor.base, int(factor.exp)) if is_whole else [factor]
    return factors
