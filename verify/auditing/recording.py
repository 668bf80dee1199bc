"""What an audit reads: attention calls by layer, and whether the arrays of each fit each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from verify.errors import RecordingError
from verify.evidence.audits import Origin
from verify.evidence.texts import Code, Line

FLOATING = ("float16", "bfloat16", "float32", "float64")
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


@lru_cache(maxsize=64)
def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of any library, such as ``"bfloat16"``."""
    return str(dtype).rsplit(".", 1)[-1]


def check_call(call: Call, place: str) -> None:
    """Refuse a call whose arrays do not fit each other; ``place`` says where it comes from.

    Raises:
        RecordingError: an array is empty, of another kind of number, or does not fit the others.
    """
    if problem := next(_problems(call), None):
        raise RecordingError(f"{place}: {problem}")


def _problems(call: Call) -> Iterator[str]:
    """Yield in a line each what does not fit; each may take for granted what comes before it."""
    given = {name: array for name, field in ARRAYS.items() if (array := getattr(call, field)) is not None}
    shapes, sizes = {name: tuple(map(int, array.shape)) for name, array in given.items()}, dict[str, int]()
    for name, shape in shapes.items():
        dtype, wanted = dtype_name(given[name].dtype), f"one of {', '.join(FLOATING)}"
        if name == "mask":
            wanted = "booleans, True where a key may be seen; what is added to scores is bias"
        if dtype not in (("bool",) if name == "mask" else FLOATING):
            yield f"{name} has dtype {dtype}; give {wanted}"
        axes = _AXES.get(name, ())
        if axes and (len(shape) != len(axes) or min(shape) < 1):
            yield f"{name} has {_shown(shape)}; give it as [{', '.join(axes)}], at least 1 of each"
        for place, (axis, size) in enumerate(zip(axes, shape, strict=False)):
            if sizes.setdefault(axis, size) != size:
                yield f"{name} has {_shown(shape)}; give {sizes[axis]} in axis {place} ({axis}) as others do"
    if call.scale == 0:
        yield "scale is 0, with which all keys weigh the same; give the factor of the products"
    for name in ("key head", "value head"):
        if sizes["head"] % sizes.get(name, 1):
            yield f"{name}s are {sizes[name]}, which do not divide the {sizes['head']} of q; give a divisor"
    scores = [sizes[axis] for axis in ("sequence", "head", "query", "key")]
    for name in [name for name in ("mask", "bias") if name in shapes]:
        shape = shapes[name]
        pairs = zip(reversed(shape), reversed(scores), strict=False)
        if len(shape) > len(scores) or any(size not in (1, most) for size, most in pairs):
            yield f"{name} has {_shown(shape)}, the scores {scores}; give a shape that is broadcast to them"


def _shown(shape: Sequence[int]) -> str:
    return f"shape [{', '.join(map(str, shape))}]"
