"""Sees the attention calls of transformers' models, whichever of its kernels computes them."""

from __future__ import annotations

import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from verify.auditing.pytorch.calls import DROPPED, Arguments, Given, refuse_other
from verify.auditing.pytorch.configurations import intention, other_widths, width
from verify.auditing.pytorch.masks import added, upto
from verify.auditing.pytorch.recorder import About
from verify.auditing.recording import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack

    from verify.auditing.pytorch.masks import Masks
    from verify.auditing.pytorch.mode import AttentionMode
    from verify.auditing.pytorch.recorder import Recorder

_MARK = "_records_attention"
_MASKED_ELSEWHERE = ("flash", "flex", "paged")
"""Kernels whose masks are no tensors over keys."""


@contextmanager
def replaced(owner: Any, name: str, new: Any) -> Iterator[None]:
    """Put ``new`` in the place of an attribute, and what was there back afterwards."""
    had = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


class Interface:
    """Transformers' interface to its kernels, whose look-ups give attention functions that record.

    ``stack`` undoes this.
    """

    def __init__(self, mode: AttentionMode, masks: Masks, recorder: Recorder, stack: ExitStack) -> None:
        self._mode, self._masks, self._recorder, self._stack = mode, masks, recorder, stack
        self._is_attached = False

    def attach(self) -> None:
        """Record from now on what goes through the interface, if the program has imported transformers."""
        modeling = sys.modules.get("transformers.modeling_utils")
        if self._is_attached or modeling is None:
            return
        self._is_attached = True
        kind = getattr(modeling, "AttentionInterface", None)
        for name in ("__getitem__", "get_interface"):
            if (original := getattr(kind, name, None)) is not None:
                self._stack.enter_context(replaced(kind, name, self._lookup(original)))
        if not hasattr(kind, "get_interface"):
            self._recorder.leave_out(
                "this version of transformers calls its eager attention unseen; update it"
            )

    def _lookup(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that finds what ``original`` finds, but recording."""

        @functools.wraps(original)
        def find(interface: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            found = original(interface, name, *args, **kwargs)
            if torch.compiler.is_compiling() or not callable(found) or hasattr(found, _MARK):
                return found
            return self._recording(found, str(name))

        return find

    def _recording(self, attention: Callable[..., Any], backend: str) -> Callable[..., Any]:
        @functools.wraps(attention)
        def recorded(
            module: Any,
            query: Any,
            key: Any,
            value: Any,
            attention_mask: Any = None,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            with self._mode.within_interface() as inner:
                result = attention(module, query, key, value, attention_mask, *args, **kwargs)
            if any(word in backend for word in _MASKED_ELSEWHERE):
                self._recorder.leave_out(f"calls of {backend}, whose masks cannot be read, were not recorded")
            elif not torch.compiler.is_compiling():
                given = (module, query, key, value, attention_mask, kwargs, inner, backend)
                self._mode.keep(lambda: _InterfaceCall(*given).seen(result[0], self._masks))
            return result

        setattr(recorded, _MARK, True)
        return recorded


class _InterfaceCall:
    """What an attention function of transformers was given."""

    def __init__(
        self,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        mask: Any,
        options: dict[str, Any],
        inner: list[Given],
        backend: str,
    ) -> None:
        self._module, self._options, self._backend = module, options, backend
        self._query, self._key, self._value, self._mask = query, key, value, mask
        arguments = [Arguments(*args, **kwargs) for args, kwargs in inner]
        fits = len(arguments) == 1 and arguments[0].query.shape == query.shape
        self._inner = arguments[0] if fits else None
        """What PyTorch's attention was given by it in turn, whose scale and mask are the ones that count."""

    def seen(self, output: Any, masks: Masks) -> tuple[Call, About]:
        """Return the call with this output, and what the module's configuration says."""
        return self._call(output, masks), self._about()

    def _call(self, output: Any, masks: Masks) -> Call:
        """Return the call; its output comes as [sequence, token, head, d], or with the last two as one."""
        query, key, value = self._query, self._key, self._value
        refuse_other(query, key, value, output)
        if self._inner is not None:
            split = masks.split(self._inner.attn_mask)
            scale, causal = self._inner.scale, self._inner.is_causal
        else:
            mask = upto(self._mask, key.shape[2])
            split = added(masks.split(mask), self._options.get("position_bias"))
            scale, causal = self._options.get("scaling"), False
        sinks = self._options.get("s_aux")
        output = output.reshape(*query.shape[:1], query.shape[2], query.shape[1], value.shape[-1])
        return Call(
            query=query,
            key=key,
            value=value,
            output=None if self._is_dropping else output.transpose(1, 2),
            mask=split.seen,
            bias=split.bias,
            causal=bool(causal),
            scale=None if scale is None else float(scale),
            softcap=self._options.get("softcap"),
            sink=None if sinks is None else sinks.reshape(-1),
        )

    def _about(self) -> About:
        config = getattr(self._module, "config", None)
        notes = (DROPPED,) if self._is_dropping else ()
        return About(
            backend=f"transformers, {self._backend}",
            intended=intention(self._module, config),
            width=width(config),
            padded=other_widths(config),
            notes=notes,
        )

    @property
    def _is_dropping(self) -> bool:
        return bool(self._options.get("dropout")) and (self._module.training or self._inner is not None)
