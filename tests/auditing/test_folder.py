"""Recordings as folders: what is written is what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.auditing.stored import normal
from verify.auditing.arrays import dtype_of, narrowed, widened
from verify.auditing.files import load
from verify.auditing.folder import write
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.errors import OutputError, RecordingError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_comes_back(tmp_path: Path) -> None:
    """What is written is what is read, bfloat16 to the bit."""
    half = widened(narrowed(normal()))
    layer = Layer(
        name="model.layers.0.self_attn",
        calls=[
            Call(half, half, half, half, mask=np.tri(5, dtype=bool), scale=0.125, dtype="bfloat16"),
            Call(normal(), normal(), causal=True, softcap=30.0, sink=normal(4)),
        ],
        intended=Intended("24**-0.5", "configuration", "query_pre_attn_scalar"),
        width=32,
        backend="sdpa",
        padded={"absorbed": 576},
        notes=("one note",),
    )
    recording = Recording("a model", [layer, Layer("other", [Call(normal(), normal())])], ("something",))
    write(recording, tmp_path / "rec")
    back = load(tmp_path / "rec")
    assert (back.source, back.left_out) == ("a model", ("something",))
    assert [one.name for one in back.layers] == ["model.layers.0.self_attn", "other"]
    first = back.layers[0]
    for field in ("intended", "width", "backend", "padded", "notes"):
        assert getattr(first, field) == getattr(layer, field)
    one, two = first.calls
    np.testing.assert_array_equal(one.output, half)
    np.testing.assert_array_equal(one.mask, np.tri(5, dtype=bool))
    assert (one.scale, one.dtype, one.causal, one.sink) == (0.125, "bfloat16", False, None)
    assert (two.scale, two.causal, two.softcap, two.value) == (None, True, 30.0, None)
    with pytest.raises(OutputError, match="rec: holds a recording already; remove it"):
        write(recording, tmp_path / "rec")


def test_arrays_of_jax_are_written(tmp_path: Path) -> None:
    """bfloat16 too, to the bit."""
    jax = pytest.importorskip("jax", reason="needs the extra [jax]")
    for dtype in ("float32", "bfloat16"):
        given = jax.numpy.asarray(normal(), dtype=dtype)
        write(Recording("jax", [Layer("a", [Call(given, given)])]), tmp_path / dtype)
        (call,) = load(tmp_path / dtype).layers[0].calls
        assert dtype_of(call) == dtype
        np.testing.assert_array_equal(call.query, np.asarray(given).astype(np.float32))


def test_layers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """A recording that is written has a name for each layer."""
    calls = [Call(normal(), normal())]
    with pytest.raises(RecordingError, match="layer a: is the name of two layers; give each its own"):
        write(Recording("x", [Layer("a", calls), Layer("a", calls)]), tmp_path / "rec")
    assert not (tmp_path / "rec").exists()
