"""Wrong attentions by name: what a program may compute in place of what its call declares.

Each kind is a generator of variants of one head; without an occasion for it, it yields none.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verify.auditing.arrays import to_numpy
from verify.auditing.blocks import HIDDEN, Floats, Head, added_to, head_of, rows_of, softmax
from verify.auditing.recording import Call

BLOCKS = (8, 16, 32, 64, 128, 256)
"""Sizes of blocks to which programs pad keys."""

CAPS = (20.0, 30.0, 50.0)
"""Soft-caps of public models, which a program may apply where none is declared."""

MOST_SCORES = 2**22
"""Scores in all up to which alternatives that need more than the rows looked at are tried."""

_MOST_HEADS = 16
"""At most this many other heads, the first ones, are compared with a head, for each takes time."""

_LOWEST = -1e30
_NEARLY = 0.01  # how near a number that is fitted comes to the whole one that it is called
_OWN_FIX = "let every query head read the keys and values of its own group"


@dataclass(frozen=True)
class Place:
    """One head, by its ``number``, of one sequence of a call, and the rows of it that are looked at.

    ``intended`` is the intended scale.
    """

    call: Call
    sequence: int
    number: int
    head: Head
    intended: float


@dataclass(frozen=True)
class Variant:
    """A head that attends otherwise: what the program does, what to do, and its output at a scale.

    ``head`` is what rounding is computed from, with ``weights`` at a scale where its own are not of the
    right size. Where ``is_factor``, ``attend`` takes a factor of the output in place of a scale of scores, or
    what ``says`` names in words, which is looked for from ``starts``.
    """

    cause: str
    fix: str
    head: Head
    attend: Callable[[float], Floats]
    is_factor: bool = False
    says: Callable[[float], str] | None = None
    weights: Callable[[float], Floats] | None = None
    starts: tuple[float, ...] = ()


def changed(cause: str, fix: str, head: Head, **changes: Any) -> Variant:
    """Return the variant of a head that has something else in place of what is named."""
    other = replace(head, **changes)
    return Variant(cause, fix, other, other.attend)


def masks(place: Place) -> Iterator[Variant]:
    """Yield attention with the mask lost, inverted, transposed, or added as numbers."""
    head, call = place.head, place.call
    hidden = head.added == HIDDEN
    if not hidden.any():
        return
    shown = np.where(hidden, 0.0, head.added)
    yield changed("the mask is not applied", "apply the mask", head, added=shown)
    inverted = np.where(hidden, 0.0, HIDDEN)
    fix = "hide the keys that the mask leaves out; in a declared mask True is where a key may be seen"
    yield changed("the mask is inverted", fix, head, added=inverted)
    yield changed(
        "the mask is added as the numbers 0 and 1",
        "add -inf where a key is hidden",
        head,
        added=shown + ~hidden,
    )
    unhidden = replace(head, added=shown)

    def weakly(weight: float) -> Floats:
        scores = unhidden.scores(place.intended)
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True)) * np.where(hidden, weight, 1.0)
        found: Floats = (raised / raised.sum(axis=-1, keepdims=True)) @ head.value
        return found

    if head.sink is None:
        weak = "the mask is weak: it adds about {:.3g} to the scores of hidden keys"
        yield Variant(
            "the mask is weak",
            "add -inf where a key is hidden",
            replace(head, added=np.where(hidden, -10.0, head.added)),
            weakly,
            is_factor=True,
            says=lambda weight: weak.format(np.log(weight) if weight > 0 else HIDDEN),
            starts=(0.0, 1e-3, 0.1),
        )
    if call.mask is not None and call.causal:
        only_causal = _added(place, mask=None)
        yield changed("the mask is lost beside the causal one", "apply both masks", head, added=only_causal)
        only_mask = _added(place, causal=False)
        yield changed("the causal mask is lost beside the other", "apply both masks", head, added=only_mask)
    yield Variant(
        "the mask is applied after the softmax, and the weights are not normalised again",
        "apply the mask before the softmax",
        head,
        lambda scale: np.where(hidden, 0.0, replace(head, added=shown).weights(scale)) @ head.value,
    )
    if call.mask is not None and head.added.shape[1] == call.query.shape[2]:
        everything = np.arange(call.query.shape[2])
        columns = rows_of(call.mask, place.sequence, place.number, everything)
        if columns.shape[0] == len(everything):
            turned = np.where(columns.T[head.places] != 0, shown, HIDDEN)
            yield changed("the mask is transposed", "give queries the rows of the mask", head, added=turned)


def alignments(place: Place) -> Iterator[Variant]:
    """Yield causal attention aligned at the first or the last token, or off by one, whatever is declared."""
    head, (queries, keys) = place.head, (place.call.query.shape[2], place.call.key.shape[2])
    shown = np.where(head.added == HIDDEN, 0.0, head.added)
    behind = head.places[:, None] - np.arange(keys)
    names = {
        0: " and aligned at the first token (top left)",
        keys - queries: " and aligned at the last token (bottom right)",
    }
    if keys == queries:
        names = {0: ""}
    for shift in sorted({0, keys - queries, -1, 1, keys - queries - 1, keys - queries + 1}):
        off = f" and off by one: query i sees the keys up to i{shift:+d}"
        added = np.where(behind + shift >= 0, shown, HIDDEN)
        if not np.array_equal(added, head.added):
            cause = f"the mask is causal{names.get(shift, off)}"
            fix = "let each query see the keys that the call declares, or declare this mask"
            yield changed(cause, fix + (" (causal=True)" if not shift else ""), head, added=added)


def windows(place: Place) -> Iterator[Variant]:
    """Yield a causal window that is one key longer or shorter than declared, or sees as far ahead."""
    head, (queries, keys) = place.head, (place.call.query.shape[2], place.call.key.shape[2])
    hidden = head.added == HIDDEN
    behind = head.places[:, None] + (keys - queries) - np.arange(keys)
    width = int((~hidden).sum(axis=1).max(initial=0))
    is_window = np.array_equal(hidden, (behind < 0) | (behind >= width))
    if not (is_window and (behind >= width).any()):
        return
    shown = np.where(hidden, 0.0, head.added)
    for low, high, what in (
        (0, width - 1, f"the window has {width - 1} keys, not {width}"),
        (0, width + 1, f"the window has {width + 1} keys, not {width}"),
        (1 - width, width, "the window is symmetric: queries see as many keys ahead as behind"),
    ):
        added = np.where((behind >= low) & (behind < high), shown, HIDDEN)
        fix = f"let each query see its own key and the {width - 1} before it"
        if not np.array_equal(added, head.added):
            yield changed(what, fix, head, added=added)


def caches(place: Place) -> Iterator[Variant]:
    """Yield attention without the last or the first key, or with further keys of zeros."""
    head, keys = place.head, int(place.call.key.shape[2])
    for at, which in ((keys - 1, "last"), (0, "first")):
        if keys > 1 and (head.added[:, at] > HIDDEN).any():
            added = head.added.copy()
            added[:, at] = HIDDEN
            fix = "let queries see every key of the cache, the one just written too"
            yield changed(f"the {which} key is missing", fix, head, added=added)
    for block in () if head.sink is not None else BLOCKS:
        if more := -keys % block:
            what = f"{more} keys of padding, all zeros, are attended to, up to a multiple of {block}"
            yield changed(what, "hide the keys of padding", head, sink=float(np.log(more)))


def foreign_masks(place: Place) -> Iterator[Variant]:
    """Yield the mask, or bias, of another sequence of the call."""
    given = [one for one in (place.call.mask, place.call.bias) if one is not None]
    if any(len(one.shape) == 4 and one.shape[0] > 1 for one in given):
        for other in range(min(int(place.call.query.shape[0]), _MOST_HEADS)):
            added = added_to(place.call, other, place.number, place.head.places)
            if not np.array_equal(added, place.head.added):
                fix = "give each sequence its own mask"
                yield changed(f"the mask is that of sequence {other}", fix, place.head, added=added)


def biases(place: Place) -> Iterator[Variant]:
    """Yield attention whose bias is lost, reversed, scaled with the scores, or added after the soft-cap."""
    head, call = place.head, place.call
    bias = np.where(np.isfinite(head.added), head.added, 0.0)
    if bias.any():
        hidden = head.added - bias
        names = {0: "is lost", -1: "has the wrong sign", 2: "is added twice"}

        def says(times: float) -> str:
            near = next((name for whole, name in names.items() if abs(times - whole) < _NEARLY), "")
            return f"the bias {near or f'is multiplied by {times:.3g}'}"

        yield Variant(
            "the bias is multiplied by a factor",
            "add the bias once to the scaled scores, as it is",
            head,
            lambda times: replace(head, added=hidden + times * bias).attend(place.intended),
            is_factor=True,
            says=says,
            starts=(0.0, -1.0, 2.0),
        )
        after = "the bias is added after the softmax"
        unbiased = replace(head, added=hidden)
        yield _weighted(
            after, "add the bias to the scaled scores", head, lambda scale: unbiased.weights(scale) + bias
        )
        yield Variant(
            "the bias (or mask) is multiplied by the scale",
            "scale the products first, then add the bias",
            head,
            lambda scale: replace(head, added=scale * head.added).attend(scale),
        )
        others = {other for other in range(call.query.shape[1]) if other != place.number}
        for other in sorted(others) if call.bias is not None and call.bias.shape[-3:-2] != (1,) else ():
            added = added_to(call, place.sequence, other, head.places)
            yield changed(
                f"the bias is that of head {other}", "give each head its own bias", head, added=added
            )


def softcaps(place: Place) -> Iterator[Variant]:
    """Yield attention whose soft-cap is lost, foreign, or applied before the scale or after the mask."""
    head = place.head
    if head.softcap is None:
        for cap in CAPS:
            fix = f"apply no soft-cap, or declare it: softcap={cap:g}"
            yield changed(f"a soft-cap of {cap:g} is applied", fix, head, softcap=cap)
        return
    cap = head.softcap
    yield changed("the soft-cap is lost", f"cap scaled scores at {cap:g}", head, softcap=None)
    yield Variant(
        "the soft-cap is applied before the scale",
        "scale first, then apply the soft-cap",
        head,
        lambda scale: (
            softmax(scale * cap * np.tanh(head.products / cap) + head.added, head.sink) @ head.value
        ),
    )
    yield Variant(
        "the soft-cap is applied after bias and mask, so that hidden keys get weight",
        "apply the soft-cap first, then bias and mask",
        head,
        lambda scale: (
            softmax(cap * np.tanh((scale * head.products + head.added) / cap), head.sink) @ head.value
        ),
    )


def sinks(place: Place) -> Iterator[Variant]:
    """Yield attention whose sink is lost, scaled, or there where none is declared."""
    head = place.head
    if head.sink is None:
        fix = "leave the 1 out of the denominator, or declare it: a sink of 0 for each head"
        yield changed("a sink of 0 is in the softmax (a further 1 in its denominator)", fix, head, sink=0.0)
        return
    yield changed("the sink is lost", "let the sink take part in the softmax's sum", head, sink=None)
    yield changed("the sink is 0 whatever it should be", "use the head's own sink", head, sink=0.0)
    sink = head.sink
    yield Variant(
        "the sink is multiplied by the scale",
        "leave the sink as it is",
        head,
        lambda scale: replace(head, sink=scale * sink).attend(scale),
    )


def softmaxes(place: Place) -> Iterator[Variant]:
    """Yield the scale on the wrong side of the softmax, and what is no softmax over the keys, or two."""
    head, intended = place.head, place.intended
    unscaled, scaled = head.attend(1.0), head.attend(intended)
    after = "the scale is applied after the softmax"
    fix = "scale the scores before the softmax"
    yield Variant(after, fix, replace(head, output=scaled), lambda factor: factor * unscaled, is_factor=True)
    yield Variant(
        "the output is multiplied by a factor",
        "leave the output as the weighted mean of the values",
        head,
        lambda factor: factor * scaled,
        is_factor=True,
    )
    visible = head.added > HIDDEN
    finite = np.where(visible, head.added, 0.0)
    # The scale moves out of a linear map, and is fitted as the factor.
    yield Variant(
        "there is no softmax",
        "apply the softmax to the scores",
        head,
        lambda scale: np.where(visible, scale * head.products + finite, 0.0) @ head.value,
    )
    yield Variant(
        "the softmax is applied twice",
        "apply the softmax once",
        head,
        lambda scale: softmax(np.where(visible, head.weights(scale), HIDDEN)) @ head.value,
    )
    seen = visible.sum(axis=1, keepdims=True)
    stretched = replace(head, query=head.query * np.log(seen))
    yield Variant(
        "the scale is multiplied by ln n, the number of keys that a query sees",
        "leave the number of keys out of the scale, or declare it as intended",
        stretched,
        stretched.attend,
    )


def _added(place: Place, **changes: Any) -> Floats:
    return added_to(replace(place.call, **changes), place.sequence, place.number, place.head.places)


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
            theirs = replace(theirs, output=head.output)
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
        whole = replace(
            head,
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


KINDS: tuple[Callable[[Place], Iterator[Variant]], ...] = (
    *(masks, alignments, windows, caches, foreign_masks, biases, softcaps, sinks, softmaxes),
    *(groups, layouts, swapped_output, axes),
)
"""The kinds of wrong attention.

`axes_of_arrays`, which makes all arrays others, goes before them.
"""
