"""Compiles expressions without means to a list of array operations, and runs it on a batch of draws.

Arrays have labelled axes: the blocks, then indices. An index that no sum binds keeps its axis until the mean
is taken over all its places; two such indices over one range are different places. Sums of products are
matrix products where an array of all their indices can be avoided. An operation is known by what it does and
by the places of its operands, so whatever several expressions have in common is computed once, also where
they differ in names of indices.

Arrays are NumPy's, or those of another library ``xp`` that follows the array API and has ``einsum``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np
import scipy
import sympy as sp
from sympy.utilities.iterables import multiset_partitions

from verify.errors import ClaimError
from verify.montecarlo.attention import largest, softmax
from verify.montecarlo.rows import rows_of
from verify.symbolic.vocabulary import (
    BINDERS,
    Dot,
    Entropy,
    Family,
    Index,
    Indicator,
    Largest,
    LogSumExp,
    Softmax,
    free_indices,
)

Arrays = Any
BLOCK, COMPONENT = Index("block"), Index("component")
"""Labels of the axis of blocks, and of that over which a dot product is taken."""

Draws = Mapping[str, Any]
"""What is drawn of each family by its name, shape (blocks, …ranges)."""

Program = Callable[[Draws, np.random.Generator], Mapping[str, Any]]
"""Makes columns, shape (blocks, …), of the draws: what is no expression, such as a training run."""


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

    def _sympystr(self, _: Any) -> str:
        return self.name

    def sort_key(self, order: Any = None) -> Any:  # noqa: ARG002  # as SymPy calls it
        return self.class_key(), (1, self._hashable_content()), (), 1


RANDOM = (sp.Indexed, Dot, Index, Column)
"""What an expression is drawn of, or has an axis for; without any of these it is a number."""


class Node(NamedTuple):
    """The value of an expression: where it is kept, and its axes with their lengths, 0 for that of blocks."""

    place: int
    axes: tuple[Index, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it has for one block."""
        return math.prod(length for length in self.shape if length)


class _Step(NamedTuple):
    function: Callable[..., Any]
    operands: tuple[int, ...]
    size: int


_ELEMENTWISE: dict[Any, str] = {
    sp.exp: "exp",
    sp.log: "log",
    sp.Abs: "abs",
    sp.sign: "sign",
    sp.tanh: "tanh",
    sp.sin: "sin",
    sp.cos: "cos",
    sp.floor: "floor",
    sp.ceiling: "ceil",
}


def cast(array: Any, dtype: Any) -> Any:
    """Return an array of NumPy's or PyTorch's in another precision, itself where it has it."""
    return array.astype(dtype, copy=False) if isinstance(array, np.ndarray) else array.to(dtype)


def softmax_of(xp: Any, rows: Any) -> Any:
    """Return the softmax over the last axis; of another library the sums are in double precision."""
    if xp is np:
        return softmax(rows)
    sizes = cast(xp.exp(rows - xp.amax(rows, -1)[..., None]), xp.float64)
    return sizes / sizes.sum(-1)[..., None]


