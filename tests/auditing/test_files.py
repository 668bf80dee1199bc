"""Recordings are read from archives, safetensors files and folders; whatever is wrong is said in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import verify
from tests.auditing.stored import RNG, SHAPE, arrays, normal, only_call, safetensors, savez
from verify.auditing.arrays import dtype_of, narrowed, widened
from verify.auditing.files import load
from verify.auditing.folder import FolderWriter, write
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.errors import RecordingError

if TYPE_CHECKING:
    from pathlib import Path


def test_an_archive_comes_back(tmp_path: Path) -> None:
    """All keys, and twice where its calls are run through twice."""
    path = tmp_path / "some.npz"
    given = arrays(
        mask=np.tri(5, dtype=bool), bias=normal(5, 5), sink=normal(4), scale=0.25, softcap=50, causal=True
    )
    np.savez(path, **given, intended="1/sqrt(d)")
    (layer,) = load(path).layers
    assert layer.name == "some"
    assert layer.intended == Intended("1/sqrt(d)", "recorded", f"intended in {path}")
    for _ in range(2):
        (call,) = layer.calls
        for key, name in [("q", "query"), ("k", "key"), ("v", "value"), ("out", "output"), ("bias", "bias")]:
            np.testing.assert_array_equal(getattr(call, name), given[key])
        np.testing.assert_array_equal(call.mask, given["mask"])
        np.testing.assert_array_equal(call.sink, given["sink"])
        assert (call.scale, call.softcap, call.causal, call.dtype) == (0.25, 50.0, True, "")


def test_layers_are_in_the_natural_order_of_their_names(tmp_path: Path) -> None:
    """Two comes before ten; a layer without q is refused by its name."""
    path = tmp_path / "some.npz"
    pair = {"q": normal(), "k": normal()}
    savez(path, {f"block.{n}/{key}": array for n in (10, 2) for key, array in pair.items()})
    assert [layer.name for layer in load(path).layers] == ["block.2", "block.10"]
    savez(path, {"block.2/k": normal()})
    with pytest.raises(RecordingError, match=r"some.npz: layer block.2: has no q; give q and k"):
        load(path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_safetensors_of_every_dtype(tmp_path: Path, dtype: str) -> None:
    """bfloat16 comes as float32 with the same values, and its name."""
    values = {key: normal() for key in ("q", "k")}
    if dtype == "bfloat16":
        kept = {key: narrowed(one) for key, one in values.items()}
        wanted = {key: widened(one) for key, one in kept.items()}
        assert not np.array_equal(wanted["q"], values["q"])
        np.testing.assert_allclose(wanted["q"], values["q"], rtol=2**-7)
    else:
        kept = wanted = {key: one.astype(dtype) for key, one in values.items()}
    path = safetensors(
        tmp_path / "a.safetensors", {k: (one, dtype) for k, one in kept.items()}, intended="0.5"
    )
    call = only_call(path)
    np.testing.assert_array_equal(call.query, wanted["q"])
    np.testing.assert_array_equal(call.key, wanted["k"])
    assert dtype_of(call) == dtype
    assert load(path).layers[0].intended == Intended("0.5", "recorded", f"intended in {path}")


def test_a_folder_without_its_index_is_no_recording(tmp_path: Path) -> None:
    """It is written at the end; what it says is checked."""
    FolderWriter(tmp_path).add("a", Call(normal(), normal()))
    with pytest.raises(RecordingError, match=r"recording.json: cannot be read \(No such file"):
        load(tmp_path)
    index = {"recording_schema": 1, "source": "x", "layers": [{"name": "a", "files": ["../0.safetensors"]}]}
    for content, wrong in [
        (index, r"names the file '../0.safetensors' outside its folder"),
        (index | {"layers": [{"name": "a", "files": []}]}, r"layer a: has no calls"),
        (index | {"recording_schema": 2}, r"is not what a recording writes"),
        ([], r"is not what a recording writes"),
    ]:
        (tmp_path / "recording.json").write_text(json.dumps(content))
        with pytest.raises(RecordingError, match=wrong):
            load(tmp_path)


def test_batches_of_a_layer_have_the_same_heads(tmp_path: Path) -> None:
    """Other lengths they may have."""
    calls = [Call(normal(2, 4, 5, 8), normal(2, 4, 5, 8)), Call(normal(1, 4, 9, 8), normal(1, 4, 7, 8))]
    write(Recording("x", [Layer("a", calls)]), tmp_path / "good")
    assert [call.query.shape[2] for call in load(tmp_path / "good").layers[0].calls] == [5, 9]
    calls.append(Call(normal(2, 2, 5, 8), normal(2, 2, 5, 8)))
    write(Recording("x", [Layer("a", calls)]), tmp_path / "bad")
    with pytest.raises(RecordingError, match=r"0000-0002.safetensors: q has 2 heads of 8 dimensions, in"):
        load(tmp_path / "bad")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"q": normal()}, "has no k; give q and k at least"),
    (arrays(query=normal()), "no key 'query'; the keys are q, k, v, out"),
    ({"a": normal(), "b": normal()}, "has no q and no k, but a key 'a'; the keys are q, k, v, out, mask"),
    ({"q": normal(), "keys": normal()}, "has no k, but a key 'keys'; the keys are q, k, v"),
    (arrays(q=normal(5, 8)), r"q has shape \[5, 8\]; give it as \[sequence, head, token, d\]"),
    (arrays(mask=normal(5, 5)), "mask has dtype float32; give booleans, True where a key may be seen"),
    (arrays(q=np.ones(SHAPE, int)), "q has dtype int64; give one of float16"),
    (arrays(scale=np.ones(4)), "scale is an array of float64; give one number"),
    (arrays(scale=np.nan), "scale is nan; give a finite number"),
    (arrays(intended=np.array("1/sqrt(dk)")), r": intended scale '1/sqrt\(dk\)': 'dk' may not stand in it"),
    ({f"model.7/{key}": one for key, one in arrays(intended="x").items()}, "layer model.7: intended scale"),
    (arrays(intended=np.array(["1", "d"])), "intended is an array of texts; give one expression"),
]


@pytest.mark.parametrize(("content", "wrong"), WRONG)
def test_arrays_that_do_not_fit(tmp_path: Path, content: dict[str, Any], wrong: str) -> None:
    """One line says what, where, and how to fix it, before anything is computed."""
    path = tmp_path / "a.npz"
    np.savez(path, **content)
    with pytest.raises(RecordingError, match=wrong) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [r"a$\frac{$", "a\nb", "\x1b[1m", "$x$", "é"])
def test_odd_names_are_only_shown(tmp_path: Path, name: str) -> None:
    """A name of a file or layer is no formula and no command for a terminal, wherever it comes from."""
    pair = {"q": normal(), "k": normal()}
    path = tmp_path / f"{name}.npz"
    savez(path, {**pair, "intended": "1/sqrt(d)"} | {f"{name}/{key}": one for key, one in pair.items()})
    made = Recording(name, [Layer(name, [Call(query=normal(), key=normal())], notes=(name,))], (name,))
    for given in (path, made):
        layer = verify.audit(given, workers=1).layers[-1]
        assert layer.name == name.replace("\n", " ").replace("\x1b", r"\x1b")


def test_files_with_random_damage(tmp_path: Path) -> None:
    """Whatever bytes are changed, there is a recording or one clear line."""
    path = tmp_path / "a.npz"
    small = {key: array[:1, :2, :2, :2].copy() for key, array in arrays().items()}
    np.savez(path, **small, intended="1/d")
    archive = path.read_bytes()
    safetensors(path, {key: (array, "float32") for key, array in small.items()}, intended="1")
    tensors = path.read_bytes()
    refused = []
    for _ in range(300):
        damaged = bytearray(RNG.choice([archive, tensors]))
        for _ in range(RNG.integers(1, 5)):
            damaged[RNG.integers(len(damaged))] = RNG.integers(256)
        path.write_bytes(damaged)
        try:
            for layer in load(path).layers:
                assert all(call.query.ndim == 4 for call in layer.calls)
        except RecordingError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert not any("\n" in line for line in refused)
