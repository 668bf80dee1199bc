"""Whether the arrays of an attention call fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from verify.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.auditing.recording import Call

FLOATING = ("float16", "bfloat16", "float32", "float64")
ARRAYS = {
    "q": "query",
    "k": "key",
    "v": "value",
    "out": "output",
    "mask": "mask",
    "bias": "bias",
    "sink": "sink",
}
"""The arrays of a call by their keys in a file."""
_AXES = ("sequence", "head", "token", "d")


class Described(NamedTuple):
    """What is known of an array before it is read: shape and name of its dtype."""

    shape: tuple[int, ...]
    dtype: str


def check_call(call: Call, place: str) -> None:
    """Refuse a call whose arrays do not fit each other; ``place`` says where it comes from.

    Raises:
        RecordingError: as `check_shapes`.
    """
    given = {name: getattr(call, field) for name, field in ARRAYS.items()}
    check_shapes({name: _described(array) for name, array in given.items() if array is not None}, place)


def check_shapes(arrays: Mapping[str, Described], place: str) -> None:
    """Refuse arrays, by their keys in a file, that are not those of one attention call.

    Raises:
        RecordingError: one is missing, empty, of another kind of number, or does not fit the others.
    """
    for name in ("q", "k"):
        if name not in arrays:
            raise RecordingError(f"{place}: has no {name}; give q and k at least")
    for name, array in arrays.items():
        _check_dtype(name, array, place)
        if name in ("q", "k", "v", "out"):
            _check_axes(name, array.shape, place)
    _check_heads(arrays, place)
    _check_lengths(arrays, place)
    (sequences, heads, queries, _), keys = arrays["q"].shape, arrays["k"].shape[2]
    for name in ("mask", "bias"):
        if name in arrays:
            _check_broadcast(name, arrays[name].shape, (sequences, heads, queries, keys), place)
    if "sink" in arrays and arrays["sink"].shape != (heads,):
        raise RecordingError(
            f"{place}: sink has shape {_shown(arrays['sink'].shape)}; give [{heads}], one a head"
        )


def _described(array: Any) -> Described:
    return Described(tuple(map(int, array.shape)), str(array.dtype).rsplit(".", 1)[-1])


def _shown(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _check_dtype(name: str, array: Described, place: str) -> None:
    if name == "mask":
        if array.dtype != "bool":
            raise RecordingError(
                f"{place}: mask has dtype {array.dtype}; give booleans, True where a key may be seen, "
                "and what is added to the scores as bias"
            )
    elif array.dtype not in FLOATING:
        raise RecordingError(f"{place}: {name} has dtype {array.dtype}; give one of {', '.join(FLOATING)}")


def _check_axes(name: str, shape: Sequence[int], place: str) -> None:
    wanted = f"[{', '.join(_AXES)}]"
    if len(shape) != len(_AXES):
        raise RecordingError(f"{place}: {name} has shape {_shown(shape)}; give it as {wanted}")
    for axis, size in zip(_AXES, shape, strict=True):
        if size == 0:
            what = "d = 0" if axis == "d" else f"no {axis}s"
            raise RecordingError(
                f"{place}: {name} has {what}, its shape is {_shown(shape)}; give one at least"
            )


def _check_heads(arrays: Mapping[str, Described], place: str) -> None:
    heads = arrays["q"].shape[1]
    for name in ("k", "v"):
        if name in arrays and heads % arrays[name].shape[1]:
            raise RecordingError(
                f"{place}: {name} has {arrays[name].shape[1]} heads, which do not divide q's {heads}; "
                f"give as many as q, or a divisor of {heads}"
            )


def _check_lengths(arrays: Mapping[str, Described], place: str) -> None:
    """Refuse arrays that differ along an axis they share."""
    shared = [
        ("k", 0, "q", 0),
        ("k", 3, "q", 3),
        ("v", 0, "q", 0),
        ("v", 2, "k", 2),
        ("out", 0, "q", 0),
        ("out", 1, "q", 1),
        ("out", 2, "q", 2),
        ("out", 3, "v", 3),
    ]
    for name, axis, other, other_axis in shared:
        if name not in arrays or other not in arrays:
            continue
        one, wanted = arrays[name].shape, arrays[other].shape
        if one[axis] != wanted[other_axis]:
            raise RecordingError(
                f"{place}: {name} has shape {_shown(one)} and {other} {_shown(wanted)}, which differ in axis "
                f"{axis} ({_AXES[axis]}); give {wanted[other_axis]} there"
            )


def _check_broadcast(name: str, shape: Sequence[int], scores: Sequence[int], place: str) -> None:
    fits = len(shape) <= len(scores) and all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(scores), strict=False)
    )
    if not fits:
        raise RecordingError(
            f"{place}: {name} has shape {_shown(shape)}, the scores {_shown(scores)}; "
            "give a shape that is broadcast to them"
        )
