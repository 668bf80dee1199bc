"""Recordings come back as they were written, and whatever is wrong with one is said in a clear line."""

import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import verify
from tests.auditing.calls import only, write
from verify.auditing.record import FolderWriter, load
from verify.auditing.recording import Call, Intended, Layer, Recording, dtype_of
from verify.errors import OutputError, RecordingError

RNG = np.random.default_rng(1)
SHAPE = (3, 4, 5, 8)


def normal(*shape: int) -> Any:
    """Return a normal array."""
    return RNG.standard_normal(shape or SHAPE).astype(np.float32)


def arrays(**other: Any) -> dict[str, Any]:
    """Return q, k, v and out of a call that fit each other, and what else is given."""
    return {name: normal() for name in ("q", "k", "v", "out")} | other


def test_an_archive_comes_back(tmp_path: Path) -> None:
    """All keys, and twice where its calls are run through twice."""
    path = tmp_path / "some.npz"
    given = arrays(mask=np.tri(5, dtype=bool), bias=normal(5, 5), sink=normal(4))
    np.savez(path, **given, scale=0.25, softcap=50, causal=True, intended="1/sqrt(d)")
    (layer,) = load(path).layers
    assert layer.name == "some"
    assert layer.intended == Intended("1/sqrt(d)", "recorded", f"intended in {path}")
    for _ in range(2):
        (call,) = layer.calls
        back = call.query, call.key, call.value, call.output, call.mask, call.bias, call.sink
        for array, wanted in zip(back, given.values(), strict=True):
            np.testing.assert_array_equal(array, wanted)
        assert (call.scale, call.softcap, call.causal, call.dtype) == (0.25, 50.0, True, "")


def test_layers_are_in_the_natural_order_of_their_names(tmp_path: Path) -> None:
    """Two comes before ten; a name that would fill pages is cut; a layer without q is refused by its name."""
    path = tmp_path / "some.npz"
    pair = {"q": normal(), "k": normal()}
    np.savez(path, **{f"block.{n}/{key}": array for n in (10, 2) for key, array in pair.items()})
    assert [layer.name for layer in load(path).layers] == ["block.2", "block.10"]
    np.savez(path, **{"x" * 60_000 + f"/{key}": array for key, array in pair.items()})
    assert load(path).layers[0].name == "x" * 200
    np.savez(path, **{"block.2/k": normal()})
    with pytest.raises(RecordingError, match=r"some.npz: layer block.2: has no q; give q and k"):
        load(path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_safetensors_of_every_dtype(tmp_path: Path, dtype: str) -> None:
    """bfloat16 comes as float32 with the same values, and its name."""
    given = {key: normal().astype(dtype) for key in ("q", "k")}
    wanted = {key: array.astype(np.float32) if dtype == "bfloat16" else array for key, array in given.items()}
    path = tmp_path / "a.safetensors"
    path.write_bytes(save(given | {"intended": np.array(0.5)}))
    call = only(load(path))
    np.testing.assert_array_equal(call.query, wanted["q"])
    np.testing.assert_array_equal(call.key, wanted["k"])
    assert dtype_of(call) == dtype
    assert load(path).layers[0].intended == Intended("0.5", "recorded", f"intended in {path}")


def test_a_folder_without_its_index_is_no_recording(tmp_path: Path) -> None:
    """It is written at the end; what it says is checked."""
    FolderWriter(tmp_path).add("a", Call(normal(), normal()))
    with pytest.raises(RecordingError, match=r"recording.json: cannot be read \(No such file"):
        load(tmp_path)
    outside = {"name": "a", "files": ["../0.safetensors"]}
    index = {"recording_schema": 1, "source": "x", "layers": [outside]}
    for content, wrong in [
        (
            index | {"layers": [outside | {"files": ["a.npz"], "mask": "triangle"}]},
            r"json: layer a: mask 'triangle': give",
        ),
        (index | {"layers": [outside | {"width": 0}]}, r"layers.0.width 0: should be greater than 0"),
        (index, r"names the file '../0.safetensors' outside its folder"),
        (index | {"recording_schema": 2}, r"is not what a recording writes"),
        ([], r"is not what a recording writes"),
    ]:
        (tmp_path / "recording.json").write_text(json.dumps(content))
        with pytest.raises(RecordingError, match=wrong):
            load(tmp_path)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"a": normal(), "b": normal()}, "has no q and no k; .*; has a key 'a'; the keys are q, k, v, out"),
        (arrays(q=normal(5, 8)), r"q has shape \[5, 8\]; give it as \[sequence, head, query, d\]"),
        (arrays(mask=normal(5, 5)), "mask has dtype float32; give booleans, True where a key may be seen"),
        (arrays(q=np.ones(SHAPE, int)), "q has dtype int64; give one of float16"),
        (arrays(k=normal(3, 3, 5, 8)), "key heads are 3, which do not divide the 4 of q; give a divisor"),
        (arrays(v=normal(3, 4, 6, 8)), r"v has shape .*; give 5 in axis 2 \(key\) as others do"),
        (arrays(bias=normal(1, 3, 4, 5, 5)), r"bias has shape .*; give a shape that is broadcast to them"),
        (arrays(sink=normal(3)), r"sink has shape \[3\]; give 4 in axis 0 \(head\)"),
        (arrays(scale=np.ones(4)), "scale is an array of float64; give one number"),
        (arrays(scale=np.nan), "scale is nan; give a finite number"),
        (arrays(scale=0.0), "scale is 0, with which all keys weigh the same"),
        (
            {f"model.7/{key}": array for key, array in arrays(intended="1/sqrt(dk)").items()},
            r"layer model.7: intended scale '1/sqrt\(dk\)': 'dk' is not allowed in it",
        ),
        (arrays(intended=np.array(["1", "d"])), "intended is an array; give a single expression"),
    ],
)
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
    layers = {f"{name}/{key}": array for key, array in pair.items()}
    np.savez(path, **pair, intended="1/sqrt(d)", **layers)
    made = Recording(name, [Layer(name, [Call(query=normal(), key=normal())], notes=(name,))], (name,))
    for recording in (path, made):
        layer = verify.audit(recording).layers[-1]
        assert layer.name == name.replace("\n", " ").replace("\x1b", r"\x1b")


