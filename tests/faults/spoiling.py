"""Every small way to spoil a SymPy expression: one place is changed, all else stays as it is."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sympy import (
    Add,
    Basic,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    MatMul,
    Mul,
    Number,
    NumberSymbol,
    Pow,
    Rational,
    S,
    Sum,
    Symbol,
    expand,
)
from sympy.logic.boolalg import BooleanAtom
from sympy.matrices.expressions.matexpr import MatrixSymbol

from verify.symbolic import vocabulary
from verify.symbolic.kernel import words
from verify.symbolic.vocabulary import Index

Change = tuple[str, Callable[[], Any]]
"""What is done to a node, and what returns the node that takes its place."""

SLIGHTLY = Rational(101, 100)
"""The factor on numeric constants."""

_LEAVES = (Symbol, IndexedBase, MatrixSymbol, Number, NumberSymbol, Idx)


def spoiled(expression: Any, others: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield what was done and the spoiled expression, for every place and every way.

    ``others`` are expressions of the same derivation: a symbol is exchanged for its neighbours there.
    Left out is what is no expression any more, and what is the same by the rules of algebra. Indices stay:
    of independent components any place is as good as another.
    """
    pools = _pools((expression, *others))
    seen = {expression}
    for path, node in _places(expression):
        for how, another in _changes(node, pools):
            try:
                found = _rebuilt(expression, path, another())
            except Exception:  # noqa: BLE001, S112  # SymPy says in many ways that this is no expression
                continue
            if found in seen or isinstance(found, BooleanAtom) or _same_value(found, expression):
                continue
            seen.add(found)
            yield f"{how}: {node}", found


def _places(node: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    yield path, node
    if isinstance(node, _LEAVES) or not isinstance(node, Basic):
        return
    for position, child in enumerate(node.args):
        yield from _places(child, (*path, position))


def _rebuilt(expression: Any, path: tuple[int, ...], other: Any) -> Any:
    """Return ``expression`` with the node at ``path`` exchanged for ``other``."""
    if not path:
        return other
    arguments = list(expression.args)
    arguments[path[0]] = _rebuilt(arguments[path[0]], path[1:], other)
    return expression.func(*arguments)


def _pools(expressions: Sequence[Any]) -> dict[type, list[Any]]:
    """Return the symbols, and the bases of indexed ones, that occur in ``expressions``, in order."""
    pools: dict[type, list[Any]] = {Symbol: [], IndexedBase: [], MatrixSymbol: []}
    for one in expressions:
        bases = one.atoms(IndexedBase)
        labels = {base.label for base in bases} | {index.label for index in one.atoms(Idx)}
        found = {
            Symbol: one.atoms(Symbol) - one.atoms(Idx, Index) - labels,
            IndexedBase: bases,
            MatrixSymbol: one.atoms(MatrixSymbol),
        }
        for kind, members in found.items():
            pools[kind] += sorted(members - set(pools[kind]), key=str)
    return pools


def _changes(node: Any, pools: dict[type, list[Any]]) -> Iterator[Change]:
    if isinstance(node, Index):
        return
    if isinstance(node, Number | NumberSymbol):
        yield from _of_number(node)
    elif isinstance(node, Symbol | IndexedBase | MatrixSymbol):
        kind = next(kind for kind in pools if isinstance(node, kind))
        yield from (("another symbol", lambda other=other: other) for other in pools[kind] if other != node)
    elif isinstance(node, Add | Mul | MatMul):
        yield from _of_parts(node)
    elif isinstance(node, Pow):
        yield "a power more", lambda: node * node.base
    if isinstance(node, Symbol | Indexed | vocabulary.Dot):
        yield "squared", lambda: node**2
        yield "another sign", lambda: -node


def _of_number(node: Any) -> Iterator[Change]:
    yield "one more", lambda: node + 1
    yield "another sign", lambda: -node
    yield "one per cent more", lambda: node * SLIGHTLY
    if isinstance(node, Integer):
        yield "one less", lambda: node - 1


def _of_parts(node: Any) -> Iterator[Change]:
    """Yield a sum or product with one part dropped, or with another sign or power."""
    name = "term" if isinstance(node, Add) else "factor"
    for position, part in enumerate(node.args):
        rest = node.args[:position] + node.args[position + 1 :]
        yield f"{name} {part} dropped", partial(node.func, *rest)
        if isinstance(node, Add):
            yield f"{name} {part} with another sign", partial(node.func, *rest, -part)
        elif not isinstance(part, Number):
            yield f"{name} {part} once more", partial(node.func, *node.args, part)


def _same_value(one: Any, other: Any) -> bool:
    try:
        return bool(expand(_signs_out(one) - _signs_out(other)) == S.Zero)
    except Exception:  # noqa: BLE001  # sets, shapes and relations have no difference
        return False


def _signs_out(expression: Any) -> Any:
    """Return ``expression`` with the signs of what is averaged or summed in front of it."""
    return expression.replace(
        lambda x: isinstance(x, words.E | vocabulary.E | Sum) and x.args[0].could_extract_minus_sign(),
        lambda x: -x.func(-x.args[0], *x.args[1:]),
    ).replace(
        lambda x: isinstance(x, words.Var | vocabulary.Var) and x.args[0].could_extract_minus_sign(),
        lambda x: x.func(-x.args[0]),
    )
