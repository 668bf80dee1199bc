"""Wrong attentions written out in NumPy, to hold the variants of one head against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.auditing.calls import SCALE, attention
from verify.auditing.alternatives import Place
from verify.auditing.heads import head_of

if TYPE_CHECKING:
    from verify.auditing.alternatives import Variant
    from verify.auditing.recording import Call

TOKENS = 12
NUMBER = 1
"""The head that is looked at."""
OTHER = 0.3
"""A scale that no call declares."""


def variants(one: Call, kinds: tuple[Any, ...]) -> dict[str, Variant]:
    """Return the variants of the second head on the first sequence, by their causes."""
    place = Place(one, 0, NUMBER, head_of(one, 0, NUMBER, TOKENS), SCALE)
    return {variant.cause: variant for kind in kinds for variant in kind(place)}


def exact(one: Call) -> list[Any]:
    """Return queries, keys and values in double precision."""
    return [np.array(array, np.float64) for array in (one.query, one.key, one.value)]


def weights(q: Any, k: Any, **declared: Any) -> Any:
    """Return the weights of correct attention, shape [sequence, head, query, key]."""
    return attention(q, k, np.broadcast_to(np.eye(k.shape[2]), (*k.shape[:3], k.shape[2])), **declared)


def products(q: Any, k: Any) -> Any:
    """Return q·k, shape [sequence, head, query, key]."""
    return q @ np.swapaxes(k, -1, -2)


def softmax(scores: Any) -> Any:
    """Return the softmax over the keys."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def agrees(variant: Variant, wanted: Any, one: Call, scale: float = OTHER) -> None:
    """Check a variant's output at a scale against the outputs of all rows, of all heads and sequences."""
    places = head_of(one, 0, NUMBER, TOKENS).places
    np.testing.assert_allclose(variant.attend(scale), wanted[0, NUMBER][places], rtol=1e-9, atol=1e-12)
