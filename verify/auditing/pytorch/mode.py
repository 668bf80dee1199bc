"""Sees the attention calls of PyTorch as they are made, from Python and from its own modules.

What tensors were made of is followed through the memory that views of them share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import (
    DROPPED,
    SLOW,
    Arguments,
    CallSink,
    Given,
    LayerInfo,
    Masks,
    attention_call,
    is_plain,
    refuse_other,
    replaced,
)
from verify.auditing.pytorch.modules import Modules, version_of
from verify.auditing.pytorch.scaling import Scaling, func_name, is_parameter, tensors, unscaled
from verify.auditing.recording import Call

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]

T = TypeVar("T")

_SOFTMAX = (functional.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax)
_IN_NAMES = ("attention", "attn", "flash")
_BATCHED = (torch.bmm, torch.baddbmm)
_SCALINGS = (torch.Tensor.mul, torch.Tensor.__mul__)

_TENSOR = torch.Tensor
_PRODUCTS = frozenset(
    ["matmul", "__matmul__", "__rmatmul__", "linalg_matmul", "bmm", "baddbmm", "mm", "einsum"]
)
_MOST = 4096


class AttentionMode(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """While it is entered, every attention call of this thread goes to the recorder.

    It calls what the program calls, with the same arguments, so that all results are the same bits.
    """

    def __init__(self, recorder: CallSink, modules: Modules, masks: Masks) -> None:
        super().__init__()
        self._recorder, self._modules, self._masks = recorder, modules, masks
        self._inner: list[Given] | None = None
        self._scaling, self._scores = Scaling(), Scores()
        self._handlers: dict[Any, Handler | None] = {
            functional.scaled_dot_product_attention: self._attention,
            **dict.fromkeys(_SOFTMAX, self._softmax),
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
        if func is functional.multi_head_attention_forward:
            return self._multihead(func, args, kwargs)
        result = func(*args, **kwargs)
        with self._recorder.unharmed(func_name(func)):
            self._met(func, args, kwargs, result)
        return result

    def _met(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Take note of a call that the program has made."""
        handler = self._handlers[func]
        if handler is not None:
            handler(func, args, kwargs, result)
        if result is not NotImplemented:
            self._scaling.meet(func, args, kwargs, result)
        if self._inner is None and self._scores.meet(func, args, result):
            self._recorder.note_written_out(self._modules.running())

    @contextmanager
    def within_interface(self) -> Iterator[list[Given]]:
        """Record nothing inside, where the caller does; yield what PyTorch's attention was given there."""
        before, self._inner = self._inner, []
        try:
            yield self._inner
        finally:
            self._inner = before

    def keep(self, make: Callable[[], tuple[Call, LayerInfo]]) -> None:
        """Keep the call that ``make`` returns, under the name of the module that is running.

        Its scale has the factors that its queries and keys were multiplied by before the call.
        """
        name = self._modules.layer()

        def made() -> tuple[Call, LayerInfo]:
            call, about = make()
            return replace(call, input=self._modules.input()), about

        self._recorder.keep(name, made)

    def scaled(
        self, given: Sequence[Any], call: Call, about: LayerInfo, unknown: str = ""
    ) -> tuple[Call, LayerInfo]:
        """Return a call of ``given`` queries, keys and values whose scale has the factors they had before.

        ``unknown`` says why these are not all that changed the scores.
        """
        found = self._scaling.of_call(*given)
        return unscaled(call, about, found._replace(unknown=unknown or found.unknown))

    def _handler(self, func: Any) -> Handler | None:
        return self._unknown if any(word in func_name(func).lower() for word in _IN_NAMES) else None

    def _attention(self, _func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self._inner is None:
            self.keep(lambda: self._seen(Arguments(*args, **kwargs), output))
        else:
            self._inner.append((args, kwargs))

    def _seen(self, given: Arguments, output: Any) -> tuple[Call, LayerInfo]:
        notes = (DROPPED,) if given.dropout_p > 0 else ()
        about = LayerInfo(backend="scaled_dot_product_attention", notes=notes)
        return self.scaled(given[:3], attention_call(given, output, self._masks), about)

    def _multihead(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inside = Inside(self._masks, self._recorder)
        # It hides its own calls from modes unless it finds no function of a tensor's own.
        with replaced(functional, "has_torch_function", has_own_function), inside:
            result = func(*args, **kwargs)
        if self._inner is None:
            with self._recorder.unharmed(func_name(func)):
                width = int(args[3] if len(args) > 3 else kwargs["embed_dim_to_check"])
                learns = torch.is_grad_enabled() and any(
                    one.requires_grad for one in tensors((*args, *kwargs.values()))
                )
                fast = not learns and kwargs.get("training") is False
                self.keep(lambda: inside.call(width, (SLOW,) if fast else ()))
        return result

    def _softmax(self, _func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], _result: Any) -> None:
        # Attention that is written out has a softmax over scores [..., head, query, key].
        given = next(tensors((*args, *kwargs.values())), None)
        if self._inner is None and getattr(given, "ndim", 0) >= 3:
            self._recorder.note_written_out(self._modules.running())

    def _unknown(self, func: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any], _result: Any) -> None:
        if self._inner is None:
            self._recorder.leave_out(f"{func_name(func)} was called, which is not recorded")


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

    def __init__(self, masks: Masks, recorder: CallSink) -> None:
        super().__init__()
        self._masks, self._recorder = masks, recorder
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
        with self._recorder.unharmed(func_name(func)):
            self._met(func, args, kwargs, result)
        return result

    def _met(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
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

    def call(self, width: int, notes: tuple[str, ...]) -> tuple[Call, LayerInfo]:
        """Return the call that was made in a model of this width."""
        backend, dropped = "scaled_dot_product_attention", self._dropped
        if self._given is not None:
            (args, kwargs), output = self._given
            given = Arguments(*args, **kwargs)
            call, dropped = attention_call(given, output, self._masks), given.dropout_p > 0
        else:
            backend, call = "bmm", self._written_out()
        return call, LayerInfo(
            backend=f"multi_head_attention_forward, {backend}",
            width=width,
            notes=(*((DROPPED,) if dropped else ()), *notes),
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
        operands = list(tensors(args))[-2:]
        if any(is_parameter(one) for one in operands):
            return False
        if next(self._among(operands), None) is not None:
            return True
        self._known.note(result, value=True)
        return False

    def _among(self, args: Any) -> Iterator[Any]:
        return (one for one in tensors(args) if self._known.of(one))
