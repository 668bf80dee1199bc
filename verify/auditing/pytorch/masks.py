"""Masks as programs give them, boolean or added to the scores, as which keys may be seen and a bias."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

HIDES = -3e4
"""What is added to a score to hide a key: -inf, or a number as low as half of float16's lowest.

exp(-3e4) is 0 in every dtype, so that such keys take no part unless a row has no others.
"""


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
