"""Wrong attentions by name: what a program may compute in place of what its call declares.

Each alternative is a generator of variants of one head; without an occasion for it, it yields none. Here are
those that change what is added to the scores, and the softmax; `verify.auditing.rearrangements` has others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.heads import HIDDEN, added_to, rows_of, softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verify.auditing.heads import Floats, Head
    from verify.auditing.recording import Call

CAPS = (20.0, 30.0, 50.0)
"""Soft-caps of public models, which a program may apply where none is declared."""


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
    right size. Where ``is_factor``, ``attend`` takes a factor of the output in place of a scale of scores.
    """

    cause: str
    fix: str
    head: Head
    attend: Callable[[float], Floats]
    is_factor: bool = False
    weights: Callable[[float], Floats] | None = None


def changed(cause: str, fix: str, head: Head, **changes: object) -> Variant:
    """Return the variant of a head that has something else in place of what is named."""
    other = head.changed(**changes)
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
    if call.mask is not None and call.causal:
        only_causal = _added(place, mask=None)
        yield changed("the mask is lost beside the causal one", "apply both masks", head, added=only_causal)
        only_mask = _added(place, causal=False)
        yield changed("the causal mask is lost beside the other", "apply both masks", head, added=only_mask)
    yield Variant(
        "the mask is applied after the softmax, and the weights are not normalised again",
        "apply the mask before the softmax",
        head,
        lambda scale: np.where(hidden, 0.0, head.changed(added=shown).weights(scale)) @ head.value,
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


def biases(place: Place) -> Iterator[Variant]:
    """Yield attention whose bias is lost, reversed, scaled with the scores, or added after the soft-cap."""
    head, call = place.head, place.call
    bias = np.where(np.isfinite(head.added), head.added, 0.0)
    if bias.any():
        hidden = head.added - bias
        yield changed("the bias is lost", "add the bias to the scaled scores", head, added=hidden)
        yield changed(
            "the bias has the wrong sign", "add the bias, do not subtract it", head, added=hidden - bias
        )
        yield changed("the bias is added twice", "add the bias once", head, added=hidden + 2 * bias)
        yield Variant(
            "the bias (or mask) is multiplied by the scale",
            "scale the products first, then add the bias",
            head,
            lambda scale: head.changed(added=scale * head.added).attend(scale),
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
        lambda scale: head.changed(sink=scale * sink).attend(scale),
    )


def softmaxes(place: Place) -> Iterator[Variant]:
    """Yield the scale on the wrong side of the softmax, and what is no softmax over the keys, or two."""
    head, intended = place.head, place.intended
    unscaled, scaled = head.attend(1.0), head.attend(intended)
    after = "the scale is applied after the softmax"
    fix = "scale the scores before the softmax"
    yield Variant(after, fix, head.changed(output=scaled), lambda factor: factor * unscaled, is_factor=True)
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
    yield Variant(
        "a sigmoid is applied in place of the softmax",
        "apply the softmax to the scores",
        head,
        lambda scale: _sigmoid(head.scores(scale)) @ head.value,
    )
    seen = visible.sum(axis=1, keepdims=True)
    stretched = head.changed(query=head.query * np.log(seen))
    yield Variant(
        "the scale is multiplied by ln n, the number of keys that a query sees",
        "leave the number of keys out of the scale, or declare it as intended",
        stretched,
        stretched.attend,
    )


def _added(place: Place, **changes: object) -> Floats:
    return added_to(replace(place.call, **changes), place.sequence, place.number, place.head.places)  # type: ignore[arg-type]  # fields by their names


def _sigmoid(scores: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(scores / 2))


KINDS = (masks, alignments, biases, softcaps, sinks, softmaxes)
"""The alternatives of this module."""
