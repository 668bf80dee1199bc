"""Somebody's function, called with arrays in its own layout and library; whatever it does else is refused."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from verify.auditing.probing.callee import Callee, RefusedError, callee_of, name_of
from verify.auditing.probing.sizes import Sizes
from verify.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = Sizes(heads=3, key_heads=3, width=4)
GIVEN = (SIZES.queries(5, sequences=2), SIZES.keys(5, sequences=2), SIZES.values(5, sequences=2))


def sums(q: Any, k: Any, v: Any) -> Any:
    """Return something that depends on all three, token by token and component by component."""
    return q + 2 * k + 3 * v


@pytest.mark.parametrize("layout", ["bhtd", "bthd", "thbd", "dtbh"])
def test_axes_go_where_the_letters_say_and_come_back(layout: str) -> None:
    """The function sees its own layout, and what it returns is as if there were no layout."""
    shapes = []

    def function(q: Any, k: Any, v: Any) -> Any:
        shapes.append(dict(zip(layout, q.shape, strict=True)))
        return sums(q, k, v)

    found = Callee(function, layout, "numpy", dtype="float64")(*GIVEN)
    np.testing.assert_array_equal(found, sums(*GIVEN))
    assert shapes == [{"b": 2, "h": 3, "t": 5, "d": 4}]


def test_sequences_and_heads_that_a_layout_lacks() -> None:
    """Sequences are given one at a time; of heads there may be one alone."""
    calls = []

    def function(q: Any, k: Any, v: Any) -> Any:
        calls.append(q.shape)
        return sums(q, k, v)

    found = Callee(function, "htd", "numpy", dtype="float64")(*GIVEN)
    np.testing.assert_array_equal(found, sums(*GIVEN))
    assert calls == [(3, 5, 4)] * 2
    with pytest.raises(RefusedError, match="its layout has no heads"):
        Callee(function, "btd", "numpy")(*GIVEN)
    one_head = [array[:, :1] for array in GIVEN]
    np.testing.assert_array_equal(
        Callee(function, "dt", "numpy", dtype="float64")(*one_head), sums(*one_head)
    )


def test_arrays_have_the_dtype_asked_for_and_outputs_are_wide() -> None:
    """The function is given arrays of its own that it may write to; the output is in float64."""
    seen = []

    def function(q: Any, k: Any, v: Any) -> Any:
        seen.append(q.dtype)
        q[:] = 0
        return (q + k + v,)  # some give weights beside the output

    given = [array.copy() for array in GIVEN]
    callee = Callee(function, "bhtd", "numpy")
    for dtype in ("float16", "float32"):
        out = callee.in_dtype(dtype)(*given)
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, given[1] + given[2], atol=0.02)
    assert seen == [np.float16, np.float32]
    np.testing.assert_array_equal(given[0], GIVEN[0])
    with pytest.raises(RefusedError, match="NumPy has no bfloat16"):
        callee.in_dtype("bfloat16")(*given)


@pytest.mark.parametrize(
    ("function", "refusal"),
    [
        (lambda _q, _k, _v: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda q, _k, _v: q[..., :3], "returned shape [2, 3, 5, 3] where [2, 3, 5, 4] is due"),
        (lambda _q, _k, _v: "text", "returned a str, which is no array"),
        (lambda _q, _k, _v: None, "returned None"),
    ],
)
def test_what_a_function_does_else_is_said_in_a_line(function: Callable[..., Any], refusal: str) -> None:
    """It raises, or gives back something of another shape or kind."""
    with pytest.raises(RefusedError) as caught:
        Callee(function, "bhtd", "numpy")(*GIVEN)
    assert str(caught.value).startswith(refusal)
    assert "\n" not in str(caught.value)


def test_overflow_inside_shows_in_what_comes_back() -> None:
    """It is provoked, and no warning of NumPy's."""
    found = Callee(lambda q, _k, _v: 1e30 * q * 1e30, "bhtd", "numpy")(*GIVEN)
    assert np.isinf(found).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "bhqd"}, "layout 'bhqd': name the axes by letters of 'bhtd', t and d at least"),
        ({"layout": "bhttd"}, "layout 'bhttd': name the axes"),
        ({"layout": "bht"}, "layout 'bht': name the axes"),
        ({"library": "cupy"}, "library 'cupy': give one of numpy, torch, jax"),
        ({"function": 3}, "3: is no function; give one that takes q, k and v"),
    ],
)
def test_bad_options_are_refused_before_the_function_is_called(options: dict[str, Any], message: str) -> None:
    """In one line that says what would do."""

    def never(*_: Any) -> Any:
        raise AssertionError

    usual = {"function": never, "layout": "bhtd", "library": None, "device": None, "sizes": SIZES}
    with pytest.raises(SettingsError) as caught:
        callee_of(**{**usual, **options})
    assert str(caught.value).startswith(message)


def test_the_first_library_whose_arrays_are_taken_is_used() -> None:
    """NumPy's unless another is named; a function that takes none says with which arrays it failed."""
    assert callee_of(sums, "bhtd", None, None, SIZES).library == "numpy"
    with pytest.raises(SettingsError) as caught:
        callee_of(math.hypot, "td", "numpy", None, Sizes(1, 1, 4))
    assert str(caught.value).startswith("hypot: raised TypeError")
    assert "(with arrays of numpy); give a function of q, k and v of shape [1, 1, 6, 4] as 'td'" in str(
        caught.value
    )


def test_tensors_are_given_without_gradients() -> None:
    """Of the dtype asked for, bfloat16 too; where no other library fits, it is found by itself."""
    torch = pytest.importorskip("torch", reason="needs the extra [torch]")
    seen = []

    def function(q: Any, k: Any, v: Any) -> Any:
        seen.append((torch.is_grad_enabled(), str(q.dtype)))
        return torch.relu(q) + k + v

    callee = callee_of(function, "bhtd", None, None, SIZES)
    assert callee.library == "torch"
    callee.in_dtype("bfloat16")(*GIVEN)
    # NumPy's arrays were tried first.
    assert seen == [(True, "float32"), (False, "torch.float32"), (False, "torch.bfloat16")]


class Model:
    """A callable object without a name of its own."""

    def __call__(self, q: Any, k: Any, v: Any) -> Any:
        """Return what it is given."""
        return sums(q, k, v)


def test_a_function_has_a_name() -> None:
    """Of a partial one that of what it calls, of an object that of its class."""
    names = [name_of(one) for one in (sums, functools.partial(sums, k=1), Model(), Model().__call__)]
    assert names == ["sums", "sums", "Model", "Model.__call__"]
