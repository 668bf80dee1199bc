"""What an audit reads: attention calls by layer, their arrays of any library, and how their dtypes round."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from verify.errors import RecordingError
from verify.evidence.audits import Origin
from verify.evidence.texts import Code, Line

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""The binary digits of each dtype."""

LARGEST = {name: float(ml_dtypes.finfo(name).max) for name in DIGITS}
"""The largest finite number of each dtype."""

GRAINS = {"float16": 2.0**-25, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 0.0}
"""The largest error of rounding near 0; programs may flush numbers below the least normal number to 0."""

_FEWEST = 16  # numbers from which on the digits that all of them lack are no chance

ARRAYS = {
    "q": "query",
    "k": "key",
    "v": "value",
    "out": "output",
    "mask": "mask",
    "bias": "bias",
    "sink": "sink",
    "x": "input",
}
"""The arrays of a call by their keys in a file."""
_AXES: dict[str, tuple[str, ...]] = {
    "q": ("sequence", "head", "query", "d"),
    "k": ("sequence", "key head", "key", "d"),
    "v": ("sequence", "value head", "key", "d of values"),
    "out": ("sequence", "head", "query", "d of values"),
    "sink": ("head",),
}
"""Axes of arrays; those of one name have one length."""


Array = Any
"""An array of any library that keeps to the array API standard; files give NumPy's."""


@dataclass(frozen=True)
class Intended:
    """The scale that was meant: an expression in d, h, D and n, and who said so.

    ``where`` names the place in words, such as a key of the model's configuration.
    """

    expression: Code
    origin: Origin
    where: Line = ""


@dataclass(frozen=True)
class Call:
    """One attention call: what it was given and gave back, arrays of shape [sequence, head, token, d].

    ``key`` and ``value`` may have fewer heads than ``query``, a divisor of their number. ``mask`` is boolean,
    True where a key may be seen, and ``bias`` is added to the scaled scores; both are broadcast to
    [sequence, head, query, key]. ``causal`` stands for the mask of PyTorch's ``is_causal``, aligned at the
    first token. ``scale`` is the factor that the call was given, None where it was given none. ``softcap`` c
    turns a score s into c·tanh(s/c), before bias and mask. ``sink`` is one score a head that takes part in
    the softmax's sum alone. ``input`` is the first tensor that the layer's module was given, in its own
    shape. ``dtype`` names what the program computed in where the arrays are stored in a wider type, as
    bfloat16 is in NumPy's float32; it is empty where they have their own.
    """

    query: Array
    key: Array
    value: Array | None = None
    output: Array | None = None
    mask: Array | None = None
    bias: Array | None = None
    causal: bool = False
    scale: float | None = None
    softcap: float | None = None
    sink: Array | None = None
    input: Array | None = None
    dtype: str = ""

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays that there are, by their keys in a file."""
        return {key: array for key, name in ARRAYS.items() if (array := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Layer:
    """The calls of one layer by its name in the model; ``calls`` may be read from files as it is run through.

    ``width`` is the model's, D, where it is known; ``backend`` says what computed the attention. ``padded``
    are widths, by a word, that this layer might have taken for d_k, such as a head padded or absorbed.
    ``mask`` is the mask that was meant, as `verify.audit` takes it.
    """

    name: str
    calls: Iterable[Call]
    intended: Intended | None = None
    width: int | None = None
    backend: str = ""
    padded: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    mask: str = ""


@dataclass(frozen=True)
class Recording:
    """All layers of a program that were seen; ``left_out`` says what was not, and why."""

    source: str
    layers: Sequence[Layer]
    left_out: Sequence[str] = ()


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of any library, such as ``"bfloat16"``."""
    return str(dtype).rsplit(".", 1)[-1]


def dtype_of(call: Call) -> str:
    """Return the name of the dtype that the program computed a call in, such as ``"bfloat16"``."""
    return call.dtype or dtype_name(call.query.dtype)