class Compiler:
    """Compiles expressions for blocks whose ranges have these ``sizes`` and symbols these ``values``.

    ``columns`` are the families that had better lie in memory with a component of all vectors in a row, which
    makes products over few components fast; ``by_key`` those whose last index, a row's keys, is best furthest
    apart in memory: what is taken over keys is then taken over long rows of numbers, one for each key.
    """

    def __init__(
        self,
        sizes: Mapping[sp.Expr, int],
        values: Mapping[sp.Symbol, float],
        families: Iterable[Family],
        xp: Any = np,
    ) -> None:
        self._sizes, self._values, self.xp = sizes, values, xp
        self.families = {str(family.label): family for family in families}
        self.columns: set[str] = set()
        self.by_key: set[str] = set()
        self._steps: list[_Step] = []
        self._known: dict[Any, Node] = {}
        self._nodes: dict[sp.Expr, Node] = {}
        self._ranges: dict[Index, sp.Expr] = {}
        self._drawn: dict[int, str] = {}
        self._rows: set[tuple[Family, Family]] = set()
        self._outputs: list[int] = []

    def emit(
        self,
        key: tuple[Any, ...],
        function: Callable[..., Any],
        operands: Sequence[Node],
        axes: Iterable[Index],
        shape: Iterable[int],
        *,
        is_view: bool = False,
    ) -> Node:
        """Return the value of ``function(*operands)``, which ``key`` tells from other functions.

        The ``key`` names positions of axes, no indices: what differs in their names alone is one operation.
        """
        key = (key, tuple(node.place for node in operands))
        if key not in self._known:
            size = 0 if is_view else math.prod(length for length in shape if length)
            self._steps.append(_Step(function, key[1], size))
            self._known[key] = Node(len(self._steps) - 1, (), ())
        return Node(self._known[key].place, tuple(axes), tuple(shape))

    def view(self, node: Node, axes: Sequence[Index]) -> Node:
        """Return a node with its axes in the order of ``axes``; those that it lacks have the length 1."""
        if not node.axes or node.axes == tuple(axes):
            return node
        order = tuple(node.axes.index(axis) for axis in axes if axis in node.axes)
        cut = tuple(slice(None) if axis in node.axes else None for axis in axes)
        moves, grows = order != tuple(sorted(order)), len(order) < len(axes)

        def moved(array: Any) -> Any:
            array = self.xp.permute_dims(array, order) if moves else array
            return array[cut] if grows else array

        shape = [node.shape[node.axes.index(axis)] if axis in node.axes else 1 for axis in axes]
        at = tuple(part is None for part in cut)
        return self.emit(("view", order, at), moved, [node], axes, shape, is_view=True)

    def elementwise(self, key: Any, function: Callable[..., Any], nodes: Sequence[Node]) -> Node:
        """Return a function of numbers at every place of all axes of ``nodes``."""
        lengths = {axis: length for node in nodes for axis, length in zip(node.axes, node.shape, strict=True)}
        # Blocks come first, then the axes of whichever operand has most of them.
        longest = max(nodes, key=lambda node: len(node.axes)).axes
        axes = sorted(dict.fromkeys([*longest, *lengths]), key=lambda axis: axis != BLOCK)
        views = [self.view(node, axes) for node in nodes]
        return self.emit((key,), function, views, axes, [lengths[axis] for axis in axes])

    def number(self, value: float) -> Node:
        """Return a number."""
        return self.emit(("number", value), lambda: value, [], (), ())

    def product(self, nodes: Sequence[Node]) -> Node:
        """Return the product, the smallest factors first."""
        one = self.number(1.0).place
        pending = sorted(nodes, key=lambda node: (node.place != one, node.size, node.place))
        while len(pending) > 1 and pending[0].place == one:
            del pending[0]
        while len(pending) > 1:
            first, second, *rest = pending
            both = self.elementwise(sp.Mul, operator.mul, [first, second])
            pending = sorted([both, *rest], key=lambda node: (node.size, node.place))
        return pending[0]

    def node(self, expression: sp.Expr) -> Node:
        """Return the value of an expression at every place of its free indices.

        Raises:
            ClaimError: it holds what cannot be compiled.
        """
        if expression not in self._nodes:
            self._nodes[expression] = self._made(expression)
        return self._nodes[expression]

    def _made(self, expression: sp.Expr) -> Node:
        if not expression.has(*RANDOM):
            return self.number(self.value(expression))
        for kind, made in _KINDS:
            if isinstance(expression, kind):
                return made(self, expression)
        function = expression.func
        if function in _ELEMENTWISE:
            apply = getattr(self.xp, _ELEMENTWISE[function])
        elif function is sp.erf:
            apply = scipy.special.erf if self.xp is np else self.xp.special.erf
        elif hasattr(function, "numpy"):
            apply = function.numpy
        else:
            raise ClaimError(
                f"{expression}: {function} cannot be measured; write it with sums, powers, exp, log, Abs, "
                "Max, Min, Indicator and the functions of softmax, or as a program's column"
            )
        return self.elementwise(function, apply, [self.node(part) for part in expression.args])

    def _places(self, index: Index) -> Node:
        size, xp = self._size(self._ranges.get(index), index), self.xp
        return self.emit(
            ("places", size), lambda: xp.arange(1, size + 1, dtype=xp.float32), [], (index,), (size,)
        )

    def _indexed(self, entry: sp.Indexed) -> Node:
        return self._entry(entry.base, entry.indices)

    def _folded(self, expression: sp.Expr) -> Node:
        """Return a sum, or the larger or smaller of several."""
        combine = _FOLDED[expression.func]
        if isinstance(combine, str):
            combine = partial(_extreme, self.xp, combine)
        nodes = [self.node(part) for part in expression.args]
        return reduce(lambda x, y: self.elementwise(expression.func, combine, [x, y]), nodes)

    def _indicator(self, event: Indicator) -> Node:
        (x,) = event.args
        return self.elementwise(Indicator, lambda x: cast(x > 0, self.xp.float32), [self.node(x)])

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

    def _size(self, extent: sp.Expr | None, index: Any) -> int:
        if extent is None:
            raise ClaimError(f"no family has the index {index}; write one as in k[{index}, i]")
        return self._sizes[extent] if extent in self._sizes else round(self.value(extent))

    def _entry(self, family: Family, indices: Sequence[Any]) -> Node:
        """Return what is drawn of a family, at numbered places where an index is a number."""
        if str(family.label) not in self.families:
            raise ClaimError(f"no law is given for {family.label}, which the quantity is made of")
        shape = [self._size(extent, family.label) for extent in family.ranges]
        node = self.emit(
            ("family", str(family.label)), dict, [], (BLOCK, *indices), (0, *shape), is_view=True
        )
        self._drawn[node.place] = str(family.label)
        for axis in reversed(range(1, len(node.axes))):
            index = node.axes[axis]
            if getattr(index, "is_Integer", False):
                node = self.taken(node, axis, int(index) - 1)
            elif not isinstance(index, Index):
                raise ClaimError(
                    f"{family}{list(indices)}: an index is a, b, i, j, l, e or a number, not {index}"
                )
        return node

    def vectors(self, family: Family, place: Any) -> Node:
        """Return all vectors of a family, or the one at a numbered place."""
        return self._entry(family, (place, COMPONENT))

    def taken(self, node: Node, axis: int, position: int) -> Node:
        """Return a node at one position of an axis.

        Raises:
            ClaimError: the axis is shorter.
        """
        if not 0 <= position < node.shape[axis]:
            raise ClaimError(f"place {position + 1} of {node.shape[axis]}: there is none; draw more of them")
        at = (*(slice(None),) * axis, position)
        axes, shape = ((*part[:axis], *part[axis + 1 :]) for part in (node.axes, node.shape))
        return self.emit(("take", axis, position), lambda x: x[at], [node], axes, shape, is_view=True)

    def _dot(self, expression: Dot) -> Node:
        left, first, right, second = expression.args
        x, y = self.vectors(left, first), self.vectors(right, second)
        return self._contracted(x, y, COMPONENT, is_row=(left, right) in self._rows)

    def _contracted(self, x: Node, y: Node, index: Index, *, is_row: bool = False) -> Node:
        """Return the sum over an index of a product, by one product of matrices for each block."""
        shared = [axis for axis in x.axes if axis in y.axes and axis != index]
        left, right = ([axis for axis in node.axes if axis not in (*shared, index)] for node in (x, y))
        axes = (*shared, *left, *right)
        lengths = dict(zip(x.axes + y.axes, x.shape + y.shape, strict=True))
        p, q = self.view(x, (*shared, *left, index)), self.view(y, (*shared, *right, index))
        at = len(shared)
        is_row = is_row and self.xp is np and shared == [BLOCK] and len(left) == len(right) == 1

        def matrices(p: Any, q: Any) -> Any:
            flat_p, flat_q = (array.reshape(*array.shape[:at], -1, array.shape[-1]) for array in (p, q))
            product = rows_of(flat_p, flat_q) if is_row else flat_p @ flat_q.swapaxes(-1, -2)
            return product.reshape(*product.shape[:at], *p.shape[at:-1], *q.shape[at:-1])

        if left or right:
            key: tuple[Any, ...] = ("matrices", at, len(left), is_row)
            return self.emit(key, matrices, [p, q], axes, [lengths[axis] for axis in axes])
        inner = partial(self.xp.einsum, "...k,...k->...")
        return self.emit(("inner",), inner, [p, q], axes, [lengths[axis] for axis in axes])

    def _column(self, column: Column) -> Node:
        program = column.program
        made = self.emit(("program", column._hashable_content()[:2]), program, [], (BLOCK,), (0,))
        self._drawn[made.place] = ""

        def named(columns: Mapping[str, Any]) -> Any:
            if column.name not in columns:
                raise ClaimError(f"the program makes no column {column.name!r}, but {', '.join(columns)}")
            values = np.asarray(columns[column.name])
            return values.reshape(len(values), -1).mean(axis=1, dtype=np.float64)

        return self.emit(("column", column.name), named, [made], (BLOCK,), (0,))

    def _power(self, expression: sp.Pow) -> Node:
        base, power = expression.args
        if base.is_number and not power.is_number:
            by = math.log(self.value(base))
            return self.elementwise(("base", by), lambda y: self.xp.exp(y * by), [self.node(power)])
        x, exponent = self.node(base), self.value(power)
        if exponent in {0.5, -0.5}:
            root = self.elementwise("sqrt", self.xp.sqrt, [x])
            return root if exponent > 0 else self._reciprocal(root)
        if exponent != int(exponent) or abs(exponent) > 16:
            return self.elementwise(("power", exponent), lambda x: x**exponent, [x])
        whole = self.product([self.node(part) for part in _halves(base, int(abs(exponent)))])
        return whole if exponent > 0 else self._reciprocal(whole)

    def _reciprocal(self, node: Node) -> Node:
        return self.elementwise("reciprocal", lambda x: 1 / x, [node])

    def _row(self, expression: sp.Expr) -> Node:
        """Return a function of the scores of a row; its exponentials are relative to the largest."""
        (x, key), xp = expression.args, self.xp
        scores = self.node(x)
        if key not in scores.axes:
            raise ClaimError(f"{expression}: its scores do not depend on {key}")
        axes = (*(axis for axis in scores.axes if axis != key), key)
        rows = self.view(scores, axes)
        rest, shape = axes[:-1], rows.shape[:-1]

        def top_of(node: Node) -> Node:
            return self.emit(("largest",), self._top, [node], rest, shape)

        if isinstance(expression, Largest):
            return top_of(rows)
        weights = self.emit(("softmax",), partial(softmax_of, xp), [rows], axes, rows.shape)
        if isinstance(expression, Softmax):
            return weights
        # With s less its largest, ln p = s - ln Σ exp(s), and that sum is one over the largest p. Of large
        # scores those that weigh are near 0 then, and little is lost to rounding.
        most, top = top_of(weights), top_of(rows)
        if isinstance(expression, LogSumExp):
            return self.emit(("logsumexp",), lambda s, p: s - xp.log(p), [top, most], rest, shape)
        assert isinstance(expression, Entropy)  # noqa: S101  # the last of the binders
        return self.emit(("entropy",), partial(_entropy, xp), [rows, weights, top, most], rest, shape)

    def _top(self, rows: Any) -> Any:
        return largest(rows) if self.xp is np else self.xp.amax(rows, -1)

    def _sum(self, expression: sp.Sum) -> Node:
        limits = {index: (low, high) for index, low, high in expression.limits}
        if isinstance(expression.function, sp.Add):
            parts = [self.node(sp.Sum(part, *expression.limits)) for part in expression.function.args]
            return reduce(lambda x, y: self.elementwise(sp.Add, operator.add, [x, y]), parts)
        for index, (low, high) in limits.items():
            self._ranges.setdefault(index, high)
            if any(other in (low.free_symbols | high.free_symbols) for other in limits):
                raise ClaimError(
                    f"{expression}: the limits of {index} depend on another index; use Indicator"
                )
        nodes = []
        for node in map(self.node, _factors(expression.function)):
            for index, (low, high) in limits.items():
                node = self._between(node, index, low, high)  # noqa: PLW2901
            nodes.append(node)
        counts = {index: self.value(high - low + 1) for index, (low, high) in limits.items()}
        return self._summed(nodes, counts)

    def _between(self, node: Node, index: Index, low: sp.Expr, high: sp.Expr) -> Node:
        """Return the part of a node where an index lies between the limits of a sum."""
        if index not in node.axes:
            return node
        axis = node.axes.index(index)
        length = node.shape[axis]
        first, last = round(self.value(low)), self._size(high, index)
        if (first, last) == (1, length):
            return node
        if not 1 <= first <= last <= length:
            raise ClaimError(f"a sum over {index} from {low} to {high}: there are {length} of them")
        at = (*(slice(None),) * axis, slice(first - 1, last))
        shape = (*node.shape[:axis], last - first + 1, *node.shape[axis + 1 :])
        return self.emit(("cut", axis, first, last), lambda x: x[at], [node], node.axes, shape, is_view=True)

    def _summed(self, nodes: Sequence[Node], counts: Mapping[Index, float]) -> Node:
        """Return the sum of a product over several indices, each with the number of its places."""
        pending, left = list(nodes), dict(counts)
        while left:
            # First the index that the fewest factors have: what is left has an axis less, soonest.
            index = min(left, key=lambda one: sum(one in node.axes for node in pending))
            count = left.pop(index)
            inside = [node for node in pending if index in node.axes]
            pending = [node for node in pending if index not in node.axes]
            pending.append(self._over(inside, index) if inside else self.number(count))
        return self.product(pending)

    def _over(self, nodes: Sequence[Node], index: Index) -> Node:
        """Return the sum over an index of a product of nodes that all have it."""
        pending = sorted(nodes, key=lambda node: (len(node.axes), node.place))
        while len(pending) > 2:
            small = pending.pop(0)
            host = next((node for node in pending if set(small.axes) <= set(node.axes)), pending[0])
            pending.remove(host)
            pending = sorted(
                [*pending, self.product([small, host])], key=lambda node: (len(node.axes), node.place)
            )
        if len(pending) == 2:
            return self._contracted(pending[0], pending[1], index)
        (node,) = pending
        axis = node.axes.index(index)
        axes, shape = ((*part[:axis], *part[axis + 1 :]) for part in (node.axes, node.shape))
        return self.emit(("sum", axis), lambda x: x.sum(axis), [node], axes, shape)

    def terms(self, expression: sp.Expr) -> list[tuple[float, sp.Expr]]:
        """Return an expression as a sum of numbers times what is random."""
        self.learn(expression)
        groups = self._groups(expression)
        if any(len(indices) > 1 for indices in groups.values()):
            expression = expression.expand(power_base=False, power_exp=False, log=False, func=False)
        terms = []
        for part in sp.Add.make_args(expression):
            factor, rest = part.as_independent(*RANDOM, as_Add=False)
            terms.append((self.value(factor), rest))
        return terms

    def learn(self, expression: sp.Expr) -> None:
        """Note the ranges of all indices, and which scores a softmax is taken of."""
        for part in expression.atoms(sp.Indexed):
            self._ranges |= dict(zip(part.indices, part.base.ranges, strict=True))
        for part in expression.atoms(Dot):
            left, first, right, second = part.args
            self._ranges |= {first: left.ranges[0], second: right.ranges[0]}
        for part in expression.atoms(*BINDERS):
            key = part.args[1]
            self._rows |= {(dot.args[0], dot.args[2]) for dot in part.atoms(Dot) if dot.args[3] == key}
            self.by_key |= {str(x.base.label) for x in part.atoms(sp.Indexed) if x.indices[-1] == key}

    def _groups(self, expression: sp.Expr) -> dict[sp.Expr, list[Index]]:
        groups: dict[sp.Expr, list[Index]] = {}
        for index in sorted(free_indices(expression), key=str):
            groups.setdefault(self._ranges.get(index, index), []).append(index)
        return groups

    def mean(self, expression: sp.Expr) -> Node:
        """Return the mean over the places of all free indices in double precision, shape (blocks,).

        Those of one range are at different places: by inclusion and exclusion over which of them coincide.
        """
        for extent, indices in self._groups(expression).items():
            if len(indices) > 1:
                size, many = self._size(extent, indices[0]), len(indices)
                if size < many:
                    raise ClaimError(
                        f"{expression}: needs {many} different places of {size}; give more of them"
                    )
                parts = []
                for partition in multiset_partitions(indices):
                    merged = {index: group[0] for group in partition for index in group}
                    sign_of = math.prod(
                        (-1) ** (len(group) - 1) * math.factorial(len(group) - 1) for group in partition
                    )
                    parts.append((sign_of * size ** len(partition) / math.perm(size, many), merged))
                means = [(weight, self._apart(expression, merged, indices)) for weight, merged in parts]
                return self.combined(means)
        return self._plain_mean(expression)

    def _apart(self, expression: sp.Expr, merged: Mapping[Index, Index], indices: Sequence[Index]) -> Node:
        """Return the mean where indices of one range are merged, and the others may coincide."""
        same = expression.xreplace({index: merged[index] for index in indices})
        renamed, own = {}, {}
        for number, index in enumerate(sorted(set(merged.values()), key=str)):
            # As ranges of their own they may be at the same place.
            renamed[index] = Index(f"{index.name}'{number}")
            own[renamed[index]] = sp.Symbol(f"{self._ranges[index]}'{number}")
            self._sizes = {**self._sizes, own[renamed[index]]: self._size(self._ranges[index], index)}
        self._ranges |= own
        return self.mean(same.xreplace(renamed))

    def _plain_mean(self, expression: sp.Expr) -> Node:
        nodes = [self.node(factor) for factor in _factors(expression)]
        axes = {axis: length for node in nodes for axis, length in zip(node.axes, node.shape, strict=True)}
        most = max(nodes, key=lambda node: len(node.axes))
        if axes.keys() - set(most.axes):
            # An array of all indices would be larger than any factor.
            counts = {axis: float(length) for axis, length in axes.items() if axis != BLOCK}
            many, total = math.prod(counts.values()), self._double(self._summed(nodes, counts))
            return self.elementwise(("over", many), lambda x: x / many, [total])
        if len(nodes) > 1 and BLOCK in axes:
            exact = [self._double(node) for node in nodes]
            order = sorted(axes, key=lambda axis: axis != BLOCK)
            pair = [self.view(node, order) for node in (self.product(exact[:-1]), exact[-1])]
            return self.emit(("mean of product",), self._mean_of_product, pair, (BLOCK,), (0,))
        node = self.product(nodes)
        over = tuple(place for place, axis in enumerate(node.axes) if axis != BLOCK)
        if not over:
            return node
        mean = partial(self.xp.mean, axis=over, dtype=self.xp.float64)
        left = [(axis, 0) for axis in node.axes if axis == BLOCK]
        return self.emit(("mean", over), mean, [node], *(zip(*left, strict=True) if left else ((), ())))

    def _double(self, node: Node) -> Node:
        double = self.xp.float64
        return self.emit(("double",), lambda array: cast(array, double), [node], node.axes, node.shape)

    def _mean_of_product(self, x: Any, y: Any) -> Any:
        letters = "bcdefghijk"[: x.ndim]
        many = math.prod(map(max, x.shape[1:], y.shape[1:]))
        return self.xp.einsum(f"{letters},{letters}->b", x, y) / many

    def combined(self, terms: Sequence[tuple[float, Node]]) -> Node:
        """Return a sum of numbers times means."""
        if len(terms) == 1 and terms[0][0] == 1 and terms[0][1].axes:
            return terms[0][1]
        weights = tuple(weight for weight, _ in terms)

        def sum_of(*means: Any) -> Any:
            return sum(weight * mean for weight, mean in zip(weights, means, strict=True))

        nodes = [node for _, node in terms]
        if not any(node.axes for node in nodes):
            raise ClaimError("nothing of it is random: write what is drawn, such as q[a, i] or score")
        return self.emit(("combined", weights), sum_of, nodes, (BLOCK,), (0,))

    def compiled(self, outputs: Sequence[Node]) -> Compiled:
        """Return what computes the ``outputs``, and nothing else."""
        last: dict[int, int] = {}
        needed = {node.place for node in outputs}
        for place in reversed(range(len(self._steps))):
            if place in needed:
                needed.update(self._steps[place].operands)
        for place in sorted(needed):
            for operand in self._steps[place].operands:
                last[operand] = place
        frees: dict[int, tuple[int, ...]] = {}
        for operand, place in last.items():
            if operand not in {node.place for node in outputs}:
                frees[place] = (*frees.get(place, ()), operand)
        steps = tuple((place, self._steps[place], frees.get(place, ())) for place in sorted(needed))
        drawn = {place: name for place, name in self._drawn.items() if place in needed}
        layouts = frozenset(self.columns), frozenset(self.by_key)
        return Compiled(steps, drawn, tuple(node.place for node in outputs), *layouts, self.xp)


