"""What queries and keys were multiplied by before an attention call, followed through PyTorch's functions.

A factor is followed through functions that commute with it: those that move numbers, sums of what has the
same factor, and products. A normalisation ends it. Through anything else it is lost, and that is said; so is
a result of a function that is not known, unless a learned projection comes after it. What queries, keys and
values have in common is their input's. Tensors that were there before are taken as they are; all others have
to come from functions that were seen.
"""

from __future__ import annotations

import gc
import math
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from verify.auditing.pytorch.calls import LayerInfo, is_plain
from verify.auditing.recording import Call, Intended
from verify.auditing.scales import DEFAULT
from verify.errors import what_is_wrong

_TENSOR = torch.Tensor
_CLOSE, _COARSE = 1e-6, 1e-2
_MOST = 4096


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TIMES = _names("mul multiply __mul__ __rmul__ __imul__")
_OVER = _names("div divide true_divide __truediv__ __itruediv__ __div__ __idiv__")
_ADDS = _names("add __add__ __radd__ __iadd__ sub subtract __sub__ __rsub__ __isub__ rsub")
_MOVES = _ADDS | _names(
    "__get__ __getitem__ __setitem__ alpha_dropout as_strided atleast_2d atleast_3d bfloat16 "
    "broadcast_tensors broadcast_to cat chunk clone concat concatenate conj contiguous copy cpu cuda cumsum "
    "detach diag_embed diagonal double dropout dropout1d dropout2d dropout3d dstack expand expand_as "
    "feature_dropout flatten flip float from_dlpack gather half hstack imag index_add index_copy index_put "
    "index_select masked_fill masked_scatter masked_select meshgrid moveaxis movedim nan_to_num narrow neg "
    "__neg__ negative pad permute pin_memory positive __pos__ ravel real repeat repeat_interleave "
    "requires_grad reshape reshape_as resolve_conj roll rot90 scatter scatter_add select split "
    "split_with_sizes squeeze stack swapaxes swapdims t take_along_dim tensor_split tile to to_dense "
    "transpose tril triu type type_as unbind unflatten unfold unsqueeze view view_as view_as_complex "
    "view_as_real vstack where"
)
_OF_FIRST = _names("masked_fill view_as reshape_as expand_as type_as to repeat_interleave __getitem__")
_PRODUCTS = _names(
    "matmul __matmul__ __rmatmul__ linalg_matmul bmm mm mv einsum linear bilinear conv1d conv2d conv3d dot "
    "inner outer kron tensordot conv_transpose1d conv_transpose2d vdot addmm baddbmm addbmm addmv"
)
_NORMS = _names(
    "layer_norm native_layer_norm rms_norm group_norm batch_norm instance_norm local_response_norm "
    "normalize softmax log_softmax _softmax softmin gumbel_softmax embedding embedding_bag one_hot fill "
    "zero normal uniform bernoulli exponential random sign angle multi_head_attention_forward "
    "_native_multi_head_attention"
)
_CURVES = _names(
    "tan tanh sigmoid exp exp2 expm1 log log2 log10 log1p sqrt rsqrt pow __pow__ __rpow__ square reciprocal "
    "abs __abs__ absolute relu relu6 gelu silu mish elu selu celu softplus hardtanh hardswish hardsigmoid "
    "leaky_relu prelu logsigmoid softsign clamp clamp_min clamp_max clip erf erfinv floor ceil round trunc "
    "maximum minimum float_power atan2 glu remainder fmod __rtruediv__ __rdiv__ floor_divide __floordiv__ "
    "logit asin acos atan sinh cosh frac sort topk"
)
_SUMS = _names(
    "mean sum norm vector_norm linalg_norm linalg_vector_norm var std var_mean std_mean amax amin max min "
    "logsumexp prod median nanmean nansum aminmax avg_pool1d avg_pool2d adaptive_avg_pool1d "
    "adaptive_avg_pool2d max_pool1d max_pool2d interpolate cosine_similarity cross_entropy nll_loss "
    "mse_loss"
)
_MEANS = _names(
    "mean var std var_mean std_mean nanmean avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d"
)
_FOREIGN = _names("tensor as_tensor asarray from_numpy frombuffer from_dlpack from_file load")
"""Functions whose numbers come from outside PyTorch."""
_MADE = ("new_", "_like")
_BLANK = _names("zeros empty zeros_like empty_like new_zeros new_empty")
_KINDS = dict.fromkeys(_BLANK, "blank") | {"sin": "turn", "cos": "turn", "normalize": "unit"}


