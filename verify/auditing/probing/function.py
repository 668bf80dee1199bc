"""An attention function that is probed: called with NumPy's arrays, or with what PyTorch makes of them."""

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.arrays import to_numpy
from verify.auditing.formula import Floats
from verify.auditing.scales import ScaleExpression
from verify.errors import SettingsError, what_is_wrong

STRIDES = ("transposed", "every second", "broadcast")
"""How PyTorch's arrays can lie in memory: turned, behind and between others, one sequence's keys for all."""


class Sizes(NamedTuple):
    """Heads of queries, heads of keys, and the width of a head."""

    heads: int
    key_heads: int
    width: int

    def scale(self, expression: ScaleExpression, keys: int) -> float:
        """Return the scale that an expression says, for this number of keys."""
        return expression.value(d=self.width, h=self.heads, D=self.width * self.heads, n=keys)

    def arrays(
        self, queries: int, keys: int, sequences: int = 1, *, stretch: float = 1.0, dtype: str = "float64"
    ) -> tuple[Floats, Floats, Floats]:
        """Return normal queries, keys and values, [sequence, head, token, d], rounded to a dtype, in float64.

        Values are standard normal, queries and keys ``stretch`` times that.
        """
        shapes = (self.heads, queries), (self.key_heads, keys), (self.key_heads, keys)
        query, key, value = (
            factor * np.random.default_rng(seed).standard_normal((sequences, *shape, self.width))
            for seed, (shape, factor) in enumerate(zip(shapes, (stretch, stretch, 1.0), strict=True), 1)
        )
        query, key, value = (array.astype(dtype).astype(np.float64) for array in (query, key, value))
        return query, key, value


class RefusedError(Exception):
    """The function does not take its arrays, or returns no attention output; in one line."""


@dataclass(frozen=True)
class Kernel:
    """An attention function of (q, k, v), and the form in which it takes arrays.

    ``device`` is where PyTorch puts them, None for arrays of NumPy, which JAX takes as well; ``strides`` is
    one of `STRIDES`, empty for arrays without gaps.
    """

    function: Callable[..., Any]
    device: str | None = None
    dtype: str = "float32"
    strides: str = ""

    @property
    def library(self) -> str:
        """The library whose arrays the function is given."""
        return "numpy" if self.device is None else "torch"

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        function = self.function.func if isinstance(self.function, functools.partial) else self.function
        return str(getattr(function, "__qualname__", type(function).__name__))

    def __call__(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return the output for arrays of shape [sequence, head, token, d], in float64, without gradients.

        Raises:
            RefusedError: the function raises, or returns something of another shape.
        """
        off = contextlib.nullcontext() if self.device is None else importlib.import_module("torch").no_grad()
        # Overflow is provoked; it shows in what comes back.
        with off, np.errstate(all="ignore"), _refusing():
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
        if self.device is None:
            raise RefusedError("only gradients of PyTorch are compared")
        leaves = [self._given(array).detach().requires_grad_() for array in (query, key, value)]
        with _refusing(), importlib.import_module("torch").enable_grad():
            returned = self.function(*leaves)
            output = returned[0] if isinstance(returned, tuple | list) else returned
            total = (output * self._given(upstream)).sum()
            if total.requires_grad:
                total.backward()
        return [
            None if leaf.grad is None else self._taken(leaf.grad, array.shape)
            for leaf, array in zip(leaves, (query, key, value), strict=True)
        ]

    def _given(self, array: Floats) -> Any:
        """Return an array as the function takes it: library, dtype and strides."""
        if self.device is None:
            if self.strides:
                raise RefusedError("only PyTorch's arrays are laid with strides")
            return array.astype(self.dtype, order="C")
        torch = importlib.import_module("torch")
        tensor = torch.tensor(array, dtype=getattr(torch, self.dtype), device=self.device)
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
        if array.shape != shape:
            raise RefusedError(f"returned shape {list(array.shape)} where {list(shape)} is due")
        return array


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Raise a RefusedError in one line for whatever a function raises."""
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"raised {what_is_wrong(error)}") from error


def kernel_of(function: Callable[..., Any], device: str | None, sizes: Sizes) -> Kernel:
    """Return the function with the arrays that it takes: NumPy's, else PyTorch's where that is imported.

    Raises:
        SettingsError: it is no function, or takes neither.
    """
    if not callable(function):
        raise SettingsError(f"{function!r}: is not a function; give a function of q, k and v")
    devices = [device] if device is not None else [None, *(["cpu"] if "torch" in sys.modules else [])]
    refusal = ""
    for place in devices:
        kernel = Kernel(function, place)
        try:
            kernel(*sizes.arrays(6, 6))
        except (RefusedError, ImportError) as error:
            # What a function says of the arrays of its own library, the last, is the clearest.
            refusal = f"{error} (with arrays of {kernel.library})"
        else:
            return kernel
    wanted = "give a function of q, k and v with the axes [sequence, head, token, d]"
    raise SettingsError(f"{kernel.name}: {refusal}; {wanted}")
