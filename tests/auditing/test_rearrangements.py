"""Wrong attentions whose numbers come from the wrong place: what such programs give, written out in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, attention, call
from tests.auditing.written_out import OTHER, TOKENS, agrees, exact, products, variants
from verify.auditing import rearrangements
from verify.auditing.alternatives import Place
from verify.auditing.heads import head_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.recording import Call

HEADS = 4


def plain(**options: Any) -> Call:
    """Return a correct call whose second head reads the first group of keys where there are two."""
    return call(**{"queries": TOKENS, "keys": TOKENS, **options})


def over(axis: int) -> Callable[..., Any]:
    """Return attention whose softmax runs over another axis of the scores."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        e = np.exp(OTHER * products(q, k))
        return e / e.sum(axis=axis, keepdims=True) @ v

    return attend


def reading(keys: list[int], values: list[int]) -> Callable[..., Any]:
    """Return attention whose heads read these heads of keys and of values."""
    return lambda q, k, v: attention(q, k[:, keys], v[:, values], scale=OTHER)


def changing(**changes: Callable[..., Any]) -> Callable[..., Any]:
    """Return attention of queries, keys and values of which some are changed."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        named = {"q": q, "k": k, "v": v}
        return attention(
            *(changes[name](**named) if name in changes else array for name, array in named.items()),
            scale=OTHER,
        )

    return attend


def reshaped(array: Any) -> Any:
    """Return [token, d] read as if it lay as [d, token]."""
    return np.stack([[head.reshape(head.shape[::-1]).T for head in sequence] for sequence in array])


def normed(array: Any) -> Any:
    """Return vectors of length 1."""
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


GROUPED: list[tuple[str, Callable[..., Any]]] = [
    (
        "grouped heads are mapped interleaved (query head i reads key head i mod h_k)",
        reading([0, 1, 0, 1], [0, 1, 0, 1]),
    ),
    ("values are those of head 1", reading([0, 0, 1, 1], [0, 1, 1, 1])),
    ("keys are those of head 1", reading([0, 1, 1, 1], [0, 0, 1, 1])),
]
SEPARATE: list[tuple[str, Callable[..., Any]]] = [
    ("keys and values are those of head 2", reading([0, 2, 2, 3], [0, 2, 2, 3])),
    ("values are those of head 3", reading([0, 1, 2, 3], [0, 3, 2, 3])),
    ("keys are those of head 3", reading([0, 3, 2, 3], [0, 1, 2, 3])),
    (
        "the output is that of head 2",
        lambda q, k, v: attention(q, k, v, scale=OTHER)[:, [0, 2, 2, 3]],
    ),
    ("keys are those of one token later", changing(k=lambda k, **_: np.roll(k, 1, axis=2))),
    ("values are those of one token earlier", changing(v=lambda v, **_: np.roll(v, -1, axis=2))),
    ("keys are reshaped where they should be transposed", changing(k=lambda k, **_: reshaped(k))),
    ("values are reshaped where they should be transposed", changing(v=lambda v, **_: reshaped(v))),
    ("keys are used as values", changing(v=lambda k, **_: k)),
    ("values are used as keys", changing(k=lambda v, **_: v)),
    ("keys and values are exchanged", changing(k=lambda v, **_: v, v=lambda k, **_: k)),
    ("queries and keys are exchanged", changing(q=lambda k, **_: k, k=lambda q, **_: q)),
    (
        "queries and keys are normalised first",
        changing(q=lambda q, **_: normed(q), k=lambda k, **_: normed(k)),
    ),
    ("the softmax is over the queries, not the keys", over(-2)),
    ("the softmax is over the heads, not the keys", over(1)),
    ("the softmax is over the sequences, not the keys", over(0)),
    (
        "the output is reshaped to [token, head] where it should be transposed",
        # Heads and tokens of what was computed are read as if tokens came first.
        lambda q, k, v: _read(attention(q, k, v, scale=OTHER).swapaxes(1, 2)),
    ),
    (
        "the output is reshaped from [head, token] where it should be transposed",
        lambda q, k, v: _read(attention(q, k, v, scale=OTHER)).reshape(2, TOKENS, HEADS, -1).swapaxes(1, 2),
    ),
]


def _read(array: Any) -> Any:
    """Return the same numbers in the shape [sequence, head, token, d]."""
    return array.reshape(2, HEADS, TOKENS, -1)


@pytest.mark.parametrize(
    ("key_heads", "cause", "wanted"),
    [*((2, *one) for one in GROUPED), *((HEADS, *one) for one in SEPARATE)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_gives_what_a_program_with_it_gives(
    key_heads: int, cause: str, wanted: Callable[..., Any]
) -> None:
    """Whatever its scale, on every row that is looked at."""
    one = plain(key_heads=key_heads)
    agrees(variants(one, rearrangements.KINDS)[cause], wanted(*exact(one)), one)


def test_a_mistake_needs_an_occasion() -> None:
    """One head and one sequence cannot be taken for another's; other widths of values are no keys."""
    one = plain(sequences=1, heads=1)
    mapped = {*variants_of_first_head(one)}
    assert not {cause for cause in mapped if "head" in cause or "sequences" in cause}
    assert "keys are used as values" in mapped
    wide = plain()
    assert wide.value is not None
    narrow = replace(wide, value=wide.value[..., :8], output=attention(*exact(wide))[..., :8])
    assert "keys are used as values" not in variants(narrow, rearrangements.KINDS)
    rectangle = plain(queries=TOKENS - 2)
    assert "queries and keys are exchanged" not in variants(rectangle, rearrangements.KINDS)


def variants_of_first_head(one: Call) -> set[str]:
    """Return the causes that are tried for the first head of the first sequence."""
    place = Place(one, 0, 0, head_of(one, 0, 0, TOKENS), SCALE)
    return {variant.cause for kind in rearrangements.KINDS for variant in kind(place)}
