"""Sees the attention calls of PyTorch as they are made, from Python and from its own modules."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import DROPPED, Arguments, Given, attention_call, said, unscaled
from verify.auditing.pytorch.fast_path import encoder_layer_call, native_call
from verify.auditing.pytorch.multihead import Inside, transparent
from verify.auditing.pytorch.origins import Factors, Scores, func_name
from verify.auditing.pytorch.recorder import About

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verify.auditing.pytorch.masks import Masks
    from verify.auditing.pytorch.modules import Modules
    from verify.auditing.pytorch.recorder import Recorder
    from verify.auditing.recording import Call

    Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_SOFTMAX = (functional.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax)
_IN_NAMES = ("attention", "attn", "flash")


class AttentionMode(TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not checked
    """While it is entered, every attention call of this thread goes to the recorder.

    It calls what the program calls, with the same arguments, so that all results are the same bits.
    """

    def __init__(self, recorder: Recorder, modules: Modules, masks: Masks) -> None:
        super().__init__()
        self._recorder, self._modules, self._masks = recorder, modules, masks
        self._inner: list[Given] | None = None
        self._factors, self._scores = Factors(), Scores()
        self._handlers: dict[Any, Handler | None] = {
            functional.scaled_dot_product_attention: self._attention,
            functional.multi_head_attention_forward: self._multihead,
            torch._native_multi_head_attention: self._native,
            torch._transformer_encoder_layer_fwd: self._encoder_layer,
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
        """Record nothing inside, where somebody else does; yield what PyTorch's attention was given there."""
        before, self._inner = self._inner, []
        try:
            yield self._inner
        finally:
            self._inner = before

    def keep(self, make: Callable[[], tuple[Call, About]], inner: str = "") -> None:
        """Keep the call that ``make`` returns, under the name of the module that is running."""
        self._recorder.keep(self._modules.place(inner).name, make)

    def _handler(self, func: Any) -> Handler | None:
        return self._unknown if any(word in func_name(func).lower() for word in _IN_NAMES) else None

    def _attention(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
        if self._inner is None:
            self.keep(lambda: self._seen(Arguments(*args, **kwargs), output))
        else:
            self._inner.append((args, kwargs))
        return output

    def _seen(self, given: Arguments, output: Any) -> tuple[Call, About]:
        factors = self._factors.of_scores(given.query, given.key, given.value)
        notes = (*((DROPPED,) if given.dropout_p > 0 else ()), *said(factors))
        about = About(backend="scaled_dot_product_attention", notes=notes)
        return unscaled(attention_call(given, output, self._masks), factors), about

    def _multihead(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inside = Inside(self._masks, width=int(args[3]))
        with inside:
            result = transparent(func)(*args, **kwargs)
        if self._inner is None:
            self.keep(inside.call)
        return result

    def _native(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
        self.keep(lambda: native_call(*args, **kwargs))
        return output

    def _encoder_layer(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = func(*args, **kwargs)
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
