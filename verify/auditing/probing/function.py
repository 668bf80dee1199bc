"""An attention function that is probed: called with NumPy's arrays, whatever library and layout it takes."""

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
LAYOUTS = ("bhtd", "bthd")
"""The orders of the axes of sequences b, heads h, tokens t and components d."""

STRIDES = ("transposed", "every second", "broadcast")
"""How PyTorch's arrays can lie in memory: turned, behind and between others, one sequence's keys for all."""


class Sizes(NamedTuple):
    """Heads of queries, heads of keys, and the width of a head."""

    heads: int
    key_heads: int
    width: int

    def arrays(
        self, queries: int, keys: int, sequences: int = 1, *, stretch: float = 1.0, dtype: str = "float64"
    ) -> tuple[Floats, Floats, Floats]:
        """Return normal queries, keys and values, [sequence, head, token, d], as a dtype holds them.

        Values are standard normal, queries and keys ``stretch`` times that.
        """
        shapes = (self.heads, queries), (self.key_heads, keys), (self.key_heads, keys)
        query, key, value = (
            np.random.default_rng(seed).standard_normal((sequences, *shape, self.width))
            for seed, shape in enumerate(shapes, 1)
        )
        return rounded(stretch * query, dtype), rounded(stretch * key, dtype), rounded(value, dtype)


def rounded(array: Floats, dtype: str) -> Floats:
    """Return numbers as an array of this dtype holds them, in float64."""
    return array.astype(dtype).astype(np.float64)


class RefusedError(Exception):
    """The function does not take its arrays, or returns no attention output; in one line."""


@dataclass(frozen=True)
class Kernel:
    """An attention function of (q, k, v), and the form in which it takes arrays.

    ``device`` is where PyTorch puts them; ``strides`` is one of `STRIDES`, empty for arrays without gaps.
    """

    function: Callable[..., Any]
    library: str
    layout: str = "bhtd"
    device: str | None = None
    dtype: str = "float32"
    strides: str = ""

    def __call__(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return the output for arrays of shape [sequence, head, token, d], in float64, without gradients.

        Raises:
            RefusedError: the function raises, or returns something of another shape.
        """
        with contextlib.ExitStack() as stack:
            if self.library == "torch":
                stack.enter_context(importlib.import_module("torch").no_grad())
            # Overflow is provoked; it shows in what comes back.
            stack.enter_context(np.errstate(all="ignore"))
            stack.enter_context(_refusing())
            returned = self.function(*map(self._given, (query, key, value)))
        return self._taken(returned, (*query.shape[:3], value.shape[3]))

    def changed(self, query: Floats, key: Floats, value: Floats) -> list[str]:
        """Return which of its arrays the function writes to."""
        given, intact = ([self._given(array) for array in (query, key, value)] for _ in range(2))
        with _refusing():
            self.function(*given)
        return [
            name
            for name, array, before in zip(("queries", "keys", "values"), given, intact, strict=True)
            if not np.array_equal(to_numpy(array), to_numpy(before), equal_nan=True)
        ]

    def gradients(self, query: Floats, key: Floats, value: Floats, upstream: Floats) -> list[Floats | None]:
        """Return dQ, dK and dV of the sum of the output times ``upstream``, None where there is none."""
        if self.library != "torch":
            raise RefusedError("only gradients of PyTorch are compared")
        leaves = [self._given(array).detach().requires_grad_() for array in (query, key, value)]
        with _refusing(), importlib.import_module("torch").enable_grad():
            returned = self.function(*leaves)
            output = returned[0] if isinstance(returned, tuple | list) else returned
            total = (output * self._given(upstream)).sum()
            if total.requires_grad:
                total.backward()
        shapes = (query.shape, key.shape, value.shape)
        return [
            None if leaf.grad is None else self._taken(leaf.grad, shape)
            for leaf, shape in zip(leaves, shapes, strict=True)
        ]

    def _given(self, array: Floats) -> Any:
        """Return an array as the function takes it: library, layout, dtype and strides."""
        moved = np.ascontiguousarray(array if self.layout == "bhtd" else array.swapaxes(1, 2))
        if self.library == "torch":
            torch = importlib.import_module("torch")
            return self._laid(torch.tensor(moved, dtype=getattr(torch, self.dtype), device=self.device))
        if self.strides:
            raise RefusedError("only PyTorch's arrays are laid with strides")
        if self.library == "jax":
            return importlib.import_module("jax.numpy").asarray(moved, dtype=self.dtype)
        if self.dtype == "bfloat16":
            raise RefusedError("NumPy has no bfloat16")
        return moved.astype(self.dtype)

    def _laid(self, tensor: Any) -> Any:
        """Return the same numbers of PyTorch with the strides that are asked for."""
        if self.strides == "broadcast" and bool((tensor == tensor[:1]).all()):
            return tensor[:1].expand(tensor.shape)
        if self.strides == "transposed":
            return tensor.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
        if self.strides == "every second":
            whole = tensor.new_full([2 * size + 1 for size in tensor.shape], 7.0)
            places = tuple(slice(1, None, 2) for _ in tensor.shape)
            whole[places] = tensor
            return whole[places]
        return tensor

    def _taken(self, returned: Any, shape: tuple[int, ...]) -> Floats:
        """Return an output as NumPy's of this shape, [sequence, head, token, d]."""
        output = returned[0] if isinstance(returned, tuple | list) and returned else returned
        if output is None:
            raise RefusedError("returned None")
        try:
            array: Floats = to_numpy(output)
        except (TypeError, ValueError) as error:
            raise RefusedError(f"returned a {type(output).__name__}, which is not an array") from error
        expected = tuple(shape["bhtd".index(axis)] for axis in self.layout)
        if array.shape != expected:
            raise RefusedError(f"returned shape {list(array.shape)} where {list(expected)} is due")
        return array if self.layout == "bhtd" else array.swapaxes(1, 2)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Raise a RefusedError in one line for whatever a function raises."""
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"raised {what_is_wrong(error)}") from error


def kernel_of(
    function: Callable[..., Any], layout: str, library: str | None, device: str | None, sizes: Sizes
) -> Kernel:
    """Return the function with the library whose arrays it takes: NumPy, then those that are imported.

    Raises:
        SettingsError: it is no function, there is no such library, or it takes the arrays of none.
    """
    if not callable(function):
        raise SettingsError(f"{function!r}: is not a function; give a function of q, k and v")
    if library not in (None, *LIBRARIES):
        raise SettingsError(f"library {library!r}: give one of {', '.join(LIBRARIES)}")
    library = "torch" if device is not None else library
    if library and library not in sys.modules and importlib.util.find_spec(library) is None:
        raise SettingsError(f"library {library}: is not installed; run `pip install {library}`")
    refusal = ""
    for name in [library] if library else [name for name in LIBRARIES if name in sys.modules]:
        kernel = Kernel(function, name, layout, device)
        try:
            kernel(*sizes.arrays(6, 6))
        except (RefusedError, ImportError) as error:
            # What a function says of the arrays of its own library, the last, is the clearest.
            refusal = f"{error} (with arrays of {name})"
        else:
            return kernel
    wanted = f"give a function of q, k and v with the axes {layout}"
    raise SettingsError(f"{name_of(function)}: {refusal}; {wanted}")


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name for messages."""
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__qualname__", type(inner).__name__))
