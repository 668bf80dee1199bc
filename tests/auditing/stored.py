"""Files of recordings as other programs may write them."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from verify.auditing.arrays import packed
from verify.auditing.files import load

if TYPE_CHECKING:
    from pathlib import Path

    from verify.auditing.recording import Call

RNG = np.random.default_rng(1)
SHAPE = (3, 4, 5, 8)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Return a normal array."""
    return RNG.standard_normal(shape or SHAPE).astype(dtype)


def arrays(**other: Any) -> dict[str, Any]:
    """Return q, k, v and out of a call that fit each other, and what else is given."""
    return {name: normal() for name in ("q", "k", "v", "out")} | other


def savez(path: Path, content: dict[str, Any]) -> None:
    """Write an archive whose keys need not be names of arguments."""
    np.savez(path, **content)


def safetensors(path: Path, content: dict[str, tuple[np.ndarray, str]], **texts: str) -> Path:
    """Write a safetensors file of arrays with the names of their dtypes, with texts beside them."""
    whole = packed(content)
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size]) | ({"__metadata__": texts} if texts else {})
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])
    return path


def only_call(path: Path) -> Call:
    """Return the one call of the one layer of a recording."""
    (layer,) = load(path).layers
    (call,) = layer.calls
    return call
