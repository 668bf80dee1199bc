"""A layer that is run through: its calls stacked by shape, and what is kept of every head and sequence."""

import math
import zlib
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
from verify.auditing.rows import Mapper, Residuals, RowMeans, each, hidden_from, room_for, unseen
from verify.auditing.weighting import SOFTMAX, Weighting, weighting

Floats = NDArray[np.float64]


NEAR = 0.25
"""Share of the largest number beyond which products are warned of."""

_BATCH = 1 << 25
"""Bytes of the arrays, and of the covariances made of them, that calls stacked together have at most."""
_BY_SEQUENCE = ("query", "key", "value", "output", "mask", "bias", "documents")
_STRIP = 1 << 20

Spreads = tuple[Any, dict[str, Any]]
"""Places of sequences, and the numbers that those of pairs are made of, by their names."""


class Pairs(NamedTuple):
    """Numbers of two sequences that follow each other, shape (pairs, heads); products have no bias so.

    Of queries and of keys: |μ|²/d, tr Σ/d over all tokens, and (tr Σ)²/(d·tr Σ²) in sequences.
    ``independence`` is the row variance over that of scores with the other sequence's keys.
    """

    query_mean: Floats
    query_variance: Floats
    query_dimension: Floats
    key_mean: Floats
    key_variance: Floats
    key_dimension: Floats
    independence: Floats


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

    ``scale`` is that which explains outputs best, or the declared one, ``implied`` where it is not that.
    ``given`` is the scale of the calls, None where they were given none. ``labels`` are the same for
    sequences of the same vectors.
    """

    places: NDArray[np.intp]
    intended: float
    given: float | None
    queries: int
    keys: int
    d_v: int | None
    dtype: str
    unit: float
    continues: bool
    means: RowMeans
    compared: Residuals | None
    scale: Floats
    implied: NDArray[np.bool_]
    coarse: NDArray[np.intp]
    margins: Margins
    labels: tuple[int, ...]
    has_output: bool
    softcap: float | None
    mask: str
    misseen: list[Misseen | None] | None
    weak_mask: float | None


@dataclass
class Seen:
    """What is kept of a layer's calls: ``batches`` of them, and by head how far the search for causes went.

    ``pairs`` are of sequences that follow each other, in their order.
    """

    heads: int
    meant: Meant | None = None
    weighting: Weighting = SOFTMAX
    batches: list[Batch] = field(default_factory=list)
    progress: list[HeadProgress] = field(default_factory=list)
    pairs: list[Pairs] = field(default_factory=list)
    sequences: int = 0
    calls: int = 0

    def __post_init__(self) -> None:
        self.progress = [HeadProgress() for _ in range(self.heads)]

    def in_order(self, take: Callable[[Batch], Any], *, new: bool = False, compared: bool = False) -> Any:
        """Return an array of all batches, by sequence in the order of the program; None where there is none.

        Taken are those of ``new`` sequences only, or those that were ``compared``, if that is asked for.
        """
        some = [
            one
            for one in self.batches
            if not ((new and one.continues) or (compared and one.compared is None))
        ]
        if not some:
            return None
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

        compared = [one.compared for one in self.batches if one.compared is not None]
        most = max(one.of_columns.shape[-1] for one in compared)

        def of_all(name: str) -> Any:
            def taken(one: Batch) -> Any:
                array = getattr(one.compared, name)
                if name != "of_columns":
                    return array
                # Calls of other types, or widths of values, have another number of columns.
                return np.pad(array, [*([(0, 0)] * 3), (0, most - array.shape[-1])])

            return self.in_order(taken, compared=True)

        return Residuals(*map(of_all, Residuals._fields))

    @cached_property
    def compared_by_head(self) -> list[Residuals | None]:
        """How outputs of each head differ, shape (sequences,)."""
        compared = self.compared
        if compared is None:
            return [None] * self.heads
        arrays = [np.moveaxis(array, 1, 0) for array in compared]
        return [Residuals(*(array[head] for array in arrays)) for head in range(self.heads)]

    @cached_property
    def implied(self) -> Floats:
        """The scales that are not the declared ones, shape (sequences, heads); NaN where they are."""
        found: Floats = self.in_order(lambda one: np.where(one.implied, one.scale, np.nan))
        return found

    @cached_property
    def new_rows(self) -> RowMeans | None:
        """What rows of new sequences are like, shape (sequences, heads); NaN where scores are not finite."""
        if not any(not one.continues for one in self.batches):
            return None

        def of_all(at: int) -> Any:
            return self.in_order(lambda one: one.means[at], new=True)

        found = RowMeans(*map(of_all, range(len(RowMeans._fields))))
        lost = {
            name: np.where(found.finite, getattr(found, name), np.nan)
            for name in ("variance", "between", "entropy", "squares", "jacobian", "largest_weight")
        }
        return found._replace(**lost)

    @cached_property
    def new_pairs(self) -> Pairs | None:
        """The numbers of pairs of new sequences, shape (pairs, heads); None where there is no pair."""
        return Pairs(*map(np.concatenate, zip(*self.pairs, strict=True))) if self.pairs else None

    @cached_property
    def distinct(self) -> NDArray[np.bool_]:
        """Which new sequences are not the same as an earlier one, shape (sequences,)."""
        labels = self.in_order(lambda one: np.array(one.labels, dtype=np.uint64), new=True)
        found = np.zeros(0 if labels is None else len(labels), dtype=bool)
        if labels is not None:
            found[np.unique(labels, return_index=True)[1]] = True
        return found


def run_through(
    calls: Iterable[Call],
    seen: Seen,
    intended: Callable[[int], float],
    check: Callable[[Call], None],
    mapper: Mapper,
) -> None:
    """Keep what calls are like in ``seen``, a batch at a time; ``intended`` is by the number of keys."""
    waiting: list[tuple[int, Call]] = []
    size, pending = 0, None
    for call in calls:
        call = in_memory(call)  # noqa: PLW2901 - the other one is not to be kept
        check(call)
        seen.calls += 1
        for one in _parts(call):
            waiting.append((seen.sequences, one))
            seen.sequences += len(one.query)
            size += _size(one)
            if size >= _BATCH:
                pending = _keep(waiting, seen, intended, mapper, pending)
                waiting, size = [], 0
        del call
    if waiting:
        _keep(waiting, seen, intended, mapper, pending)


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
    sequences, heads, _, d = call.query.shape
    arrays = (getattr(call, name) for name in ARRAYS.values())
    return sum(int(one.nbytes) for one in arrays if one is not None) + 16 * int(sequences * heads * d * d)


def _keep(
    waiting: Sequence[tuple[int, Call]],
    seen: Seen,
    intended: Callable[[int], float],
    mapper: Mapper,
    pending: Spreads | None,
) -> Spreads | None:
    """Keep what some calls are like, and return the last sequence where it has no partner yet."""
    spreads = [] if pending is None else [pending]
    for alike in _by_shape(waiting):
        first, call = alike[0][0], _stacked([one for _, one in alike])
        places = np.concatenate([np.arange(at, at + len(one.query)) for at, one in alike])
        shape = call.query.shape[:2]
        value = intended(int(call.key.shape[2]))
        is_open = seen.meant is not None and seen.meant.kind == "documents" and call.documents is None
        # Rows of a difference of two maps have no scores of their own.
        is_new = not call.continues and weighting(call.weights).maps == 1
        vectors = room_for(call) if is_new else None
        found = Examination(call, value, first, seen.progress, mapper, vectors).run()

        def shaped(array: Any, shape: tuple[int, int] = shape) -> Any:
            return array.reshape(shape + array.shape[1:])

        means = each(found.looked[0], shaped)
        compared = None if found.looked[1] is None else each(found.looked[1], shaped)
        if vectors is not None:
            numbers = {"variance": means.variance, "scale": means.scale, "finite": means.finite}
            spreads.append((places, numbers | each(vectors, shaped)._asdict()))
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
                continues=not is_new,
                means=means,
                compared=compared,
                scale=found.scale.reshape(shape),
                implied=found.implied.reshape(shape),
                coarse=found.coarse.reshape(shape),
                margins=_margins(call),
                labels=_labels(call) if is_new else (),
                has_output=call.output is not None,
                softcap=call.softcap,
                mask=described(call),
                misseen=None if seen.meant is None or is_open else misseen(call, seen.meant, places),
                weak_mask=weak_mask(call),
            )
        )
    return _pair(spreads, seen)


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
    return (sizes, call.causal, call.scale, call.softcap, call.weights, call.dtype, call.continues, sink)


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


def _pair(spreads: Sequence[Spreads], seen: Seen) -> Spreads | None:
    """Keep the numbers of pairs, and return the sequence that is left over."""
    if not spreads:
        return None
    places = np.concatenate([places for places, _ in spreads])
    order = np.argsort(places)
    arrays = {name: [numbers[name] for _, numbers in spreads] for name in spreads[0][1]}
    for name in ("of_query", "of_key"):
        arrays[name] = _of_one_size(arrays[name])
    whole = {name: some[0] if len(some) == 1 else np.concatenate(some) for name, some in arrays.items()}
    even = len(places) - len(places) % 2
    if even:
        is_in_order = bool(np.all(order[:-1] < order[1:]))
        at = (slice(start, even, 2) if is_in_order else order[start:even:2] for start in (0, 1))
        sides = ({name: array[one] for name, array in whole.items()} for one in at)
        with np.errstate(all="ignore"):
            seen.pairs.append(_numbers(*sides))
    if even == len(places):
        return None
    return places[order[even:]], {name: array[order[even:]] for name, array in whole.items()}


def _of_one_size(spreads: list[Floats]) -> list[Floats]:
    """Return spreads in one shape: as covariances, or where all are smaller, with rows of 0 added."""
    most, d = max(one.shape[-2] for one in spreads), spreads[0].shape[-1]
    if most == d:
        return [one if _is_whole(one) else one.mT @ one for one in spreads]
    return [
        np.pad(one, ((0, 0), (0, 0), (0, missing), (0, 0))) if missing else one
        for one in spreads
        for missing in (most - one.shape[-2],)
    ]


def _numbers(one: dict[str, Floats], other: dict[str, Floats]) -> Pairs:
    found: dict[str, Floats] = {}
    for side, many in (("query", "queries"), ("key", "keys")):
        means, spreads = ([both[name] for both in (one, other)] for name in (side, f"of_{side}"))
        d = means[0].shape[-1]
        traces = [_trace(spread) for spread in spreads]
        square = sum(
            trace * (1 - 1 / both[many]) + np.vecdot(mean, mean)
            for trace, mean, both in zip(traces, means, (one, other), strict=True)
        )
        found[f"{side}_mean"] = np.vecdot(*means) / d
        found[f"{side}_variance"] = square / (2 * d) - found[f"{side}_mean"]
        found[f"{side}_dimension"] = traces[0] * traces[1] / (d * _inner(*spreads))
    crossed = (_crossed(one, other) + _crossed(other, one)) / 2
    found["independence"] = (one["variance"] + other["variance"]) / 2 / crossed
    is_finite = np.logical_and(one["finite"], other["finite"])
    return Pairs(**{name: np.where(is_finite, array, np.nan) for name, array in found.items()})


def _crossed(one: dict[str, Floats], other: dict[str, Floats]) -> Floats:
    """Return c²·tr(S_q Σ_k): S_q of all queries of a sequence, about 0, and Σ_k of the other's keys."""
    query, of_query, of_key = one["query"], one["of_query"], other["of_key"]
    turned = (of_key @ query[..., None])[..., 0]
    along = np.vecdot(query, turned) if _is_whole(of_key) else np.vecdot(turned, turned)
    found: Floats = (1 - 1 / one["queries"]) * _inner(of_query, of_key) + along
    return one["scale"] ** 2 * found


