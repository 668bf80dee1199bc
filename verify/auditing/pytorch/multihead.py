"""What happens inside PyTorch's ``multi_head_attention_forward``, which hides its own calls from modes."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from verify.auditing.pytorch.calls import DROPPED, Arguments, Given, attention_call, refuse_other
from verify.auditing.pytorch.recorder import About
from verify.auditing.recording import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verify.auditing.pytorch.masks import Masks

_PRODUCTS = (torch.bmm, torch.baddbmm)
_TIMES = (torch.Tensor.mul, torch.Tensor.__mul__)


def has_own_function(tensors: Sequence[Any]) -> bool:
    """Return whether a tensor overrides PyTorch's functions; modes that are entered do not count."""
    return any(
        type(one) is not torch.Tensor
        and getattr(type(one), "__torch_function__", torch._C._disabled_torch_function_impl)
        is not torch._C._disabled_torch_function_impl
        for one in tensors
    )


@functools.cache
def transparent(function: Any) -> Callable[..., Any]:
    """Return the same function, to which modes do not matter, so that they see the calls inside it."""
    names = {**function.__globals__, "has_torch_function": has_own_function}
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


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
        elif func in _TIMES and len(args) == 2 and isinstance(args[1], float):
            self._scaled[id(result)] = (result, args[0], args[1])
        elif func in _PRODUCTS:
            self._products.append((args, result))
        elif func is functional.dropout:
            self._dropped = True
        elif func is torch.Tensor.view and result.dim() == 4 and len(self._products) == 2:
            self._scores_shape = tuple(result.shape)
        return result

    def call(self) -> tuple[Call, About]:
        """Return the call that was made."""
        if self._given is not None:
            (args, kwargs), output = self._given
            given = Arguments(*args, **kwargs)
            notes = (DROPPED,) if given.dropout_p > 0 else ()
            return attention_call(given, output, self._masks), self._about(
                "scaled_dot_product_attention", notes
            )
        (scores, _), ((_, values), output) = self._products
        *masks, scaled, turned = scores
        _, query, scale = self._scaled[id(scaled)]
        sequences, heads, _, _ = self._scores_shape
        refuse_other(query, turned, values, output)

        def apart(one: Any) -> Any:
            return one.view(sequences, heads, *one.shape[1:])

        seen, bias = self._masks.split(masks[0] if masks else None)
        call = Call(
            query=apart(query),
            key=apart(turned.transpose(-2, -1)),
            value=apart(values),
            output=None if self._dropped else apart(output),
            mask=_per_head(seen, sequences, heads),
            bias=_per_head(bias, sequences, heads),
            scale=scale,
        )
        return call, self._about("bmm", (DROPPED,) if self._dropped else ())

    def _about(self, backend: str, notes: tuple[str, ...]) -> About:
        return About(backend=f"multi_head_attention_forward, {backend}", width=self._width, notes=notes)


def _per_head(mask: Any, sequences: int, heads: int) -> Any:
    """Return a mask of axes [sequence and head, query, key], or the same for all, with four axes."""
    if mask is None or mask.shape[0] == 1:
        return mask
    return mask.view(sequences, heads, *mask.shape[1:])