def test_a_folder_comes_back(tmp_path: Path) -> None:
    """What is written is what is read, bfloat16 to the bit."""
    half = normal().astype("bfloat16").astype(np.float32)
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
    assert [layer.name for layer in back.layers] == ["model.layers.0.self_attn", "other"]
    first = back.layers[0]
    for field in ("intended", "width", "backend", "padded", "notes"):
        assert getattr(first, field) == getattr(layer, field)
    masked, capped = first.calls
    np.testing.assert_array_equal(masked.output, half)
    np.testing.assert_array_equal(masked.mask, np.tri(5, dtype=bool))
    assert (masked.scale, dtype_of(masked), masked.causal, masked.sink) == (0.125, "bfloat16", False, None)
    assert (capped.scale, capped.causal, capped.softcap, capped.value) == (None, True, 30.0, None)
    with pytest.raises(OutputError, match="rec: holds a recording already; remove it"):
        write(recording, tmp_path / "rec")


def test_objects_are_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in an archive nor as a file of their own: unpickling one would make a folder."""

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, ("trapped",)

    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", q=np.array([Trap()], dtype=object), k=normal())
    with pytest.raises(RecordingError, match=r"a.npz: .*Object arrays cannot be loaded"):
        load(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "weights.pt", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"weights.pt: weights/data.pkl is a pickled object"):
        load(tmp_path / "weights.pt")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"b.npz: is cut short or malformed"):
        load(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", normal())
    with pytest.raises(RecordingError, match=r"c.npy: is a single array; give an archive"):
        load(tmp_path / "c.npy")
    assert not (tmp_path / "trapped").exists()


def test_files_that_lie(tmp_path: Path) -> None:
    """A file that ends early, eight bits, which are no numbers of NumPy's, and 16 GB that are not there."""
    entry = {"dtype": "F8_E4M3", "shape": [1, 1, 2, 2], "data_offsets": [0, 4]}
    header = json.dumps({"q": entry}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(RecordingError, match=r"a.safetensors: has a type of number .*; store"):
        load(tmp_path / "a.safetensors")
    (tmp_path / "b.safetensors").write_bytes(save({"q": normal()})[:-1])
    with pytest.raises(RecordingError, match=r"b.safetensors: is cut short or malformed"):
        load(tmp_path / "b.safetensors")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2000000000, 1)}\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(RecordingError, match=r"a.npz: (is cut short|does not fit into memory)"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none", "No such file"), ("a\0b", "embedded null byte|is not a path"), ("loop", "Too many levels")],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, reason: str) -> None:
    """One line says why."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(RecordingError, match=reason):
        load(tmp_path / name)
