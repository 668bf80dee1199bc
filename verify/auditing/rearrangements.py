"""Wrong attentions by name: numbers that come from the wrong place, or sums over the wrong axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.alternatives import Variant, changed
from verify.auditing.heads import HIDDEN, added_to, head_of, softmax, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.auditing.alternatives import Place
    from verify.auditing.heads import Floats, Head

MOST_SCORES = 2**22
"""Scores in all up to which alternatives that need more than the rows looked at are tried."""

_MOST_HEADS = 16
"""The other heads that a head is compared with are the first so many, for each takes time."""

_LOWEST = -1e30
_OWN_FIX = "let every query head read the keys and values of its own group"


def axes_of_arrays(place: Place) -> Iterator[Variant]:
    """Yield the attention of arrays whose second axis are the tokens, and whose third the heads."""
    head, call = place.head, place.call
    tokens, key_heads = int(call.key.shape[1]), int(call.key.shape[2])
    keys = tokens * key_heads
    is_plain = call.mask is None and call.bias is None and head.sink is None
    if not is_plain or call.query.shape[2] % key_heads or len(head.places) * keys > MOST_SCORES:
        return
    # The keys of all heads, of which each row sees those of its own.
    token, key_head = np.divmod(np.arange(keys), key_heads)
    own = head.places[:, None] // (call.query.shape[2] // key_heads) == key_head
    yield changed(
        "the arrays have the axes [sequence, token, head, d]",
        "swap the second and the third axis of the arrays: give [sequence, head, token, d]",
        head,
        key=to_numpy(call.key[place.sequence]).reshape(keys, -1),
        value=to_numpy(call.value[place.sequence]).reshape(keys, -1),  # type: ignore[index]  # it has values
        added=np.where(own & (token <= place.number) if call.causal else own, 0.0, HIDDEN),
    )


def groups(place: Place) -> Iterator[Variant]:
    """Yield grouped heads mapped otherwise, and keys or values of another head."""
    head, call = place.head, place.call
    shared, key_heads = call.query.shape[1] // call.key.shape[1], call.key.shape[1]
    own = place.number // shared
    interleaved = place.number % key_heads
    if interleaved != own:
        cause = "grouped heads are mapped interleaved (query head i reads key head i mod h_k)"
        fix = f"repeat each key head {shared} times in a row: query head i reads key head i // {shared}"
        yield _reading(place, interleaved, interleaved, cause if shared > 1 else "heads are permuted", fix)
    for other in range(min(key_heads, _MOST_HEADS)):
        if other not in (own, interleaved):
            yield _reading(place, other, other, f"keys and values are those of head {other}", _OWN_FIX)
        if other != own:
            yield _reading(place, own, other, f"values are those of head {other}", _OWN_FIX)
            yield _reading(place, other, own, f"keys are those of head {other}", _OWN_FIX)
    for other in range(min(call.query.shape[1], _MOST_HEADS)):
        if other != place.number:
            fix = "give each query head its own output"
            theirs = head_of(call, place.sequence, other, head.places)
            theirs = theirs.changed(output=head.output)
            yield Variant(f"the output is that of head {other}", fix, theirs, theirs.attend)


def layouts(place: Place) -> Iterator[Variant]:
    """Yield arrays read in another layout: reshaped where they should be transposed, shifted, exchanged."""
    head = place.head
    for name in ("key", "value"):
        array: Floats = getattr(head, name)
        reshaped = array.reshape(array.shape[::-1]).T
        fix = f"transpose the {name}s, do not reshape them"
        yield changed(f"{name}s are reshaped where they should be transposed", fix, head, **{name: reshaped})
        fix = f"take keys and values of the same token ({name}s are shifted)"
        for by, way in ((1, "later"), (-1, "earlier")):
            shifted = np.roll(array, by, axis=0)
            yield changed(f"{name}s are those of one token {way}", fix, head, **{name: shifted})
    if head.value.shape == head.key.shape:
        yield changed("keys are used as values", "multiply the weights by the values", head, value=head.key)
        yield changed("values are used as keys", "multiply the queries by the keys", head, key=head.value)
        exchanged = {"key": head.value, "value": head.key}
        yield changed("keys and values are exchanged", "give keys before values", head, **exchanged)
    if place.call.query.shape[2] == len(head.key):
        query = to_numpy(place.call.query[place.sequence, place.number])
        exchanged = {"query": head.key[head.places], "key": query}
        yield changed("queries and keys are exchanged", "give queries before keys", head, **exchanged)
    normed = {name: _normed(getattr(head, name)) for name in ("query", "key")}
    fix = "use the vectors as they are, or record them after they are normalised"
    yield changed("queries and keys are normalised first", fix, head, **normed)


def swapped_output(place: Place) -> Iterator[Variant]:
    """Yield an output in which heads and tokens were reshaped into each other without a transposition."""
    call, places = place.call, place.head.places
    _, heads, tokens, _ = call.query.shape
    if heads == 1 or heads * len(places) * call.key.shape[2] > MOST_SCORES:
        return
    flat = place.number * tokens + places
    for cause, from_heads, from_tokens in (
        (
            "the output is reshaped to [token, head] where it should be transposed",
            flat % heads,
            flat // heads,
        ),
        (
            "the output is reshaped from [head, token] where it should be transposed",
            (places * heads + place.number) // tokens,
            (places * heads + place.number) % tokens,
        ),
    ):
        sources = [
            (head_of(call, place.sequence, int(head), from_tokens[from_heads == head]), from_heads == head)
            for head in np.unique(from_heads)
        ]

        def attend(scale: float, sources: Sequence[tuple[Head, Floats]] = sources) -> Floats:
            output = np.empty_like(place.head.output)
            for source, rows in sources:
                output[rows] = source.attend(scale)
            return output

        yield Variant(cause, "transpose heads and tokens, then reshape", place.head, attend)


def axes(place: Place) -> Iterator[Variant]:
    """Yield the softmax over another axis: the queries, the heads, the sequences."""
    call, head = place.call, place.head
    sequences, heads, queries, _ = call.query.shape
    keys = call.key.shape[2]
    everywhere = np.arange(queries)
    fix = "take the softmax over the last axis of the scores, the keys"
    if queries * keys <= MOST_SCORES:
        whole = head.changed(
            query=to_numpy(call.query[place.sequence, place.number]),
            added=added_to(call, place.sequence, place.number, everywhere),
        )

        def over_queries(scale: float) -> Floats:
            return softmax(_without_infinities(whole.scores(scale)).T).T[head.places]

        yield _weighted("the softmax is over the queries, not the keys", fix, head, over_queries)
    for axis, (count, others) in {
        "heads": (heads, [(place.sequence, other) for other in range(heads)]),
        "sequences": (sequences, [(other, place.number) for other in range(sequences)]),
    }.items():
        if count > 1 and count * head.products.size <= MOST_SCORES:
            own = place.number if axis == "heads" else place.sequence
            stack = [head_of(call, *other, head.places) for other in others]

            def over(scale: float, stack: Sequence[Head] = stack, own: int = own) -> Floats:
                scores = np.stack([one.scores(scale) for one in stack], axis=-1)
                return softmax(_without_infinities(scores))[..., own]

            yield _weighted(f"the softmax is over the {axis}, not the keys", fix, head, over)


def _reading(place: Place, keys: int, values: int, cause: str, fix: str) -> Variant:
    call, sequence = place.call, place.sequence
    key, value = to_numpy(call.key[sequence, keys]), to_numpy(call.value[sequence, values])  # type: ignore[index]  # reconstruction has values
    return changed(cause, fix, place.head, key=key, value=value)


def _weighted(cause: str, fix: str, head: Head, weights: Callable[[float], Floats]) -> Variant:
    """Return the variant of a head whose weights are others, and do not add up to 1 over the keys."""
    return Variant(cause, fix, head, lambda scale: weights(scale) @ head.value, weights=weights)


def _without_infinities(scores: Floats) -> Floats:
    """Return scores as where the lowest number hides keys: equal ones share the weight."""
    return np.maximum(scores, _LOWEST)


def _normed(array: Floats) -> Floats:
    size = np.linalg.norm(array, axis=1, keepdims=True)
    return array / np.where(size > 0, size, 1)


KINDS = (groups, layouts, swapped_output, axes)
"""The alternatives of this module."""
