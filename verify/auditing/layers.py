"""A layer that is run through: its calls stacked by shape, and what is kept of every head and sequence."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.auditing.arrays import LARGEST, dtype_of, in_memory, to_numpy, unit_of
from verify.auditing.masks import Meant, Misseen, described, misseen, weak_mask
from verify.auditing.reconstruction import Examination, HeadProgress
from verify.auditing.recording import ARRAYS, Call
from verify.auditing.rows import Mapper, Residuals, RowCounts, each, hidden_from

Floats = NDArray[np.float64]


NEAR = 0.25
"""Share of the largest number beyond which products are warned of."""

_BATCH = 1 << 25
"""Bytes of the arrays that calls stacked together have at most."""
_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias", "documents")
_STRIP = 1 << 20


class Margins(NamedTuple):
    """Shape (sequences, heads): the largest |q·k| seen and what none exceeds, over the type's largest number.

    ``lost`` counts numbers that are NaN or infinite by the names of the arrays, ``blind`` rows of the output
    that are so for want of a key.
    """

    share: Floats
    bound: Floats
    queries: NDArray[np.intp]
    keys: NDArray[np.intp]
    values: NDArray[np.intp]
    outputs: NDArray[np.intp]
    blind: NDArray[np.intp]


class Batch(NamedTuple):
    """What is kept of calls of one shape: arrays of shape (sequences, heads), in the order of ``places``.

    ``scale`` is that which explains outputs best, or the declared one.
    ``given`` is the scale of the calls, None where they were given none.
    """

    places: NDArray[np.intp]
    intended: float
    given: float | None
    queries: int
    keys: int
    d_v: int | None
    dtype: str
    unit: float
    counts: RowCounts
    compared: Residuals | None
    scale: Floats
    coarse: NDArray[np.intp]
    margins: Margins
    has_output: bool
    softcap: float | None
    mask: str
    misseen: list[Misseen | None] | None
    weak_mask: float | None


@dataclass
class Seen:
    """What is kept of a layer's calls: ``batches`` of them, and by head how far a search for causes went."""

    heads: int
    meant: Meant | None = None
    batches: list[Batch] = field(default_factory=list)
    progress: list[HeadProgress] = field(default_factory=list)
    sequences: int = 0
    calls: int = 0

    def __post_init__(self) -> None:
        self.progress = [HeadProgress() for _ in range(self.heads)]

    def in_order(self, take: Callable[[Batch], Any]) -> Any:
        """Return an array of the batches that were compared, by sequence in the order of the program."""
        some = [one for one in self.batches if one.compared is not None]
        order = np.argsort(np.concatenate([one.places for one in some]), kind="stable")
        return np.concatenate([np.asarray(take(one)) for one in some])[order]

    @property
    def unit(self) -> float:
        """The largest relative error of one rounding in what batches were declared to be stored in."""
        return max(one.unit for one in self.batches)

    @cached_property
    def compared(self) -> Residuals | None:
        """How outputs differ, shape (sequences, heads); None where no call had values and output."""
        if all(one.compared is None for one in self.batches):
            return None

        def of_all(name: str) -> Any:
            return self.in_order(lambda one: getattr(one.compared, name))

        return Residuals(*map(of_all, Residuals._fields))

    @cached_property
    def compared_by_head(self) -> list[Residuals | None]:
        """How outputs of each head differ, shape (sequences,)."""
        compared = self.compared
        if compared is None:
            return [None] * self.heads
        arrays = [np.moveaxis(array, 1, 0) for array in compared]
        return [Residuals(*(array[head] for array in arrays)) for head in range(self.heads)]


def run_through(
    calls: Iterable[Call],
    seen: Seen,
    intended: Callable[[int], float],
    check: Callable[[Call], None],
    mapper: Mapper,
) -> None:
    """Keep what calls are like in ``seen``, a batch at a time; ``intended`` is by the number of keys."""
    waiting: list[tuple[int, Call]] = []
    size = 0
    for call in calls:
        call = in_memory(call)  # noqa: PLW2901 - the other one is not to be kept
        check(call)
        seen.calls += 1
        for one in _parts(call):
            waiting.append((seen.sequences, one))
            seen.sequences += len(one.query)
            size += _size(one)
            if size >= _BATCH:
                _keep(waiting, seen, intended, mapper)
                waiting, size = [], 0
        del call
    if waiting:
        _keep(waiting, seen, intended, mapper)


