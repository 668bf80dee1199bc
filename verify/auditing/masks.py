"""Masks as they are meant: which keys each query should see, and the finding that holds calls to it."""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.auditing.blocks import HIDING
from verify.auditing.recording import Call
from verify.auditing.rows import hidden_from
from verify.errors import SettingsError

Seen = NDArray[np.bool_]


INTENDED_MASKS = ("none", "causal", "window=W", "prefix=N", "documents")
"""The masks that can be meant. All but none are causal, and the last query is that of the last key."""

_LARGEST = 10**9
_STRONGEST, _WEAKEST = -100.0, -2.0
"""What lies between, where it alone is added to scores, was meant to hide keys and does not."""


class Meant(NamedTuple):
    """A mask that was meant: its kind, and the number that goes with it."""

    kind: str
    number: int = 0

    def visible(self, queries: int, keys: int, documents: NDArray[np.int64] | None) -> Seen:
        """Return which keys queries should see, [query, key]; with ``documents`` of the keys [1 or n, …]."""
        ahead = np.arange(keys) - (np.arange(queries)[:, None] + keys - queries)
        if self.kind == "none":
            return np.ones((queries, keys), dtype=bool)
        seen = ahead <= 0
        if self.kind == "window":
            seen = seen & (ahead > -self.number)
        elif self.kind == "prefix":
            seen = seen | (np.arange(keys) < self.number)
        elif self.kind == "documents" and documents is not None:
            own = documents[np.clip(np.arange(queries) + keys - queries, 0, None)]
            seen = seen & (documents[None, :] == own[:, None])
        return seen


class Misseen(NamedTuple):
    """A row that sees a key it should not, or where ``is_missing`` does not see one that it should."""

    sequence: int
    head: int
    row: int
    key: int
    is_missing: bool


def intended_mask(text: str) -> Meant:
    """Return the mask that ``text`` says: none, causal, window=W, prefix=N or documents.

    A window of W holds the query's own key and the W - 1 before it.

    Raises:
        SettingsError: it is none of them.
    """
    found = re.fullmatch(r"(none|causal|documents)|(window|prefix)=([0-9]{1,10})", text.strip())
    if found is None or int(found[3] or 1) not in range(1, _LARGEST):
        raise SettingsError(f"mask {text[:40]!r}: give one of {', '.join(INTENDED_MASKS)}")
    return Meant(found[1] or found[2], int(found[3] or 0))


def configured_mask(module: Any, config: Any) -> str:
    """Return the mask that a module of transformers was meant to have, empty where nothing says it.

    It is said where the module calls itself causal and its configuration lists the kind of each layer.
    """
    kinds, place = getattr(config, "layer_types", None), getattr(module, "layer_idx", None)
    if getattr(module, "is_causal", None) is not True or not isinstance(kinds, list | tuple):
        return ""
    kind = kinds[place] if isinstance(place, int) and 0 <= place < len(kinds) else ""
    window = getattr(module, "sliding_window", None) or getattr(config, "sliding_window", None)
    if kind == "sliding_attention" and isinstance(window, int) and 0 < window < _LARGEST:
        return f"window={window}"
    return "causal" if kind == "full_attention" else ""


def misseen(call: Call, meant: Meant, places: NDArray[np.intp]) -> list[Misseen | None]:
    """Return for each head the first row that sees other keys than were meant, None where none does.

    ``places`` are those of the call's sequences among all.
    Keys at either end that no query sees are padding, and with them the rows of the same tokens.
    """
    sequences, heads, queries, _ = map(int, call.query.shape)
    keys = int(call.key.shape[2])
    found: list[Misseen | None] = [None] * heads
    for sequence in range(sequences):
        documents = None if call.documents is None else np.asarray(call.documents)[sequence]
        hidden, _ = hidden_from(call, sequence * heads + np.arange(heads), slice(0, queries), keys)
        shown = np.ones((1, 1, 1), dtype=bool) if hidden is None else ~hidden
        shown = np.broadcast_to(shown, (len(shown), queries, keys))
        used: Seen = np.any(shown, axis=1)
        used = np.maximum.accumulate(used, axis=1) & np.maximum.accumulate(used[:, ::-1], axis=1)[:, ::-1]
        # A cache may have room for more keys than were written: the last query is that of the last one used.
        last = int(np.flatnonzero(used.any(axis=0)).max(initial=-1)) + 1 if queries < keys else keys
        wanted = np.zeros((queries, keys), dtype=bool)
        wanted[:, :last] = meant.visible(queries, last, None if documents is None else documents[:last])
        own = used[:, np.clip(np.arange(queries) + keys - queries, 0, None)]
        blind = ~shown.any(axis=2) & ~own
        wrong = (shown != wanted) & used[:, None] & ~blind[:, :, None]
        for head in range(heads):
            off = wrong[head % len(wrong)]
            if found[head] is None and off.any():
                row, key = (int(one) for one in np.argwhere(off)[0])
                found[head] = Misseen(int(places[sequence]), head, row, key, bool(wanted[row, key]))
    return found


def weak_mask(call: Call) -> float | None:
    """Return the number that a bias adds to the scores of keys where it adds 0 to all others that are seen.

    So it looks like a mask, and hides nothing. It is None where there is no such bias.
    """
    if call.bias is None:
        return None
    bias = np.asarray(call.bias)
    low = bias[bias > HIDING]
    least = low.min(initial=0)
    is_weak = _STRONGEST <= least <= _WEAKEST
    return float(least) if is_weak and np.unique(low).tolist() == [least, 0] else None


def described(call: Call) -> str:
    """Return the mask of a call's first sequence and head in a word: the name of one that can be meant.

    Where there is none of that name it is "another".
    """
    queries, keys = int(call.query.shape[2]), int(call.key.shape[2])
    hidden, _ = hidden_from(call, np.zeros(1, dtype=np.intp), slice(0, queries), keys)
    if hidden is None:
        return "none"
    shown = np.broadcast_to(~hidden, (1, queries, keys))[0]
    used = shown.any(axis=0) & (np.ones(keys, bool) if queries != keys else shown.any(axis=1))
    widest = int(shown.sum(axis=1).max(initial=0))
    for name in ("none", "causal", f"window={max(widest, 1)}"):
        wanted = intended_mask(name).visible(queries, keys, None)
        if np.array_equal(shown[:, used], (wanted & shown.any(axis=1)[:, None])[:, used]):
            return name
    return "another"
