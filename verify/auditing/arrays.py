"""Arrays of any library as NumPy's, and how their dtypes round."""

from dataclasses import replace
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from verify.auditing.recording import ARRAYS, Array, Call, dtype_name

Floats = NDArray[np.float64]

LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": float(np.finfo(np.float32).max),
    "float64": float(np.finfo(np.float64).max),
}
"""The largest finite number of each dtype."""

GRAINS = {"float16": 2.0**-25, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 0.0}
"""The largest error of rounding near 0; programs may flush numbers below the least normal number to 0."""

_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_FEWEST = 16  # numbers from which on the digits that all of them lack are no chance


def as_stored(array: Array, dtype: str = "") -> np.ndarray:
    """Return an array of NumPy, PyTorch, JAX or alike as a contiguous NumPy array, in its own dtype.

    ``dtype`` is the call's, where the array is stored in a wider type.
    """
    if hasattr(array, "detach"):
        tensor = array.detach().cpu()
        # PyTorch hands no bfloat16 to NumPy; single precision has the same numbers.
        is_half = dtype_name(tensor.dtype) == "bfloat16"
        array = tensor.float().numpy().astype(bfloat16) if is_half else tensor.numpy()
    plain = np.ascontiguousarray(np.asarray(array))
    return plain.astype(dtype) if dtype and plain.dtype.kind == "f" else plain


def in_memory(call: Call) -> Call:
    """Return a call with NumPy's arrays, wherever they were; ``dtype`` says what was computed in."""
    given = {name: getattr(call, name) for name in ARRAYS.values()}
    stored: dict[str, Any] = {name: as_stored(a) for name, a in given.items() if a is not None}
    return replace(call, dtype=dtype_of(call), **stored)


def to_numpy(array: Array) -> Any:
    """Return an array of NumPy, PyTorch or JAX, wherever it is, as NumPy's in float64; bfloat16 included."""
    return as_stored(array).astype(np.float64)


def dtype_of(call: Call) -> str:
    """Return the name of the dtype that the program computed a call in, such as ``"bfloat16"``."""
    return call.dtype or dtype_name(call.query.dtype)


def _dtypes(call: Call) -> set[str]:
    arrays = (call.query, call.key, call.value, call.output)
    return {dtype_of(call), *(dtype_name(array.dtype) for array in arrays if array is not None)}


def unit_of(call: Call) -> float:
    """Return the relative error of one rounding in the coarsest type that a call declares for its arrays.

    It follows what is declared, not what the numbers happen to fit: 2^-24 for float32, 2^-8 for bfloat16.
    """
    return 2.0 ** -min(_DIGITS.get(name, 53) for name in _dtypes(call))


def grain_of(call: Call) -> float:
    """Return the largest error of rounding numbers near 0 to the coarsest type that a call declares."""
    return max(GRAINS.get(name, 0.0) for name in _dtypes(call))


def unit_roundoff(values: Floats) -> float:
    """Return the relative error of a rounding to the coarsest type whose numbers all ``values`` are.

    They went through that type, whatever now holds them.
    """
    digits, numbers = 53, values[np.isfinite(values) & (values != 0)]
    if numbers.size >= _FEWEST:
        # The binary digits that any mantissa has: what all of them lack was rounded off.
        mantissas = (np.abs(np.frexp(numbers)[0]) * 2.0**53).astype(np.int64)
        used = int(np.bitwise_or.reduce(mantissas, axis=None))
        digits = 54 - (used & -used).bit_length()
    return 2.0 ** -min(stored for stored in _DIGITS.values() if stored >= digits)
