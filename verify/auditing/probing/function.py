"""A function to be probed, called with NumPy arrays whatever it takes, and the arrays that it is given."""

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.auditing.arrays import to_numpy
from verify.auditing.blocks import Floats
from verify.errors import SettingsError, what_is_wrong

LIBRARIES = ("numpy", "torch", "jax")
"""The libraries whose arrays can be given."""

STRIDES = ("transposed", "offset", "every second", "broadcast")
"""How arrays can lie in memory: turned, behind others, between others, one sequence's keys for all."""

_AXES = "bhtd"
_TRIED = 6


@dataclass(frozen=True)
class Sizes:
    """The sizes of the arrays that a function is given: heads of queries and of keys, and their width."""

    heads: int
    key_heads: int
    width: int

    def queries(self, tokens: int, size: float = 1.0, sequences: int = 1) -> Floats:
        """Return normal components with standard deviation ``size``, [sequence, head, token, d]."""
        return size * _normal(1, sequences, self.heads, tokens, self.width)

    def keys(self, tokens: int, size: float = 1.0, sequences: int = 1) -> Floats:
        """Return the same for keys."""
        return size * _normal(2, sequences, self.key_heads, tokens, self.width)

    def values(self, tokens: int, sequences: int = 1) -> Floats:
        """Return standard normal values."""
        return _normal(3, sequences, self.key_heads, tokens, self.width)

    def rows(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return the same vectors, [token, d], for all heads of queries, and for all of keys."""
        shape = vectors.shape
        queries = np.broadcast_to(vectors, (1, self.heads, *shape))
        return queries, np.broadcast_to(vectors, (1, self.key_heads, *shape))


def _normal(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape)


class RefusedError(Exception):
    """The function does not take some input, or does not give back what attention gives; in one line."""


@dataclass(frozen=True)
class Callee:
    """An attention function of (q, k, v), and the form in which it takes arrays.

    ``layout`` names the axes of its arrays by letters: b for sequences, h for heads, t for tokens, d for the
    components; b and h may be missing. ``device`` is where PyTorch puts them. ``strides`` is one of
    `STRIDES`, empty for arrays without gaps. It is called without gradients.
    """

    function: Callable[..., Any]
    layout: str
    library: str
    device: str | None = None
    dtype: str = "float32"
    strides: str = ""

    def __call__(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return the output for arrays of shape [sequence, head, token, d], in float64.

        Raises:
            RefusedError: the function raises, or returns something of another shape.
        """
        if "b" not in self.layout and len(query) > 1:
            parts = (self(*one) for one in zip(query[:, None], key[:, None], value[:, None], strict=True))
            return np.concatenate(list(parts))
        if "h" not in self.layout and query.shape[1] > 1:
            raise RefusedError("its layout has no heads")
        shape = (*query.shape[:3], value.shape[3])
        # Overflow is provoked; it shows in what comes back.
        with _without_gradients(self.library), np.errstate(all="ignore"), refusing():
            returned = self.function(*(self._given(one) for one in (query, key, value)))
        return self._taken(returned, shape)

    def _given(self, array: Floats) -> Any:
        places = [_AXES.index(axis) for axis in self.layout]
        missing = tuple(place for place, axis in enumerate(_AXES) if axis not in self.layout)
        moved = np.ascontiguousarray(np.transpose(array, (*missing, *places))[(0,) * len(missing)])
        if self.library == "jax":
            if self.strides:
                raise RefusedError("JAX has no strides")
            return importlib.import_module("jax.numpy").asarray(moved, dtype=self.dtype)
        if self.library == "torch":
            torch = importlib.import_module("torch")
            return self._laid(
                torch.tensor(moved, dtype=getattr(torch, self.dtype), device=self.device), torch
            )
        if self.dtype == "bfloat16":
            raise RefusedError("NumPy has no bfloat16")
        return self._laid(moved.astype(self.dtype), np)

    def _laid(self, array: Any, library: Any) -> Any:
        """Return the same numbers with the strides that are asked for; library is NumPy or PyTorch."""
        if not self.strides:
            return array
        if self.strides == "broadcast":
            if "b" not in self.layout:
                raise RefusedError("its layout has no sequences")
            axis = self.layout.index("b")
            first = array[(slice(None),) * axis + (slice(0, 1),)]
            same = bool((array == first).all())
            return library.broadcast_to(first, tuple(array.shape)) if same else array
        if self.strides == "transposed":
            order = list(range(len(array.shape)))[::-1]
            back = library.permute_dims if library is np else library.permute
            whole = back(array, order)
            return back(whole.copy() if library is np else whole.contiguous(), order)
        sizes = list(array.shape)
        at: tuple[Any, ...] = tuple(slice(3, 3 + size) for size in sizes)
        if self.strides == "every second":
            at = tuple(slice(1, 1 + 2 * size, 2) for size in sizes)
        large = [2 * size + 5 for size in sizes]
        whole = library.full(
            large, 7.0, dtype=array.dtype, **({} if library is np else {"device": array.device})
        )
        whole[at] = array
        return whole[at]

    def changed(self, query: Floats, key: Floats, value: Floats) -> list[str]:
        """Return which of its arrays the function writes to."""
        given, again = ([self._given(one) for one in (query, key, value)] for _ in range(2))
        with _without_gradients(self.library), np.errstate(all="ignore"), refusing():
            self.function(*given)
        names = ("queries", "keys", "values")
        return [
            name
            for name, one, other in zip(names, given, again, strict=True)
            if not np.array_equal(to_numpy(one), to_numpy(other), equal_nan=True)
        ]

    def gradients(self, query: Floats, key: Floats, value: Floats, upstream: Floats) -> list[Floats | None]:
        """Return dQ, dK and dV of the sum of the output times ``upstream``, None where there is none."""
        if self.library == "numpy":
            raise RefusedError("NumPy has no gradients")
        given = [self._given(one) for one in (query, key, value)]
        weights = self._given(upstream)
        if self.library == "jax":
            jax = importlib.import_module("jax")

            def loss(*arrays: Any) -> Any:
                found = self.function(*arrays)
                return ((found[0] if isinstance(found, tuple | list) else found) * weights).sum()

            with refusing():
                return [
                    self._taken(one, array.shape)
                    for one, array in zip(jax.grad(loss, (0, 1, 2))(*given), (query, key, value), strict=True)
                ]
        torch = importlib.import_module("torch")
        leaves = [one.detach().requires_grad_() for one in given]
        with refusing(), torch.enable_grad():
            found = self.function(*leaves)
            output = found[0] if isinstance(found, tuple | list) else found
            if not output.requires_grad:
                return [None] * 3
            (output * weights).sum().backward()
        return [
            None if one.grad is None else self._taken(one.grad, array.shape)
            for one, array in zip(leaves, (query, key, value), strict=True)
        ]

    def _taken(self, returned: Any, shape: tuple[int, ...]) -> Floats:
        first = returned[0] if isinstance(returned, tuple | list) and returned else returned
        try:
            output = to_numpy(first) if first is not None else None
        except (TypeError, ValueError) as error:
            raise RefusedError(f"returned a {type(first).__name__}, which is no array") from error
        if output is None:
            raise RefusedError("returned None")
        sizes = dict(zip(_AXES, shape, strict=True))
        wanted = tuple(sizes[axis] for axis in self.layout)
        if output.shape != wanted:
            raise RefusedError(f"returned shape {list(output.shape)} where {list(wanted)} is due")
        present = [axis for axis in _AXES if axis in self.layout]
        ordered = np.transpose(output, [self.layout.index(axis) for axis in present])
        return ordered.reshape(shape)


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Report in one line whatever a function raises.

    Raises:
        RefusedError: it raises.
    """
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"raised {what_is_wrong(error)}") from error


def callee_of(
    function: Callable[..., Any], layout: str, library: str | None, device: str | None, sizes: Sizes
) -> Callee:
    """Return the function with the library whose arrays it takes: NumPy, then those that are imported.

    ``sizes`` are those of the arrays to try it with.

    Raises:
        SettingsError: layout or library are none, or the function takes the arrays of no library.
    """
    if not callable(function):
        raise SettingsError(f"{function!r}: is no function; give one that takes q, k and v")
    if (
        not isinstance(layout, str)
        or sorted(layout) != sorted(set(layout))
        or not set("td") <= set(layout) <= set(_AXES)
    ):
        raise SettingsError(f"layout {layout!r}: name the axes by letters of 'bhtd', t and d at least")
    tried = _libraries(library, device)
    arrays = (sizes.queries(_TRIED), sizes.keys(_TRIED), sizes.values(_TRIED))
    refusals = []
    for one in tried:
        callee = Callee(function, layout, one, device)
        try:
            callee(*arrays)
        except (RefusedError, ImportError) as error:
            refusals.append(f"{error} (with arrays of {one})")
        else:
            return callee
    shape = f"[1, {sizes.heads}, {_TRIED}, {sizes.width}] as {layout!r}"
    # What a function says of the arrays of its own library is the clearest.
    raise SettingsError(
        f"{name_of(function)}: {refusals[-1]}; give a function of q, k and v of shape {shape}"
    )


def _libraries(wanted: str | None, device: str | None) -> list[str]:
    """Return the libraries to try, of which PyTorch's arrays alone are put on a device."""
    if wanted is not None and wanted not in LIBRARIES:
        raise SettingsError(f"library {wanted!r}: give one of {', '.join(LIBRARIES)}")
    if device is not None and wanted not in (None, "torch"):
        raise SettingsError(
            f"device {device}: is for PyTorch's arrays; leave it out, or the library {wanted}"
        )
    wanted = wanted if device is None else "torch"
    if wanted is None:
        return [one for one in LIBRARIES if one == "numpy" or one in sys.modules]
    if wanted not in sys.modules and importlib.util.find_spec(wanted) is None:
        raise SettingsError(f"library {wanted}: is not installed; run `pip install {wanted}`")
    return [wanted]


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name for messages."""
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__name__))


def _without_gradients(library: str) -> Any:
    if library == "torch":
        return importlib.import_module("torch").no_grad()
    return contextlib.nullcontext()