_FOLDED: dict[Any, Any] = {sp.Add: operator.add, sp.Max: "maximum", sp.Min: "minimum"}

_KINDS: tuple[tuple[Any, Callable[[Compiler, Any], Node]], ...] = (
    (Index, Compiler._places),
    (sp.Indexed, Compiler._indexed),
    (Dot, Compiler._dot),
    (Column, Compiler._column),
    (sp.Sum, Compiler._sum),
    (BINDERS, Compiler._row),
    (sp.Pow, Compiler._power),
    (sp.Mul, lambda compiler, product: compiler.product([compiler.node(part) for part in product.args])),
    (Indicator, Compiler._indicator),
    ((sp.Add, sp.Max, sp.Min), Compiler._folded),
)


@dataclass(frozen=True)
class Compiled:
    """Operations in their order, each with the places that are not needed after it."""

    steps: tuple[tuple[int, _Step, tuple[int, ...]], ...]
    drawn: Mapping[int, str]
    outputs: tuple[int, ...]
    columns: frozenset[str]
    by_key: frozenset[str]
    xp: Any

    @cached_property
    def peak(self) -> int:
        """Numbers that are in memory at once for one block, besides what is drawn."""
        sizes = {place: step.size for place, step, _ in self.steps}
        live = most = 0
        for _, step, frees in self.steps:
            live += step.size
            most = max(most, live)
            live -= sum(sizes[place] for place in frees)
        return max(1, most)

    def run(self, draws: Draws, rng: np.random.Generator) -> Any:
        """Return the outputs of a batch, shape (blocks, outputs)."""
        values: dict[int, Any] = {}
        for place, step, frees in self.steps:
            name = self.drawn.get(place)
            if name is None:
                values[place] = step.function(*(values[operand] for operand in step.operands))
            else:
                values[place] = draws[name] if name else step.function(draws, rng)
            for free in frees:
                del values[free]
        return self.xp.stack([values[place] for place in self.outputs], axis=1)


