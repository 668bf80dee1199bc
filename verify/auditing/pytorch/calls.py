"""Calls of PyTorch's attention in the arrangement of axes that an audit has, and their masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import torch

from verify.auditing.recording import Call, Intended

DROPPED = "dropout was on, so that outputs are not those of the scores alone; they were left out"

Given = tuple[tuple[Any, ...], dict[str, Any]]
"""Arguments by position and by name."""

HIDES = -3e4
"""What is added to a score to hide a key: -inf, or a number as low as half of float16's lowest.

exp(-3e4) is 0 in every dtype, so that such keys take no part unless a row has no others.
"""

SLOW = (
    "PyTorch's fast path is off while recording: without a recording a fused kernel may compute this layer, "
    "with other rounding, and zeros where all is padding"
)


class LayerInfo(NamedTuple):
    """What is known of a layer beside its calls, in the order of `Layer`. ``notes`` are of this call."""

    intended: Intended | None = None
    width: int | None = None
    backend: str = ""
    padded: Mapping[str, int] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    mask: str = ""


class CallSink(Protocol):
    """What calls go to: a recorder."""

    def keep(self, name: str, make: Callable[[], tuple[Call, LayerInfo]]) -> None:
        """Keep the call that ``make`` returns, in the layer of this name."""

    def note_written_out(self, name: str) -> None:
        """Note that the module of this name has a softmax or scores of its own."""

    def leave_out(self, what: str) -> None:
        """Note in words what is not recorded."""

    def expecting_graphs(self) -> AbstractContextManager[None]:
        """Allow compiled graphs inside."""

    def unharmed(self, what: str) -> AbstractContextManager[None]:
        """Note an error inside, which the program does not see."""


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


class Split(NamedTuple):
    """What a mask says: ``seen`` is True where a key may be seen, ``bias`` is added. None: all, and 0."""

    seen: Any = None
    bias: Any = None


@dataclass
class Masks:
    """Splits masks, each tensor once where the layers of a model share it."""

    _last: Any = None
    _version: int = -1
    _split: Split = field(default_factory=Split)

    def split(self, mask: Any) -> Split:
        """Return what a mask of PyTorch's attention says, its repeated axes of size 1."""
        if mask is None:
            return Split()
        version = -1 if mask.is_inference() else mask._version
        if mask is not self._last or version != self._version or version < 0:
            self._split = _split(_compact(mask.detach()))
            self._last, self._version = mask, version
        return self._split


def added(split: Split, bias: Any) -> Split:
    """Return a split mask with one more bias."""
    if bias is None:
        return split
    more = _split(_compact(bias.detach()))
    seen = more.seen if split.seen is None else split.seen if more.seen is None else split.seen & more.seen
    both = more.bias if split.bias is None else split.bias if more.bias is None else split.bias + more.bias
    return Split(seen, both)


def _split(mask: Any) -> Split:
    if mask.dtype == torch.bool:
        return Split(mask, None)
    hidden = mask <= HIDES
    seen = ~hidden if bool(hidden.any()) else None
    bias = mask if seen is None else mask.masked_fill(hidden, 0)
    return Split(seen, bias if bool((bias != 0).any()) else None)


def _compact(mask: Any) -> Any:
    """Return a mask without the repetitions that an expanded axis has."""
    for axis, (size, stride) in enumerate(zip(mask.shape, mask.stride(), strict=True)):
        if size > 1 and stride == 0:
            mask = mask.narrow(axis, 0, 1)
    return mask


def upto(mask: Any, keys: int) -> Any:
    """Return a mask without what lies beyond the last key, as some caches are longer than their content."""
    if mask is None or mask.dim() == 0 or mask.shape[-1] <= max(keys, 1):
        return mask
    return mask[..., :keys]


class Arguments(NamedTuple):
    """What ``scaled_dot_product_attention`` was given, under the names of its parameters."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False


def is_plain(tensor: Any) -> bool:
    """Return whether a tensor holds its numbers itself: none of a subclass, nested, or transformed."""
    if type(tensor) not in {torch.Tensor, torch.nn.Parameter} or tensor.layout != torch.strided:
        return False
    inside = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return not (tensor.is_nested or tensor.is_meta or inside)


def refuse_other(*tensors: Any) -> None:
    """Refuse tensors that have no plain content.

    Raises:
        ValueError: one is nested, sharded, symbolic, or inside a transformation of functions.
    """
    for one in tensors:
        if not is_plain(one):
            raise ValueError(
                f"a {type(one).__name__} of layout {getattr(one, 'layout', None)} has no plain numbers"
            )


def attention_call(given: Arguments, output: Any, masks: Masks) -> Call:
    """Return the call of ``scaled_dot_product_attention`` with these arguments and this output."""
    refuse_other(given.query, given.key, given.value, output)
    rank = given.query.dim()
    mask = given.attn_mask
    if mask is not None and rank > 4:
        mask = mask.expand(*given.query.shape[:-1], given.key.shape[-2])
    seen, bias = masks.split(mask)
    query = four(given.query)
    key, value = (_over(four(one), query.shape[0]) for one in (given.key, given.value))
    # Under autocast the kernel computes in another dtype than what it is given.
    query, key, value = (one.to(output.dtype) for one in (query, key, value))
    return Call(
        query=query,
        key=key,
        value=value,
        output=None if given.dropout_p > 0 else four(output),
        mask=four(seen) if rank > 4 else seen,
        bias=four(bias) if rank > 4 else bias,
        causal=bool(given.is_causal),
        scale=None if given.scale is None else float(given.scale),
    )


def four(tensor: Any) -> Any:
    """Return a tensor with the axes [sequence, head, token, d]: the last three are in PyTorch's order."""
    if tensor is None or tensor.dim() == 4:
        return tensor
    if tensor.dim() > 4:
        return tensor.flatten(0, -4)
    return tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape))


def _over(tensor: Any, sequences: int) -> Any:
    """Return keys or values for each sequence, where all share the same."""
    return tensor.expand(sequences, -1, -1, -1) if tensor.shape[0] == 1 else tensor