def declared_dtypes(call: Call) -> set[str]:
    """Return the names of all dtypes that a call declares for its arrays."""
    arrays = (call.query, call.key, call.value, call.output)
    return {dtype_of(call), *(dtype_name(array.dtype) for array in arrays if array is not None)}


def unit_of(call: Call) -> float:
    """Return the relative error of one rounding in the coarsest type that a call declares for its arrays.

    It follows what is declared, not what the numbers happen to fit: 2^-24 for float32, 2^-8 for bfloat16.
    """
    return 2.0 ** -min(DIGITS.get(name, 53) for name in declared_dtypes(call))


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
    return 2.0 ** -min(stored for stored in DIGITS.values() if stored >= digits)


def as_stored(array: Array, dtype: str = "") -> np.ndarray:
    """Return an array of NumPy, PyTorch, JAX or alike as a contiguous NumPy array, in its own dtype.

    ``dtype`` is the call's, where the array is stored in a wider type.
    """
    if hasattr(array, "detach"):
        tensor = array.detach().cpu()
        # PyTorch hands no bfloat16 to NumPy; single precision has the same numbers.
        is_half = dtype_name(tensor.dtype) == "bfloat16"
        array = tensor.float().numpy().astype(ml_dtypes.bfloat16) if is_half else tensor.numpy()
    plain = np.ascontiguousarray(np.asarray(array))
    return plain.astype(dtype) if dtype and plain.dtype.kind == "f" else plain


def to_numpy(array: Array) -> Any:
    """Return an array of any library, wherever it is, as NumPy's in float64; bfloat16 included."""
    return as_stored(array).astype(np.float64)


def in_memory(call: Call) -> Call:
    """Return a call with NumPy's arrays, wherever they were; ``dtype`` says what was computed in."""
    stored: dict[str, Any] = {ARRAYS[key]: as_stored(array) for key, array in call.arrays.items()}
    return replace(call, dtype=dtype_of(call), **stored)


def check_call(call: Call, place: str) -> None:
    """Refuse a call whose arrays do not fit each other; ``place`` says where it comes from.

    Raises:
        RecordingError: an array is empty, of another kind of number, or does not fit the others.
    """
    if problem := next(_problems(call), None):
        raise RecordingError(f"{place}: {problem}")


def _problems(call: Call) -> Iterator[str]:
    """Yield in a line each what does not fit; each may take for granted what comes before it."""
    shapes, sizes = dict[str, tuple[int, ...]](), dict[str, int]()
    for name, array in call.arrays.items():
        shape = shapes[name] = tuple(map(int, array.shape))
        dtype, wanted = dtype_name(array.dtype), f"one of {', '.join(DIGITS)}"
        if name == "mask":
            wanted = "booleans, True where a key may be seen; what is added to scores is bias"
        if dtype not in (("bool",) if name == "mask" else DIGITS):
            yield f"{name} has dtype {dtype}; give {wanted}"
        axes, given_as = _AXES.get(name, ()), f"{name} has shape {list(shape)}"
        if axes and (len(shape) != len(axes) or min(shape) < 1):
            yield f"{given_as}; give it as [{', '.join(axes)}], at least 1 of each"
        for place, (axis, size) in enumerate(zip(axes, shape, strict=False)):
            if sizes.setdefault(axis, size) != size:
                yield f"{given_as}; give {sizes[axis]} in axis {place} ({axis}) as others do"
    if call.scale == 0:
        yield "scale is 0, with which all keys weigh the same; give the factor of the products"
    for name in ("key head", "value head"):
        if sizes["head"] % sizes.get(name, 1):
            yield f"{name}s are {sizes[name]}, which do not divide the {sizes['head']} of q; give a divisor"
    scores = [sizes[axis] for axis in ("sequence", "head", "query", "key")]
    for name in [name for name in ("mask", "bias") if name in shapes]:
        shape, wanted = shapes[name], "give a shape that is broadcast to them"
        pairs = zip(reversed(shape), reversed(scores), strict=False)
        if len(shape) > len(scores) or any(size not in (1, most) for size, most in pairs):
            yield f"{name} has shape {list(shape)}, the scores {scores}; {wanted}"