def _parts(call: Call) -> Iterator[Call]:
    """Yield a call in parts that are not too large, by its sequences."""
    sequences = len(call.query)
    # Rounded up, so that a part is a batch, which is not copied.
    step = -(-_BATCH * sequences // _size(call))
    if step >= sequences:
        yield call
        return
    given = {name: one for name in _BY_SEQUENCE if (one := getattr(call, name)) is not None}
    split = {
        name: one
        for name, one in given.items()
        if name == "documents" or (one.ndim == 4 and len(one) == sequences)
    }
    for start in range(0, sequences, step):
        yield replace(call, **{name: one[start : start + step] for name, one in split.items()})


def _size(call: Call) -> int:
    arrays = (getattr(call, name) for name in ARRAYS.values())
    return sum(int(one.nbytes) for one in arrays if one is not None)


def _keep(
    waiting: Sequence[tuple[int, Call]], seen: Seen, intended: Callable[[int], float], mapper: Mapper
) -> None:
    """Keep what some calls are like."""
    for alike in _by_shape(waiting):
        first, call = alike[0][0], _stacked([one for _, one in alike])
        places = np.concatenate([np.arange(at, at + len(one.query)) for at, one in alike])
        shape = call.query.shape[:2]
        value = intended(int(call.key.shape[2]))
        is_open = seen.meant is not None and seen.meant.kind == "documents" and call.documents is None
        found = Examination(call, value, first, seen.progress, mapper).run()

        def shaped(array: Any, shape: tuple[int, int] = shape) -> Any:
            return array.reshape(shape + array.shape[1:])

        seen.batches.append(
            Batch(
                places=places,
                intended=value,
                given=call.scale,
                queries=int(call.query.shape[2]),
                keys=int(call.key.shape[2]),
                d_v=None if call.value is None else int(call.value.shape[3]),
                dtype=dtype_of(call),
                unit=unit_of(call),
                counts=each(found.looked[0], shaped),
                compared=None if found.looked[1] is None else each(found.looked[1], shaped),
                scale=found.scale.reshape(shape),
                coarse=found.coarse.reshape(shape),
                margins=_margins(call),
                has_output=call.output is not None,
                softcap=call.softcap,
                mask=described(call),
                misseen=None if seen.meant is None or is_open else misseen(call, seen.meant, places),
                weak_mask=weak_mask(call),
            )
        )


def _by_shape(waiting: Sequence[tuple[int, Call]]) -> Iterator[list[tuple[int, Call]]]:
    alike: dict[Any, list[tuple[int, Call]]] = {}
    for one in waiting:
        alike.setdefault(_shape(one[1]), []).append(one)
    yield from alike.values()


def _shape(call: Call) -> tuple[Any, ...]:
    """Return what calls that are stacked have in common."""
    arrays = [getattr(call, name) for name in ARRAYS.values()]
    sizes = tuple(None if one is None else (one.shape[1:], one.ndim, one.dtype) for one in arrays)
    sink = None if call.sink is None else call.sink.tobytes()
    return (sizes, call.causal, call.scale, call.softcap, call.dtype, sink)


def _stacked(calls: Sequence[Call]) -> Call:
    if len(calls) == 1:
        return calls[0]
    joined: dict[str, Any] = {}
    for name in _BY_SEQUENCE:
        arrays = [getattr(one, name) for one in calls]
        if arrays[0] is not None:
            four = [
                one if name == "documents" else one.reshape((1,) * (4 - one.ndim) + one.shape)
                for one in arrays
            ]
            whole = [
                np.broadcast_to(one, (len(call.query), *one.shape[1:]))
                for one, call in zip(four, calls, strict=True)
            ]
            joined[name] = np.concatenate(whole)
    return replace(calls[0], **joined)


def _margins(call: Call) -> Margins:
    """Return how near products come to overflow, and how many numbers are none.

    |q·k| is at most d times the largest components of both, and at most |q||k|: this settles all but half
    precision. Only near its limit all pairs are computed.
    """
    limit = LARGEST.get(dtype_of(call), LARGEST["float64"])
    shape = call.query.shape[:2]
    heads = int(shape[1])
    shared = np.arange(heads) // (heads // call.key.shape[1])
    arrays = {"queries": call.query, "keys": call.key, "values": call.value, "outputs": call.output}
    lost = {name: np.zeros(shape, dtype=np.intp) for name in arrays}
    blind, largest = np.zeros(shape, dtype=np.intp), {}
    for name, array in arrays.items():
        if array is None:
            continue
        of_head = shared if name in ("keys", "values") else np.arange(heads)
        flat = array.reshape(*array.shape[:2], -1)
        with np.errstate(all="ignore"):
            sizes = np.maximum(flat.max(axis=2), -flat.min(axis=2)).astype(np.float64)
        largest[name] = np.where(np.isfinite(sizes), sizes, math.inf)[:, of_head]
        for sequence, own in zip(*np.nonzero(~np.isfinite(sizes)), strict=True):
            wrong = ~np.isfinite(to_numpy(array[sequence, own]))
            if name == "outputs":
                hidden, _ = hidden_from(
                    call, np.array([sequence * heads + own]), slice(0, len(wrong)), int(call.key.shape[2])
                )
                sees = (
                    np.ones(len(wrong), bool)
                    if hidden is None
                    else np.broadcast_to(~hidden.all(axis=-1), (1, len(wrong)))[0]
                )
                blind[sequence, own] = (wrong.any(axis=1) & ~sees).sum()
                lost[name][sequence, own] = wrong[sees].sum()
            else:
                lost[name][sequence][of_head == own] = wrong.sum()
    bound = int(call.query.shape[3]) * largest["queries"] * largest["keys"] / limit
    with np.errstate(all="ignore"):
        one = np.vecdot(to_numpy(call.query[:, :, 0]), to_numpy(call.key[:, shared, 0]))
    share = np.abs(np.nan_to_num(one, posinf=0, neginf=0)) / limit
    for sequence, head in zip(*np.nonzero(~(bound <= NEAR)), strict=True):
        query, key = (
            np.nan_to_num(to_numpy(one), posinf=0, neginf=0)
            for one in (call.query[sequence, head], call.key[sequence, shared[head]])
        )
        share[sequence, head], bound[sequence, head] = _products(query, key, limit)
    return Margins(np.minimum(share, bound), bound, **lost, blind=blind)


def _products(query: Floats, key: Floats, limit: float) -> tuple[float, float]:
    """Return the largest |q·k| seen of vectors, and what none exceeds, over ``limit``."""
    bound = math.prod(float(np.linalg.norm(one, axis=1).max()) for one in (query, key)) / limit
    if bound <= NEAR:
        return abs(float(query[0] @ key[0])) / limit, bound
    strip = max(1, _STRIP // len(key))
    parts = (query[start : start + strip] @ key.T for start in range(0, len(query), strip))
    exact = max(float(np.abs(part).max()) for part in parts) / limit
    return exact, exact
