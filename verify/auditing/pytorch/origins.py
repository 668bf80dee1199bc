"""What tensors were made of: followed through the memory that views of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from verify.auditing.pytorch.calls import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

_TENSOR = torch.Tensor
_TIMES = (
    *(torch.mul, torch.multiply, _TENSOR.mul, _TENSOR.multiply, _TENSOR.__mul__, _TENSOR.__rmul__),
    *(_TENSOR.mul_, _TENSOR.__imul__),
)
_OVER = (
    *(torch.div, torch.divide, torch.true_divide, _TENSOR.div, _TENSOR.divide, _TENSOR.true_divide),
    *(_TENSOR.__truediv__, _TENSOR.div_, _TENSOR.__itruediv__),
)
_PRODUCTS = frozenset(
    ["matmul", "__matmul__", "__rmatmul__", "linalg_matmul", "bmm", "baddbmm", "mm", "einsum"]
)
_MOST = 4096


class ByMemory(Generic[T]):
    """Values for tensors, found again by any view of the same memory until something else is written there.

    No tensor is kept alive.
    """

    def __init__(self) -> None:
        self._known: dict[StorageWeakRef, tuple[int | None, T]] = {}

    def note(self, tensor: Any, value: T) -> None:
        """Keep a value for a tensor that fills its memory."""
        if not is_plain(tensor) or tensor.nbytes != tensor.untyped_storage().nbytes():
            return
        if len(self._known) >= _MOST:
            self._known = {place: one for place, one in self._known.items() if not place.expired()}
        self._known[StorageWeakRef(tensor.untyped_storage())] = _version(tensor), value

    def of(self, tensor: Any) -> T | None:
        """Return the value of a tensor, None where there is none."""
        if not self._known or not is_plain(tensor):
            return None
        version, value = self._known.get(StorageWeakRef(tensor.untyped_storage()), (None, None))
        return value if version == _version(tensor) else None


class Factors:
    """The numbers that tensors were multiplied by, such as queries before an attention call."""

    functions = frozenset((*_TIMES, *_OVER))
    """Those that multiply by a number, or divide."""

    def __init__(self) -> None:
        self._known: ByMemory[float] = ByMemory()

    def note(self, func: Any, args: tuple[Any, ...], before: float, result: Any) -> None:
        """Remember what one of `functions` did, whose first argument had been multiplied by ``before``."""
        if len(args) == 2 and isinstance(args[1], int | float) and args[1]:
            self._known.note(result, before * (args[1] if func in _TIMES else 1 / args[1]))

    def of(self, tensor: Any) -> float:
        """Return what a tensor was multiplied by since it was computed, 1 where that is not known."""
        found = self._known.of(tensor)
        return 1.0 if found is None else found

    def of_scores(self, query: Any, key: Any, value: Any) -> tuple[float, float]:
        """Return the factors of queries and keys; what shares its memory with another one has none.

        A factor that queries, keys and values have in common is one of their input, and no scale.
        """
        if not all(is_plain(one) for one in (query, key, value)):
            return 1.0, 1.0
        places = [StorageWeakRef(one.untyped_storage()) for one in (query, key, value)]
        alone = [places.count(place) == 1 for place in places[:2]]
        one, other = (
            self.of(part) if is_alone else 1.0 for part, is_alone in zip((query, key), alone, strict=True)
        )
        return one, other


class Scores:
    """Products of two tensors that the program computed, which may be scores of attention."""

    def __init__(self) -> None:
        self._known: ByMemory[bool] = ByMemory()

    def meet(self, func: Any, args: tuple[Any, ...], result: Any) -> bool:
        """Return whether scores meet values in a product; follow scores through what keeps their shape."""
        if func_name(func) not in _PRODUCTS:
            if isinstance(result, _TENSOR) and any(one.shape == result.shape for one in self._among(args)):
                self._known.note(result, value=True)
            return False
        operands = list(_tensors(args))[-2:]
        if any(_is_parameter(one) for one in operands):
            return False
        if next(self._among(operands), None) is not None:
            return True
        self._known.note(result, value=True)
        return False

    def _among(self, args: Any) -> Iterator[Any]:
        return (one for one in _tensors(args) if self._known.of(one))


def func_name(func: Any) -> str:
    """Return the name of a function of PyTorch, without the overload of an operator."""
    return str(getattr(func, "__name__", "")).partition(".")[0]


def _tensors(args: Any) -> Iterator[Any]:
    for one in args:
        if isinstance(one, _TENSOR):
            yield one
        elif isinstance(one, tuple | list):
            yield from (inner for inner in one if isinstance(inner, _TENSOR))


def _is_parameter(tensor: Any) -> bool:
    return isinstance(tensor, torch.nn.Parameter) or isinstance(tensor._base, torch.nn.Parameter)


def _version(tensor: Any) -> int | None:
    """Return how often something was written into a tensor, None where nothing counts that."""
    return None if tensor.is_inference() else int(tensor._version)
