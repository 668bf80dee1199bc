"""Sees the attention calls of PyTorch as they are made, from Python and from its own modules.

What tensors were made of is followed through the memory that views of them share.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import (
    DROPPED,
    Arguments,
    Given,
    LayerInfo,
    attention_call,
    encoder_layer_call,
    is_plain,
    native_call,
    refuse_other,
    replaced,
    said,
    unscaled,
)
from verify.auditing.pytorch.modules import version_of
from verify.auditing.recording import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.auditing.pytorch.calls import Masks
    from verify.auditing.pytorch.modules import Modules

    Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

T = TypeVar("T")

_SOFTMAX = (functional.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax)
_IN_NAMES = ("attention", "attn", "flash")
_BATCHED = (torch.bmm, torch.baddbmm)
_SCALINGS = (torch.Tensor.mul, torch.Tensor.__mul__)

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


class CallSink(Protocol):
    """What calls go to: a recorder."""

    def keep(self, name: str, make: Callable[[], tuple[Call, LayerInfo]]) -> None:
        """Keep the call that ``make`` returns, in the layer of this name."""

    def note_written_out(self, name: str) -> None:
        """Note that the module of this name has a softmax or scores of its own."""

    def leave_out(self, what: str) -> None:
        """Note in words what is not recorded."""


class AttentionMode(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """While it is entered, every attention call of this thread goes to the recorder.

    It calls what the program calls, with the same arguments, so that all results are the same bits.
    """

    def __init__(self, recorder: CallSink, modules: Modules, masks: Masks) -> None:
        super().__init__()
        self._recorder, self._modules, self._masks = recorder, modules, masks
        self._inner: list[Given] | None = None
        self._factors, self._scores = Factors(), Scores()
        self._handlers: dict[Any, Handler | None] = {
            functional.scaled_dot_product_attention: self._attention,
            functional.multi_head_attention_forward: self._multihead,
            torch._native_multi_head_attention: self._fused,
            torch._transformer_encoder_layer_fwd: self._fused,
            **dict.fromkeys(_SOFTMAX, self._softmax),
            **dict.fromkeys(Factors.functions, self._times),
        }

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func``, and record it where it is attention."""
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if func not in self._handlers:
            self._handlers[func] = self._handler(func)
        handler = self._handlers[func]
        result = func(*args, **kwargs) if handler is None else handler(func, args, kwargs)
        if self._inner is None and self._scores.meet(func, args, result):
            self._recorder.note_written_out(self._modules.running())
        return result

    @contextmanager
    def within_interface(self) -> Iterator[list[Given]]:
        """Record nothing inside, where the caller does; yield what PyTorch's attention was given there."""
        before, self._inner = self._inner, []
        try:
            yield self._inner
        finally:
            self._inner = before

    def keep(self, make: Callable[[], tuple[Call, LayerInfo]], inner: str = "") -> None:
        """Keep the call that ``make`` returns, under the name of the module that is running."""
        name = self._modules.layer(inner)

        def with_input() -> tuple[Call, LayerInfo]:
            call, about = make()
            return replace(call, input=self._modules.input()), about

        self._recorder.keep(name, with_input)

    def _handler(self, func: Any) -> Handler | None:
        return self._unknown if any(word in func_name(func).lower() for word in _IN_NAMES) else None

    def _attention(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
        if self._inner is None:
            self.keep(lambda: self._seen(Arguments(*args, **kwargs), output))
        else:
            self._inner.append((args, kwargs))
        return output

    def _seen(self, given: Arguments, output: Any) -> tuple[Call, LayerInfo]:
        factors = self._factors.of_scores(given.query, given.key, given.value)
        notes = (*((DROPPED,) if given.dropout_p > 0 else ()), *said(factors))
        about = LayerInfo(backend="scaled_dot_product_attention", notes=notes)
        return unscaled(attention_call(given, output, self._masks), factors), about

    def _multihead(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inside = Inside(self._masks, width=int(args[3]))
        # It hides its own calls from modes unless it finds no function of a tensor's own.
        with replaced(functional, "has_torch_function", has_own_function), inside:
            result = func(*args, **kwargs)
        if self._inner is None:
            self.keep(inside.call)
        return result

    def _fused(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
        if func is torch._native_multi_head_attention:
            self.keep(lambda: native_call(*args, **kwargs))
        else:
            self.keep(lambda: encoder_layer_call(*args, **kwargs), inner=".self_attn")
        return output

    def _softmax(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Attention that is written out has a softmax over scores [..., head, query, key].
        if self._inner is None and args and getattr(args[0], "ndim", 0) >= 3:
            self._recorder.note_written_out(self._modules.running())
        return func(*args, **kwargs)

    def _times(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before = self._factors.of(args[0]) if args else 1.0
        result = func(*args, **kwargs)
        self._factors.note(func, args, before, result)
        return result

    def _unknown(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._inner is None:
            self._recorder.leave_out(f"{func.__name__} was called, which is not recorded")
        return func(*args, **kwargs)


def has_own_function(tensors: Sequence[Any]) -> bool:
    """Return whether a tensor overrides PyTorch's functions; modes that are entered do not count."""
    return any(
        type(one) is not torch.Tensor
        and getattr(type(one), "__torch_function__", torch._C._disabled_torch_function_impl)
        is not torch._C._disabled_torch_function_impl
        for one in tensors
    )


class Inside(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """Sees one run of ``multi_head_attention_forward``, with its weights wanted or not."""

    def __init__(self, masks: Masks, width: int) -> None:
        super().__init__()
        self._masks, self._width = masks, width
        self._given: tuple[Given, Any] | None = None
        self._scaled: dict[int, tuple[Any, Any, float]] = {}
        self._products: list[tuple[tuple[Any, ...], Any]] = []
        self._scores_shape: tuple[int, ...] = ()
        self._dropped = False

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func``, and remember it where it is a part of attention."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func is functional.scaled_dot_product_attention:
            self._given = ((args, kwargs), result)
        elif func in _SCALINGS and len(args) == 2 and isinstance(args[1], float):
            self._scaled[id(result)] = (result, args[0], args[1])
        elif func in _BATCHED:
            self._products.append((args, result))
        elif func is functional.dropout:
            self._dropped = True
        elif func is torch.Tensor.view and result.dim() == 4 and len(self._products) == 2:
            self._scores_shape = tuple(result.shape)
        return result

    def call(self) -> tuple[Call, LayerInfo]:
        """Return the call that was made."""
        backend, dropped = "scaled_dot_product_attention", self._dropped
        if self._given is not None:
            (args, kwargs), output = self._given
            given = Arguments(*args, **kwargs)
            call, dropped = attention_call(given, output, self._masks), given.dropout_p > 0
        else:
            backend, call = "bmm", self._written_out()
        return call, LayerInfo(
            backend=f"multi_head_attention_forward, {backend}",
            width=self._width,
            notes=(DROPPED,) if dropped else (),
        )

    def _written_out(self) -> Call:
        """Return the call whose scores and output are two products, as where weights are wanted."""
        (scores, _), ((_, values), output) = self._products
        *masks, scaled, turned = scores
        _, query, scale = self._scaled[id(scaled)]
        sequences, heads, _, _ = self._scores_shape
        refuse_other(query, turned, values, output)

        def apart(one: Any) -> Any:
            return one.view(sequences, heads, *one.shape[1:])

        # A mask is the same for all sequences and heads, or has them as one axis.
        seen, bias = (
            one if one is None or one.shape[0] == 1 else apart(one)
            for one in self._masks.split(masks[0] if masks else None)
        )
        return Call(
            query=apart(query),
            key=apart(turned.transpose(-2, -1)),
            value=apart(values),
            output=None if self._dropped else apart(output),
            mask=seen,
            bias=bias,
            scale=scale,
        )


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
        self._known[StorageWeakRef(tensor.untyped_storage())] = version_of(tensor), value

    def of(self, tensor: Any) -> T | None:
        """Return the value of a tensor, None where there is none."""
        if not self._known or not is_plain(tensor):
            return None
        version, value = self._known.get(StorageWeakRef(tensor.untyped_storage()), (None, None))
        return value if version == version_of(tensor) else None


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