def _is_whole(spread: Floats) -> bool:
    return bool(spread.shape[-2] == spread.shape[-1])


def _trace(spread: Floats) -> Floats:
    """Return the trace of covariances."""
    found: Floats = (
        np.trace(spread, axis1=-2, axis2=-1) if _is_whole(spread) else _products_of(spread, spread)
    )
    return found


def _products_of(one: Floats, other: Floats) -> Floats:
    """Return the sum of products of the elements of matrices."""
    flat = (*one.shape[:-2], -1)
    found: Floats = np.vecdot(one.reshape(flat), other.reshape(flat))
    return found


def _inner(one: Floats, other: Floats) -> Floats:
    """Return tr(ΣΣ') of covariances."""
    if _is_whole(one) and _is_whole(other):
        return _products_of(one, other)
    if _is_whole(one) or _is_whole(other):
        whole, part = (one, other) if _is_whole(one) else (other, one)
        return _products_of(part @ whole, part)
    crossed = one @ other.mT
    return _products_of(crossed, crossed)


def _labels(call: Call) -> tuple[int, ...]:
    """Return a checksum of each sequence's queries and keys, without padding."""
    sequences, heads = call.query.shape[:2]
    blocks = heads * np.arange(sequences)
    padding, _ = unseen(call, blocks)
    found = []
    for place in range(sequences):
        label = 0
        for array in (call.query, call.key):
            part = array[place]
            if padding is not None:
                part = part[:, ~padding[place % len(padding)]]
            # NumPy's other floating types are no buffers.
            label = label << 32 | zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, part.shape[1])
        found.append(label)
    return tuple(found)


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
    width = int(call.query.shape[3]) // weighting(call.weights).maps
    bound = width * largest["queries"] * largest["keys"] / limit
    with np.errstate(all="ignore"):
        one = np.vecdot(to_numpy(call.query[:, :, 0, :width]), to_numpy(call.key[:, shared, 0, :width]))
    share = np.abs(np.nan_to_num(one, posinf=0, neginf=0)) / limit
    for sequence, head in zip(*np.nonzero(~(bound <= NEAR)), strict=True):
        of_maps = [
            _products(query, key, limit)
            for query, key in zip(
                *(
                    np.split(np.nan_to_num(to_numpy(one), posinf=0, neginf=0), len(one[0]) // width, axis=1)
                    for one in (call.query[sequence, head], call.key[sequence, shared[head]])
                ),
                strict=True,
            )
        ]
        share[sequence, head], bound[sequence, head] = np.max(of_maps, axis=0)
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