class Factor(NamedTuple):
    """What a tensor was multiplied by, by the number of each multiplication; None is one that was lost.

    ``kind`` is "mean" or "sum" of a mean, a norm or alike, as normalisations divide by, "unit" of what was
    divided by a norm, "blank" of what holds nothing yet, "turn" of sines and cosines, and "unseen" of what no
    function that was seen has made.
    """

    by: tuple[tuple[int, float | None], ...] = ()
    kind: str = ""

    @property
    def size(self) -> float | None:
        """The product, None where one is lost."""
        return None if self.lost else self.known

    @property
    def known(self) -> float:
        """The product of those that are not lost."""
        return math.prod(one for _, one in self.by if one is not None)

    @property
    def lost(self) -> frozenset[int]:
        """Those that are lost."""
        return frozenset(number for number, one in self.by if one is None)


_NONE, _UNSEEN = Factor(), Factor(kind="unseen")
_NOT_MADE = {
    "unseen": "were made where a recording does not see: in another thread, scripted or foreign code",
    "blank": "were written where a recording does not see, as by a kernel of another library",
}


class Scaled(NamedTuple):
    """What queries and keys of a call were multiplied by, and why that is not known, empty where it is."""

    query: float = 1.0
    key: float = 1.0
    unknown: str = ""


def unscaled(call: Call, about: LayerInfo, scaled: Scaled) -> tuple[Call, LayerInfo]:
    """Return a call whose scale holds the factors that queries and keys were multiplied by before it.

    Where those are not known, no intended scale is either.
    """
    if scaled.unknown:
        meant = about.intended or Intended(DEFAULT, "default")
        return call, about._replace(intended=replace(meant, origin="unknown", where=scaled.unknown))
    if scaled[:2] == (1.0, 1.0):
        return call, about
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    query, key = (
        (one / factor).requires_grad_(one.requires_grad)
        for one, factor in zip((call.query, call.key), scaled[:2], strict=True)
    )
    said = (
        f"{name} were multiplied by {factor:.6g} before the call, which counts as part of its scale"
        for name, factor in zip(("queries", "keys"), scaled[:2], strict=True)
        if factor != 1
    )
    call = replace(call, query=query, key=key, scale=scale * scaled.query * scaled.key)
    return call, about._replace(notes=(*about.notes, *said))


