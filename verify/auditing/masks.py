"""Masks as they are meant: which keys each query should see, and which rows of a call see others."""

import re
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.formula import Formula
from verify.auditing.recording import Flags
from verify.errors import SettingsError

INTENDED_MASKS = ("none", "causal", "window=W", "chunk=W")
"""The masks that can be meant. All but none are causal, and the last query is that of the last key."""

_LARGEST = 10**9


class Meant(NamedTuple):
    """A mask that was meant: its kind, and the number that goes with it."""

    kind: str
    number: int = 0

    def visible(self, queries: int, keys: int) -> Flags:
        """Return which keys queries should see, [query, key]."""
        last = keys - queries  # the key of query 0
        seen: Flags = np.tri(queries, keys, last, dtype=bool)
        if self.kind == "none":
            return np.ones_like(seen)
        if self.kind == "window":
            seen &= ~np.tri(queries, keys, last - self.number, dtype=bool)
        elif self.kind == "chunk":
            chunks = np.arange(min(last, 0), keys) // self.number
            seen &= chunks[-keys:] == chunks[-queries:, None]
        return seen


def intended_mask(text: str) -> Meant:
    """Return the mask that ``text`` says: none, causal, window=W or chunk=W.

    A window of W holds the query's own key and the W - 1 before it; chunks of W begin at keys 0, W, 2W.
    What follows in brackets says where it was read.

    Raises:
        SettingsError: it is none of them.
    """
    plain = re.sub(r"\(.*\)$", "", text.strip()).strip()
    match = re.fullmatch(r"(none|causal)|(window|chunk)=([0-9]{1,10})", plain)
    if match is None or int(match[3] or 1) not in range(1, _LARGEST):
        raise SettingsError(f"mask {text[:40]!r}: give one of {', '.join(INTENDED_MASKS)}")
    return Meant(match[1] or match[2], int(match[3] or 0))


def configured_mask(module: Any, config: Any) -> str:
    """Return the mask that a module of transformers was meant to have, and in brackets where that was read.

    It is empty where nothing says it. Without ``layer_types`` a ``sliding_window`` holds for all layers.
    """
    if getattr(module, "is_causal", None) is not True:
        return ""

    place, kinds = getattr(module, "layer_idx", None), getattr(config, "layer_types", None)
    window = getattr(module, "sliding_window", None) or getattr(config, "sliding_window", None)
    chunk, name = getattr(config, "attention_chunk_size", None), type(config).__name__
    # Configurations may hold anything; True is no size.
    window, chunk = (size if type(size) is int and 0 < size < _LARGEST else None for size in (window, chunk))
    if isinstance(kinds, list | tuple):
        kind = kinds[place] if isinstance(place, int) and 0 <= place < len(kinds) else ""
        where = f"layer_types[{place}] = {kind} in {name}"
        if kind == "sliding_attention" and window:
            return f"window={window} ({where}, sliding_window = {window})"
        if kind == "chunked_attention" and chunk:
            return f"chunk={chunk} ({where}, attention_chunk_size = {chunk})"
        return f"causal ({where})" if kind == "full_attention" else ""
    if window and getattr(config, "use_sliding_window", True) is not False:
        return f"window={window} (sliding_window = {window} in {name})"
    return ""


class WrongMask(NamedTuple):
    """What is wrong with a mask in words, in how many rows, and whether keys at the end are seen by none."""

    text: str
    rows: int
    is_cut: bool = False


def wrong_mask(formula: Formula, meant: Meant | None, places: Any) -> WrongMask | None:
    """Return the first row of a call that sees other keys than were meant, None where none does.

    ``places`` are the numbers of its sequences. Keys at either end that no query sees are padding, and with
    them the rows of the same tokens. Where there are fewer queries than keys, keys at the end are unwritten
    room of a cache if values there are constant: where the mask is causal they should be seen otherwise,
    whatever else is meant.
    """
    (sequences, _, queries, keys), shown = formula.shape, _shown(formula)
    is_causal = formula.call.causal or (meant is not None and meant.kind != "none")
    written = formula.key if formula.value is None else formula.value
    text, rows = "", 0
    # Of what all sequences or heads share, only the first is compared; values of a cache are each sequence's.
    for sequence, head in np.ndindex(sequences if queries < keys else shown.shape[0], shown.shape[1]):
        seen = shown[sequence % shown.shape[0], head]
        used: Any = seen.any(axis=0)
        last = int(np.flatnonzero(used).max(initial=-1)) + 1 if queries < keys else keys
        if last < keys and is_causal:
            # Keys that differ among themselves were written: they are no empty cache.
            rest = written[sequence, :, last:]
            if (rest != rest[:, :1]).any() or (rest.shape[1] == 1 and (rest != 0).any()):
                cut = f"keys {last} to {keys - 1} are seen by no query of sequence {places[sequence]}"
                return WrongMask(cut, 1, is_cut=True)
        if meant is None:
            continue
        wanted = np.zeros((queries, keys), dtype=bool)
        wanted[:, :last] = meant.visible(queries, last)
        # From the first key that is seen to the last: what lies outside is padding.
        used = np.logical_and(np.maximum.accumulate(used), np.maximum.accumulate(used[::-1])[::-1])
        is_padding = ~seen.any(axis=1) & ~used[np.clip(np.arange(queries) + keys - queries, 0, None)]
        off = (seen != wanted) & used & ~is_padding[:, None]
        rows += int(off.any(axis=1).sum())
        if off.any() and not text:
            row, key = np.argwhere(off)[0].tolist()
            verbs = ("sees", "which it should not"), ("does not see", "although it should")
            does, which = verbs[int(wanted[row, key])]
            text = f"row {row} of sequence {places[sequence]} {does} key {key}, {which}"
    return WrongMask(text + (f"; {rows:,} rows are so" if rows > 1 else ""), rows) if text else None


def described(formula: Formula) -> str:
    """Return the mask of a call's first sequence and head in words: by its name, else what rows see."""
    shown: Any = _shown(formula)[0, 0]
    queries, keys = shown.shape
    if shown.all():
        return "none"
    # Padding is no part of a mask's name: keys that no row sees, and rows of the same tokens.
    used = shown.any(axis=0) & (np.ones(keys, bool) if queries != keys else shown.any(axis=1))
    # The name of a window or chunk has its width, which is that of the row that sees most.
    counts = shown.sum(axis=1)
    widest = max(int(counts.max()), 1)
    for name in ("none", "causal", f"window={widest}", f"chunk={widest}"):
        wanted = intended_mask(name).visible(queries, keys)
        if np.array_equal(shown[:, used], (wanted & shown.any(axis=1)[:, None])[:, used]):
            return name
    return f"rows see {counts.min()} to {counts.max()} of {keys} keys"


def _shown(formula: Formula) -> Any:
    """Return which keys queries see; sequences and heads that share that have length 1."""
    hidden = np.zeros((1,) * 4, bool) if formula.hidden is None else formula.hidden
    return np.broadcast_to(~hidden, (*hidden.shape[:2], *formula.shape[2:]))
