"""An audit takes what somebody has: a recording, its path, or arrays with what was declared beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import arrays, attention
from verify.auditing.recording import Call, Layer, Recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_arrays_a_file_and_a_recording_are_audited_alike(tmp_path: Path) -> None:
    """The same numbers by three ways have the same findings; a wrong scale ends with 1."""
    q, k, v = (one.astype(np.float32) for one in arrays(1, sequences=3, d=16))
    out = attention(q, k, v, scale=1 / 16).astype(np.float32)
    np.savez(tmp_path / "attention.npz", q=q, k=k, v=v, out=out)
    recording = Recording("mine", [Layer("attention", [Call(q, k, v, out)])])
    first, *others = (
        verify.audit(q, k, v=v, out=out),
        verify.audit(tmp_path / "attention.npz"),
        verify.audit(str(tmp_path / "attention.npz")),
        verify.audit(recording),
    )
    assert all(one.layers[0].findings == first.layers[0].findings for one in others)
    assert first.exit_status() == 1
    assert verify.audit(recording, intended=1 / 16).exit_status() == 0
    assert verify.audit(q, k, v=v, out=out, intended="1/d", gate=["entropy:0.5.."]).settings.gates


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[1.0]], [[1.0]]), "q: is list; give an array of NumPy, PyTorch or JAX"),
        ((np.ones((1, 1, 9, 4)),), "k: is NoneType; give an array"),
        (
            (np.ones((9, 4)), np.ones((9, 4))),
            r"q has shape \[9, 4\]; give it as \[sequence, head, token, d\]",
        ),
        (("none.npz",), r"none\.npz"),
        (("none.npz", np.ones((1, 1, 9, 4))), "k: a recording has its own; leave it out"),
    ],
)
def test_what_is_no_attention_is_refused_in_one_line(given: tuple[Any, ...], message: str) -> None:
    """The error names the argument and says what is wanted."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.audit(*given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"scale": one}, "scale .*: give a finite number")
            for one in (math.nan, "1", True, np.ones(2), 1j)
        ),
        ({"softcap": 0.0}, "softcap 0.0: give a number above 0, or none"),
        ({"softcap": "30"}, "softcap '30': give a finite number"),
        ({"sink": [1.0]}, "sink: is list; give an array"),
        ({"sink": np.ones(2)}, r"sink has shape \[2\]; give \[1\], one a head"),
    ],
)
def test_what_is_no_number_or_sink_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    """Text and truth values are no numbers, though Python would take them for some."""
    with pytest.raises(verify.VerifyError, match=message) as caught:
        verify.audit(np.ones((1, 1, 9, 4)), np.ones((1, 1, 9, 4)), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [np.float32, np.float64, np.array])
def test_numbers_of_any_library_are_numbers(number: Callable[[float], Any]) -> None:
    """A scale that a program computed is one, whatever its type."""
    q, k, _ = arrays(1, d=16)
    assert verify.audit(q, k, scale=number(0.25), softcap=number(30.0), workers=1).exit_status() == 0


def test_declared_softcap_and_sinks_belong_to_the_attention() -> None:
    """Right attention with both is confirmed where they are declared, and refuted where they are not."""
    q, k, v = arrays(1, d=16, deviation=3.0)
    declared: dict[str, Any] = {"softcap": 2.0, "sink": np.array([1.0, 0.5, 2.0, -1.0])}
    out = attention(q, k, v, scale=0.25, **declared)
    assert verify.audit(q, k, v=v, out=out, **declared, workers=1).exit_status() == 0
    assert verify.audit(q, k, v=v, out=out, workers=1).exit_status() == 1


def test_an_intention_without_its_width_names_the_layer() -> None:
    """D is known of models alone."""
    q, k, _ = arrays(1, d=16)
    with pytest.raises(verify.VerifyError, match=r"^layer attention: intended scale '1/sqrt\(D\)': D, the"):
        verify.audit(q, k, intended="1/sqrt(D)")