class Region(NamedTuple):
    """The places in memory that a tensor has: address of the first, sizes and strides, all in bytes."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @classmethod
    def of(cls, tensor: Any) -> Region:
        """Return those of a tensor, with axes joined so that equal places have one description."""
        size = tensor.element_size()
        axes: list[tuple[int, int]] = []
        for length, stride in sorted(
            zip(tensor.shape, tensor.stride(), strict=True), key=lambda one: -one[1]
        ):
            if length == 1 or stride == 0:
                continue
            if axes and axes[-1][1] == length * stride:
                axes[-1] = (axes[-1][0] * length, stride)
            else:
                axes.append((length, stride))
        shape, strides = tuple(one for one, _ in axes), tuple(size * one for _, one in axes)
        return cls(tensor.data_ptr(), shape, strides, size)

    def meets(self, other: Region) -> bool:
        """Return whether two have a place in common; what takes too long to decide counts as one."""
        try:
            return bool(np.shares_memory(self._array(), other._array(), max_work=10_000))  # type: ignore[arg-type]  # any number of steps
        except np.exceptions.TooHardError:
            return True

    def _array(self) -> Any:
        # NumPy looks at the addresses only.
        described = {"shape": self.shape, "strides": self.strides, "typestr": f"V{self.itemsize}"}
        holder = type(
            "Region", (), {"__array_interface__": described | {"data": (self.start, False), "version": 3}}
        )
        return np.asarray(holder())


def _objects() -> list[Any]:
    """Return all that the garbage collector knows of, with what is frozen, which it does not list itself."""
    if not gc.get_freeze_count():
        return gc.get_objects()
    gc.unfreeze()
    found = gc.get_objects()
    gc.freeze()
    return found


class Scaling:
    """The factors of tensors that a program multiplied; no tensor is kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Factor, int]] = {}
        self._written: dict[StorageWeakRef, list[tuple[Region, Factor, int]]] = {}
        self._reasons: list[str] = []
        self._weak: set[int] = set()
        self._clock = 0
        self._broken = ""
        for one in _objects():
            if type(one) is _TENSOR:
                self._note(one, _NONE)
        self._begun = self._clock

    def meet(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Take note of what a function of PyTorch returned; once that fails, no factor is known any more."""
        try:
            self._meet(func, args, kwargs, result)
        except Exception as error:
            self._broken = f"cannot be followed after {func_name(func)} ({what_is_wrong(error)})"
            raise

    def _meet(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        written, name = _base_name(func)
        given = list(tensors((*args, *kwargs.values())))
        if not given and name in _FOREIGN:
            return
        is_setting = name == "__setitem__"
        results = [args[0]] if is_setting else [one for one in tensors((result,)) if _is_real(one)]
        if not results and not written:
            return
        is_made = not given and name not in _BLANK
        factor = _NONE if is_made else self._found(name, args, kwargs, given, results)
        if factor.kind in ("", "unseen"):
            is_unseen = self._is_unseen(name, given, [] if written or is_setting else results)
            factor = factor._replace(kind="unseen" if is_unseen else "")
        targets = [*results, *(one for one in tensors((kwargs.get("out"),)))]
        if written and not results:
            targets = [one for one in given if _is_real(one)]
        for one in targets:
            if written or is_setting or one is kwargs.get("out"):
                self._write(one, factor)
            else:
                self._note(one, factor)

    def _is_unseen(self, name: str, given: Sequence[Any], results: Sequence[Any]) -> bool:
        """Return whether what a result is mainly made of comes from no function that was seen."""
        parts = [one for one in given if _is_real(one) and is_plain(one)]
        if name in _NORMS or (name in _PRODUCTS and any(is_parameter(one) for one in parts)):
            return False
        sizes = {one.numel() for one in results}
        parts = parts[:1] if name in _PRODUCTS else [one for one in parts if one.numel() in sizes] or parts
        return any(self._of(one).kind == "unseen" for one in parts)

    def of_call(self, query: Any, key: Any, value: Any) -> Scaled:
        """Return what the queries and keys of a call were multiplied by alone, and not the values."""
        if self._broken:
            return Scaled(unknown=f"queries and keys {self._broken}")
        shared = {number for number, _ in self._of(value).by}
        found, reasons = [], []
        for name, tensor in (("queries", query), ("keys", key)):
            factor = self._of(tensor)
            own = Factor(tuple(one for one in factor.by if one[0] not in shared))
            found.append(None if factor.kind in _NOT_MADE else own.size)
            reasons += [f"{name} {_NOT_MADE[factor.kind]}"] if factor.kind in _NOT_MADE else []
            reasons += [f"{name} {self._reasons[number]}" for number, one in own.by if one is None]
        if any(one is None for one in found):
            return Scaled(unknown="; ".join(dict.fromkeys(reasons)))
        return Scaled(float(found[0] or 1.0), float(found[1] or 1.0))

    def _found(  # noqa: C901, PLR0911 - a list of rules
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        given: Sequence[Any],
        results: Sequence[Any],
    ) -> Factor:
        if name in _TIMES | _OVER and kwargs.get("rounding_mode") is None and len(args) == 2:
            return self._times(args, results[0], is_over=name in _OVER)
        own = [self._of(one) for one in given if _is_real(one)]
        if name == "scaled_dot_product_attention":
            return self._of(args[2] if len(args) > 2 else kwargs.get("value"))
        if name == "polar":
            return self._of(given[0])
        if name in _KINDS:
            return Factor(kind=_KINDS[name])
        if name in _NORMS or name.startswith(_MADE[0]) or name.endswith(_MADE[1]):
            return _NONE
        has_weight = any(
            isinstance(one, int | float) and one != 1 for one in (kwargs.get("alpha"), kwargs.get("beta"))
        )
        if name in _PRODUCTS and not has_weight:
            return self._product(name, given)
        if name in _MOVES and not has_weight:
            number = next((one for one in args[:2] if isinstance(one, numbers.Number) and one), None)
            if number is not None and name in _ADDS:
                return self._lost(own, f"had {number} added after they were multiplied")
            return self._joined(name, args, given)
        if name in _SUMS:
            kind = "mean" if name in _MEANS else "sum"
            return self._lost(own, f"went through {name} after they were multiplied")._replace(kind=kind)
        if name in _CURVES:
            return self._lost(own, f"went through {name} after they were multiplied")
        return self._lost(own, f"came from {name}, which is not followed", is_new=True)

    def _times(  # noqa: C901, PLR0911 - a list of rules
        self, args: tuple[Any, ...], result: Any, *, is_over: bool
    ) -> Factor:
        one, other = args
        if is_over and not isinstance(one, _TENSOR):
            return self._lost([self._of(other)], "divided a number")
        if not isinstance(one, _TENSOR):
            one, other = other, one
        first, second = self._of(one), self._of(other) if isinstance(other, _TENSOR) else _NONE
        sizes = [(other, first, is_over)]
        if isinstance(other, _TENSOR) and not is_over:
            sizes.append((one, second, False))
        for constant, scaled, inverse in sizes:
            own = self._of(constant).kind
            if own == "turn":
                continue
            kind, size = _constant(constant, result)
            is_norm = own in ("mean", "sum") and (kind == "rows" or _is_row_of(constant, result))
            if kind != "numbers" and is_norm:
                return _NONE if own == "mean" else Factor(kind="unit")
            if kind == "number" and scaled.kind == "unit" and size != 1:
                if math.isclose(size, result.shape[-1] ** 0.5, rel_tol=_CLOSE):
                    return _NONE
                return self._by(scaled, math.nan, "were brought to unit length and then multiplied")
            if kind == "number":
                return self._by(scaled, 1 / size if inverse and size else size)
            if kind == "rows":
                return self._by(
                    scaled, math.nan, "were multiplied by numbers that differ between rows or heads"
                )
            if kind == "learned":
                return self._by(scaled, math.nan, "were multiplied by a learned number")
        if is_over and second.by:
            return self._lost([first, second], "were divided by what had been multiplied")
        return self._union((first, second))

    def _by(
        self, factor: Factor, size: float, reason: str = "were multiplied by no number that is finite"
    ) -> Factor:
        """Return a factor with one more."""
        if size == 1:
            return factor
        is_known = math.isfinite(size) and size != 0
        return factor._replace(by=(*factor.by, (self._number(reason), size if is_known else None)))

    def _number(self, reason: str, *, is_weak: bool = False) -> int:
        self._reasons.append(reason)
        if is_weak:
            self._weak.add(len(self._reasons) - 1)
        return len(self._reasons) - 1

    def _product(self, name: str, given: Sequence[Any]) -> Factor:
        biased = {"linear": given[2:], "addmm": given[:1], "baddbmm": given[:1], "addbmm": given[:1]}
        biased |= {"addmv": given[:1]} | {f"conv{n}d": given[2:] for n in (1, 2, 3)}
        bias = biased.get(name, [])
        factors = [self._of(one) for one in given if not any(one is other for other in bias)]
        found = self._union(factors)._replace(kind="")
        if name in ("einsum", "tensordot", "outer", "kron"):
            for one in given:
                if one.numel() == 1 and len(given) > 1:
                    found = self._by(found, float(one.detach().real))
        if any(is_parameter(one) for one in given):
            found = Factor(tuple(one for one in found.by if one[0] not in self._weak))
        elif sizes := [_size_of_map(one) for one in given if self._is_constant(one)]:
            size = math.prod(sizes)
            # What is not a multiple of a rotation may be a projection.
            if found.by or math.isfinite(size):
                found = self._by(found, size, "went through a constant linear map that is not learned")
        if found.by and any(not _alike(found, self._of(one)) for one in bias):
            return self._lost([found], "had a bias added after they were multiplied")
        return found

    def _is_constant(self, one: Any) -> bool:
        held, _, when = self._known.get(id(one), (None, _NONE, -1))
        return held is not None and held() is one and 0 < when <= self._begun and one.dim() == 2

    def _union(self, factors: Iterable[Factor]) -> Factor:
        by: dict[int, float | None] = {}
        kind = ""
        for one in factors:
            kind = "unit" if one.kind == "unit" else kind
            for number, size in one.by:
                before = by.get(number, 1.0)
                by[number] = None if size is None or before is None else before * size
        return Factor(tuple(by.items()), kind)

    def _joined(self, name: str, args: tuple[Any, ...], given: Sequence[Any]) -> Factor:
        """Return the factor of what is moved, added or put together, which is one if all have the same."""
        if name == "copy":
            return self._of(args[1])
        parts = [one for one in given if _is_real(one)]
        if name in _OF_FIRST:
            parts = parts[:1]
        every = [self._of(one) for one in parts]
        found = [one for one in every if one.kind != "blank"] or every
        if not found:
            return _NONE
        parts = [part for part, one in zip(parts, every, strict=True) if one.kind != "blank"] or parts
        if name in ("neg", "__neg__", "negative"):
            return self._by(found[0], -1.0)
        if any(not _alike(found[0], one) for one in found[1:]):
            # Zeros have any factor.
            found = [
                one for one, part in zip(found, parts, strict=True) if bool(part.detach().any())
            ] or found
        if all(_alike(found[0], one) for one in found[1:]):
            # What turns vectors, as rotary positions do, changes signs of parts.
            return next((one for one in found if one.known > 0), found[0])
        return self._lost(found, f"were joined by {name} with what has another factor")

    def _lost(self, factors: Sequence[Factor], reason: str, *, is_new: bool = False) -> Factor:
        """Return that factors are lost; where there is none, nothing is, unless ``is_new`` says so."""
        events = list(dict.fromkeys(number for one in factors for number, _ in one.by))
        kind = next((one.kind for one in factors if one.kind in ("sum", "mean")), "")
        if not events:
            return Factor(((self._number(reason, is_weak=True), None),)) if is_new else Factor((), kind)
        for number in events:
            if all(size is not None for one in factors for event, size in one.by if event == number):
                self._reasons[number] = reason
        return Factor(tuple((number, None) for number in events), kind)

    def _of(self, tensor: Any) -> Factor:
        # What is learned is taken as it is, however it was drawn or loaded.
        if not isinstance(tensor, _TENSOR) or not is_plain(tensor) or is_parameter(tensor):
            return _NONE
        held, factor, when = self._known.get(id(tensor), (None, _NONE, -1))
        if held is None or held() is not tensor:
            factor, when = _UNSEEN, -1
        if not self._written:
            return factor
        region = None
        for place, state, moment in self._written.get(StorageWeakRef(tensor.untyped_storage()), ()):
            if moment <= when:
                continue
            region = region or Region.of(tensor)
            if place == region:
                factor = state
            elif place.meets(region) and state != factor:
                factor = self._lost([factor, state], "were written to in part after they were multiplied")
        return factor

    def _note(self, tensor: Any, factor: Factor) -> None:
        if not is_plain(tensor):
            return
        self._clock += 1
        key = id(tensor)
        self._known[key] = ref(tensor, lambda gone: self._forget(key, gone)), factor, self._clock

    def _forget(self, key: int, gone: Any) -> None:
        if self._known.get(key, (None,))[0] is gone:
            del self._known[key]

    def _write(self, tensor: Any, factor: Factor) -> None:
        """Take note that a tensor was written to, which its other views show too."""
        if not is_plain(tensor):
            return
        place = StorageWeakRef(tensor.untyped_storage())
        before = self._written.get(place, [])
        if factor == _NONE and not before and id(tensor) not in self._known:
            return
        if len(self._written) >= _MOST:
            self._written = {key: one for key, one in self._written.items() if not key.expired()}
        self._note(tensor, factor)
        region = Region.of(tensor)
        self._written[place] = [*(one for one in before if one[0] != region), (region, factor, self._clock)]


def tensors(given: Iterable[Any]) -> Iterator[Any]:
    """Yield the tensors among arguments or results, and in lists and tuples of them."""
    for one in given:
        if isinstance(one, _TENSOR):
            yield one
        elif isinstance(one, tuple | list):
            yield from tensors(one)


def is_parameter(tensor: Any) -> bool:
    """Return whether a tensor is learned, or a view of one that is."""
    return isinstance(tensor, torch.nn.Parameter) or isinstance(tensor._base, torch.nn.Parameter)


def func_name(func: Any) -> str:
    """Return the name of a function of PyTorch, without the overload of an operator."""
    return str(getattr(func, "__name__", "")).partition(".")[0]


def _base_name(func: Any) -> tuple[bool, str]:
    """Return whether a function writes to its first argument, and its name without what says so."""
    name = func_name(func)
    if name.startswith("__"):
        return name.startswith("__i") and name not in ("__invert__", "__index__", "__int__"), name
    return name.endswith("_"), name.removesuffix("_")


def _is_real(one: Any) -> bool:
    return bool(one.is_floating_point() or one.is_complex())


def _size_of_map(one: Any) -> float:
    """Return what a constant linear map multiplies every length by, NaN where lengths differ in that."""
    square = (one.detach().double() @ one.detach().double().mT).cpu()
    size = float(square.diagonal().mean())
    same = one.shape[0] == one.shape[1] and bool(
        torch.allclose(square, size * torch.eye(len(square), dtype=square.dtype), atol=_COARSE * abs(size))
    )
    return math.sqrt(size) if same else math.nan


def _is_row_of(one: Any, result: Any) -> bool:
    return bool(one.numel() == 1 and result.numel() == result.shape[-1])


def _alike(one: Factor, other: Factor) -> bool:
    return one.lost == other.lost and math.isclose(abs(one.known), abs(other.known), rel_tol=_CLOSE)


def _constant(one: Any, result: Any) -> tuple[str, float]:  # noqa: PLR0911 - a list of rules
    """Return what kind of factor an operand is: "number" with its size, "rows", "learned", else "numbers".

    Of rows it has one number each.
    """
    if isinstance(one, numbers.Real | np.number):
        return "number", float(one)
    if not isinstance(one, _TENSOR) or not is_plain(one) or not one.numel() or not result.dim():
        return "numbers", 1.0
    if one.is_cuda and torch.cuda.is_current_stream_capturing():
        return "learned", 1.0
    is_row = one.dim() == 0 or one.shape[-1] == 1 or one.stride(-1) == 0
    if is_parameter(one):
        return ("learned" if is_row else "numbers"), 1.0
    plain = one.detach()
    plain = plain.abs() if plain.is_complex() else plain
    first = plain[(0,) * plain.dim()]
    if plain.numel() == 1:
        return ("number", float(first)) if one.shape != result.shape else ("numbers", 1.0)
    if float(first) != float(plain[(-1,) * plain.dim()]) and not is_row and not one.is_complex():
        ends = plain[..., 0], plain[..., -1]
        is_row = bool((ends[0] == ends[1]).all()) and bool((plain == plain[..., :1]).all())
        return ("rows" if is_row else "numbers"), 1.0
    if bool(((plain - first).abs() <= _CLOSE * first.abs()).all()):
        return "number", float(first)
    is_row = is_row or (not one.is_complex() and bool((plain == plain[..., :1]).all()))
    return ("rows" if is_row else "numbers"), 1.0
