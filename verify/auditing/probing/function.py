"""A function to be probed, called with NumPy arrays whatever it takes, and the arrays that it is given."""

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.arrays import to_numpy
from verify.auditing.formula import Floats
from verify.errors import SettingsError, what_is_wrong

LIBRARIES = ("numpy", "torch", "jax")
"""The libraries whose arrays can be given."""

STRIDES = ("transposed", "offset", "every second", "broadcast")
"""How arrays can lie in memory: turned, behind others, between others, one sequence's keys for all."""

_AXES = "bhtd"


class Sizes(NamedTuple):
    """The sizes of the arrays that a function is given: heads of queries and of keys, and their width."""

    heads: int
    key_heads: int
    width: int

    def arrays(self, queries: int, keys: int, sequences: int = 1) -> tuple[Floats, Floats, Floats]:
        """Return standard normal queries, keys and values, [sequence, head, token, d]."""
        shapes = (self.heads, queries), (self.key_heads, keys), (self.key_heads, keys)
        query, key, value = (
            np.random.default_rng(seed).standard_normal((sequences, *shape, self.width))
            for seed, shape in enumerate(shapes, 1)
        )
        return query, key, value


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
        without_gradients: Any = contextlib.nullcontext()
        if self.library == "torch":
            without_gradients = importlib.import_module("torch").no_grad()
        # Overflow is provoked; it shows in what comes back.
        with without_gradients, np.errstate(all="ignore"), refusing():
            returned = self.function(*(self._given(array) for array in (query, key, value)))
        return self._taken(returned, (*query.shape[:3], value.shape[3]))

    def _given(self, array: Floats) -> Any:
        """Return an array as the function takes it: library, layout, dtype and strides."""
        missing = tuple(place for place, axis in enumerate(_AXES) if axis not in self.layout)
        order = (*missing, *map(_AXES.index, self.layout))
        moved = np.ascontiguousarray(np.transpose(array, order)[(0,) * len(missing)])
        if self.library == "jax":
            if self.strides:
                raise RefusedError("JAX has no strides")
            return importlib.import_module("jax.numpy").asarray(moved, dtype=self.dtype)
        if self.library == "torch":
            torch = importlib.import_module("torch")
            return self._laid(torch.tensor(moved, dtype=getattr(torch, self.dtype), device=self.device))
        if self.dtype == "bfloat16":
            raise RefusedError("NumPy has no bfloat16")
        return self._laid(moved.astype(self.dtype))

    def _laid(self, array: Any) -> Any:
        """Return the same numbers with the strides that are asked for, of NumPy or PyTorch."""
        if not self.strides:
            return array
        if self.strides == "broadcast":
            if "b" not in self.layout:
                raise RefusedError("its layout has no sequences")
            first = array[(slice(None),) * self.layout.index("b") + (slice(0, 1),)]
            library = np if self.library == "numpy" else importlib.import_module("torch")
            return library.broadcast_to(first, array.shape) if bool((array == first).all()) else array
        if self.strides == "transposed":
            if self.library == "numpy":
                return np.asfortranarray(array)
            order = list(range(len(array.shape)))[::-1]
            return array.permute(order).contiguous().permute(order)
        step, start = (2, 1) if self.strides == "every second" else (1, 3)
        places = tuple(slice(start, start + step * size, step) for size in array.shape)
        large = np.full([2 * size + 5 for size in array.shape], 7.0)
        whole = large.astype(array.dtype) if self.library == "numpy" else array.new_tensor(large)
        whole[places] = array
        return whole[places]

    def changed(self, query: Floats, key: Floats, value: Floats) -> list[str]:
        """Return which of its arrays the function writes to."""
        given, again = ([self._given(array) for array in (query, key, value)] for _ in range(2))
        with np.errstate(all="ignore"), refusing():
            self.function(*given)
        return [
            name
            for name, one, other in zip(("queries", "keys", "values"), given, again, strict=True)
            if not np.array_equal(to_numpy(one), to_numpy(other), equal_nan=True)
        ]

    def gradients(self, query: Floats, key: Floats, value: Floats, upstream: Floats) -> list[Floats | None]:
        """Return dQ, dK and dV of the sum of the output times ``upstream``, None where there is none."""
        arrays, given = (query, key, value), [self._given(array) for array in (query, key, value)]
        weights = self._given(upstream)

        def loss(*inputs: Any) -> Any:
            returned = self.function(*inputs)
            return ((returned[0] if isinstance(returned, tuple | list) else returned) * weights).sum()

        if self.library == "jax":
            with refusing():
                found = list(importlib.import_module("jax").grad(loss, (0, 1, 2))(*given))
        elif self.library == "torch":
            leaves = [array.detach().requires_grad_() for array in given]
            with refusing(), importlib.import_module("torch").enable_grad():
                total = loss(*leaves)
                if total.requires_grad:
                    total.backward()
            found = [leaf.grad for leaf in leaves]
        else:
            raise RefusedError("NumPy has no gradients")
        return [
            None if one is None else self._taken(one, array.shape)
            for one, array in zip(found, arrays, strict=True)
        ]

    def _taken(self, returned: Any, shape: tuple[int, ...]) -> Floats:
        """Return an output as NumPy's of this shape, [sequence, head, token, d]."""
        first = returned[0] if isinstance(returned, tuple | list) and returned else returned
        if first is None:
            raise RefusedError("returned None")
        try:
            output = to_numpy(first)
        except (TypeError, ValueError) as error:
            raise RefusedError(f"returned a {type(first).__name__}, which is no array") from error
        wanted = tuple(shape[_AXES.index(axis)] for axis in self.layout)
        if output.shape != wanted:
            raise RefusedError(f"returned shape {list(output.shape)} where {list(wanted)} is due")
        order = [self.layout.index(axis) for axis in _AXES if axis in self.layout]
        ordered: Floats = np.transpose(output, order).reshape(shape)
        return ordered


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Raise a RefusedError in one line for whatever a function raises."""
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
    if library is not None and library not in LIBRARIES:
        raise SettingsError(f"library {library!r}: give one of {', '.join(LIBRARIES)}")
    if device is not None and library not in (None, "torch"):
        raise SettingsError(
            f"device {device}: is for PyTorch's arrays; leave it out, or the library {library}"
        )
    library = library if device is None else "torch"
    if library and library not in sys.modules and importlib.util.find_spec(library) is None:
        raise SettingsError(f"library {library}: is not installed; run `pip install {library}`")
    tried = [library] if library else [one for one in LIBRARIES if one == "numpy" or one in sys.modules]
    refusal = ""
    for name in tried:
        callee = Callee(function, layout, name, device)
        try:
            callee(*sizes.arrays(6, 6))
        except (RefusedError, ImportError) as error:
            # What a function says of the arrays of its own library, the last one, is the clearest.
            refusal = f"{error} (with arrays of {name})"
        else:
            return callee
    shape = f"[1, {sizes.heads}, 6, {sizes.width}] as {layout!r}"
    raise SettingsError(f"{name_of(function)}: {refusal}; give a function of q, k and v of shape {shape}")


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name for messages."""
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__name__))