def _extreme(xp: Any, name: str, x: Any, y: Any) -> Any:
    """Return the larger or smaller of arrays and numbers; PyTorch compares no number with an array."""
    numbers = [part for part in (x, y) if isinstance(part, float)]
    if xp is np or not numbers:
        return getattr(xp, name)(x, y)
    return xp.clip(y if x is numbers[0] else x, **{"min" if name == "maximum" else "max": numbers[0]})


def _entropy(xp: Any, rows: Any, weights: Any, top: Any, most: Any) -> Any:
    moved = cast(rows - top[..., None], weights.dtype)
    return -xp.log(most) - xp.einsum("...j,...j->...", weights, moved)


def _halves(base: sp.Expr, power: int) -> list[sp.Expr]:
    """Return two powers of ``base`` whose product is its power, as even as can be."""
    return [base] if power == 1 else [base ** ((power + 1) // 2), base ** (power // 2)]


def _factors(expression: sp.Expr) -> list[sp.Expr]:
    """Return the factors of a product, a square as two of them."""
    factors: list[sp.Expr] = []
    for factor in sp.Mul.make_args(expression):
        is_whole = isinstance(factor, sp.Pow) and factor.exp.is_Integer and 2 <= factor.exp <= 16
        factors += _halves(factor.base, int(factor.exp)) if is_whole else [factor]
    return factors
