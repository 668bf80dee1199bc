"""Arrays of any library as NumPy's, and bfloat16, which NumPy lacks, as what it is: half of a float32."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_jax_array, is_numpy_array, is_torch_array

from verify.auditing.shapes import ARRAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.auditing.recording import Array, Call

HALF = "bfloat16"
SAFE_TYPES = {
    "BOOL": "bool",
    "F16": "float16",
    "BF16": HALF,
    "F32": "float32",
    "F64": "float64",
    "I64": "int64",
    "I32": "int32",
    "U8": "uint8",
}
"""The dtypes of safetensors that are read, and their names in NumPy."""
_SAFE_NAMES = {name: safe for safe, name in SAFE_TYPES.items()}


def widened(bits: np.ndarray) -> np.ndarray:
    """Return in float32 what the 16 ``bits`` of bfloat16 stand for, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return the 16 bits of bfloat16 of float32 values; those that have more are cut short."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def as_stored(array: Array, dtype: str = "") -> tuple[np.ndarray, str]:
    """Return an array of NumPy, PyTorch, JAX or alike as one of NumPy, and the name of its dtype in a file.

    bfloat16 comes as its bits. ``dtype`` is the call's, where the array is kept in a wider type.
    """
    if hasattr(array, "detach"):
        return _of_torch(array)
    plain = np.ascontiguousarray(np.asarray(array))
    if plain.dtype.name == HALF:
        return plain.view(np.uint16), HALF
    if dtype == HALF and plain.dtype == np.float32:
        return narrowed(plain), HALF
    if dtype and plain.dtype.kind == "f":
        plain = plain.astype(dtype)
    return plain, plain.dtype.name


def in_memory(call: Call) -> Call:
    """Return a call with NumPy's arrays, where all of it lies in the processor's memory; others as they are.

    There NumPy is as fast as anything, in threads of ours. bfloat16 is widened; what does not lie in order
    is copied; ``dtype`` says what was computed in.
    """
    given = {name: getattr(call, name) for name in ARRAYS.values() if getattr(call, name) is not None}
    if not all(map(_is_near, given.values())):
        return call
    viewed: dict[str, Any] = {name: _viewed(array) for name, array in given.items()}
    return replace(call, dtype=dtype_of(call), **viewed)


def _is_near(array: Array) -> bool:
    if is_torch_array(array):
        return bool(array.device.type == "cpu")
    if is_jax_array(array):
        return all(device.platform == "cpu" for device in array.devices())
    return is_numpy_array(array)


def _viewed(array: Array) -> np.ndarray:
    values, dtype = as_stored(array)
    return widened(values) if dtype == HALF else values


def packed(content: Mapping[str, tuple[np.ndarray, str]]) -> bytes:
    """Return the bytes of a safetensors file of arrays with the names of their dtypes.

    The format is https://github.com/huggingface/safetensors#format; its library's writer lacks bfloat16
    for NumPy.
    """
    header, first = {}, 0
    for name, (array, dtype) in content.items():
        last = first + array.nbytes
        header[name] = {"dtype": _SAFE_NAMES[dtype], "shape": array.shape, "data_offsets": (first, last)}
        first = last
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(one.tobytes() for one, _ in content.values())])


def dtype_of(call: Call) -> str:
    """Return the name of the dtype that the program computed a call in, such as ``"bfloat16"``."""
    return call.dtype or str(call.query.dtype).rsplit(".", 1)[-1]


def _of_torch(tensor: Any) -> tuple[np.ndarray, str]:
    torch = sys.modules["torch"]
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(np.uint16), HALF
    values = plain.numpy()
    return values, values.dtype.name
