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
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

import verify
from tests.auditing.calls import arrays as vectors
from tests.auditing.calls import call
from verify.auditing.arrays import dtype_of, in_memory
from verify.auditing.files import FolderWriter, load, write
from verify.auditing.recording import (
    ARRAYS, Call, Described, Intended, Layer, Recording, check_call, check_shapes,
)  # fmt: skip
from verify.errors import OutputError, RecordingError

RNG = np.random.default_rng(1)
SHAPE = (3, 4, 5, 8)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Return a normal array."""
    return RNG.standard_normal(shape or SHAPE).astype(dtype)


def arrays(**other: Any) -> dict[str, Any]:
    """Return q, k, v and out of a call that fit each other, and what else is given."""
    return {name: normal() for name in ("q", "k", "v", "out")} | other


def savez(path: Path, content: dict[str, Any]) -> None:
    """Write an archive whose keys need not be names of arguments."""
    np.savez(path, **content)


def safetensors(path: Path, content: dict[str, np.ndarray], **texts: str) -> Path:
    """Write a safetensors file of arrays, with texts beside them."""
    path.write_bytes(save(content, texts))
    return path


def only_call(path: Path) -> Call:
    """Return the one call of the one layer of a recording."""
    (layer,) = load(path).layers
    (call,) = layer.calls
    return call


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
    kept = {key: normal().astype(dtype) for key in ("q", "k")}
    wanted = {key: one.astype(np.float32) if dtype == "bfloat16" else one for key, one in kept.items()}
    path = safetensors(tmp_path / "a.safetensors", kept, intended="0.5")
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
        (index | {"layers": [{"name": one, "files": ["0"]} for one in "ab"]}, r"names the file '0' twice"),
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
    for recording in (path, made):
        layer = verify.audit(recording, workers=1).layers[-1]
        assert layer.name == name.replace("\n", " ").replace("\x1b", r"\x1b")


def test_files_with_random_damage(tmp_path: Path) -> None:
    """Whatever bytes are changed, there is a recording or one clear line."""
    path = tmp_path / "a.npz"
    small = {key: array[:1, :2, :2, :2].copy() for key, array in arrays().items()}
    np.savez(path, **small, intended="1/d")
    archive = path.read_bytes()
    safetensors(path, small, intended="1")
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


class Trap:
    """An object whose unpickling would make a folder."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("trapped",)


def test_objects_are_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in an archive nor as a file of their own."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", q=np.array([Trap()], dtype=object), k=normal())
    with pytest.raises(RecordingError, match=r"a.npz: q holds Python objects, which are not unpickled"):
        load(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "weights.pt", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"weights.pt: weights/data.pkl is no array, and is not unp"):
        load(tmp_path / "weights.pt")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"b.npz: is cut short or malformed"):
        load(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", normal())
    with pytest.raises(RecordingError, match=r"c.npy: is a single array; give an archive"):
        load(tmp_path / "c.npy")
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors"])
def test_files_that_are_cut_short(tmp_path: Path, name: str) -> None:
    """Wherever it is, a clear line; never a number."""
    path = tmp_path / name
    if name.endswith("z"):
        np.savez(path, **arrays())
    else:
        safetensors(path, arrays())
    whole = path.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:size])
        with pytest.raises(RecordingError, match=r"is empty|is cut short or malformed|cannot be read"):
            load(path)


def test_a_damaged_archive(tmp_path: Path) -> None:
    """Its checksum is wrong, which shows when the array is read."""
    path = tmp_path / "a.npz"
    np.savez(path, **arrays())
    whole = bytearray(path.read_bytes())
    whole[400] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RecordingError, match=r"a.npz: q: is cut short or malformed \(BadZipFile: Bad CRC"):
        only_call(path)


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        (b"[]", "malformed"),
        (b"{" * 100_000, "malformed"),
        (b'{"q":{"dtype":"F32","shape":[1],"data_offsets":[0,9]}}', "malformed"),
        (b'{"q":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', "malformed"),
        (b'{"q":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}', "malformed"),
        (b'{"q":1}', "malformed"),
        (b"{}", "holds no arrays; give q and k at least"),
    ],
)
def test_headers_made_to_hurt(tmp_path: Path, header: bytes, wrong: str) -> None:
    """A header of any form is refused; one that says it is huge is not read."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 if b"F32" in header else 0))
    with pytest.raises(RecordingError, match=wrong):
        load(path)
    path.write_bytes(struct.pack("<Q", 2**63) + header)
    with pytest.raises(RecordingError, match="its first 8 bytes are no length of a header"):
        load(path)


def test_an_array_that_unpacks_to_more_than_a_batch(tmp_path: Path) -> None:
    """Its header says so; it is refused before it is unpacked."""
    path = tmp_path / "a.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2000000000, 1)}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(RecordingError, match=r"a.npz: q is larger than 8000 MB; give fewer sequences"):
        load(path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "No such file"),
        ("pipe", "is a pipe"),
        ("/dev/zero", "is no regular file"),
        ("a\0b", "embedded null byte|is not a path"),
        ("loop", "Too many levels"),
    ],
)
def test_what_is_no_regular_file(tmp_path: Path, name: str, reason: str) -> None:
    """It is refused at once, without waiting for a writer."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(RecordingError, match=reason):
        load(tmp_path / name)
    with pytest.raises(RecordingError, match="is not a path; give a NumPy archive"):
        load(None)  # type: ignore[arg-type]


def described(dtype: str = "float32", **shapes: tuple[int, ...]) -> dict[str, Described]:
    """Return q, k, v and out that fit each other, with what is given in their place or beside them."""
    whole = dict.fromkeys(("q", "k", "v", "out"), SHAPE) | shapes
    return {name: Described(shape, dtype) for name, shape in whole.items()}


def of_kind(name: str, dtype: str, shape: tuple[int, ...] = SHAPE) -> dict[str, Described]:
    """Return the same with one array of another kind of number."""
    return described() | {name: Described(shape, dtype)}


MISFITS: list[tuple[dict[str, Described], str]] = [
    ({"q": Described(SHAPE, "float32")}, "has no k; give q and k at least"),
    (described(q=(5, 8)), "q has shape [5, 8]; give it as [sequence, head, token, d]"),
    (described(q=(3, 0, 5, 8)), "q has no heads, its shape is [3, 0, 5, 8]; give one at least"),
    (described(k=(3, 4, 0, 8)), "k has no tokens, its shape is [3, 4, 0, 8]; give one at least"),
    (described(q=(0, 4, 5, 8)), "q has no sequences, its shape is [0, 4, 5, 8]; give one at least"),
    (described(q=(3, 4, 5, 0)), "q has d = 0, its shape is [3, 4, 5, 0]; give one at least"),
    (
        described(k=(3, 3, 5, 8)),
        "k has 3 heads, which do not divide q's 4; give as many as q, or a divisor of 4",
    ),
    (
        described(v=(3, 8, 5, 8)),
        "v has 8 heads, which do not divide q's 4; give as many as q, or a divisor of 4",
    ),
    *(
        (
            of_kind(name, "float32", shape),
            (
                f"{name} has shape {[*shape]} and {other} {[*SHAPE]}, which differ in axis {axis} ({what}); "
                f"give {SHAPE[axis]} there"
            ),
        )
        for name, shape, other, axis, what in (
            ("k", (3, 4, 5, 9), "q", 3, "d"),
            ("k", (2, 4, 5, 8), "q", 0, "sequence"),
            ("v", (2, 4, 5, 8), "q", 0, "sequence"),
            ("v", (3, 4, 6, 8), "k", 2, "token"),
            ("out", (1, 4, 5, 8), "q", 0, "sequence"),
            ("out", (3, 2, 5, 8), "q", 1, "head"),
            ("out", (3, 4, 6, 8), "q", 2, "token"),
            ("out", (3, 4, 5, 9), "v", 3, "d"),
        )
    ),
    (
        of_kind("mask", "bool", (4, 5)),
        "mask has shape [4, 5], the scores [3, 4, 5, 5]; give a shape that is broadcast to them",
    ),
    (
        of_kind("bias", "float32", (1, 3, 4, 5, 5)),
        "bias has shape [1, 3, 4, 5, 5], the scores [3, 4, 5, 5]; give a shape that is broadcast to them",
    ),
    (of_kind("sink", "float32", (3,)), "sink has shape [3]; give [4], one a head"),
    (of_kind("q", "int64"), "q has dtype int64; give one of float16, bfloat16, float32, float64"),
    (
        of_kind("out", "complex128"),
        "out has dtype complex128; give one of float16, bfloat16, float32, float64",
    ),
    (
        of_kind("mask", "float32", (5, 5)),
        (
            "mask has dtype float32; give booleans, True where a key may be seen, and what is added to the "
            "scores as bias"
        ),
    ),
]


@pytest.mark.parametrize(("arrays", "wrong"), MISFITS, ids=[str(place) for place in range(len(MISFITS))])
def test_what_does_not_fit_is_said_with_the_fix(arrays: dict[str, Described], wrong: str) -> None:
    """One line says where, what, and what to give."""
    with pytest.raises(RecordingError) as caught:
        check_shapes(arrays, "the place")
    assert str(caught.value) == f"the place: {wrong}"


@given(
    st.tuples(*[st.integers(1, 4)] * 3), st.sampled_from([1, 2, 3, 6]), st.integers(1, 5), st.integers(1, 5),
    st.integers(0, 4).flatmap(lambda rank: st.lists(st.booleans(), min_size=rank, max_size=rank)),
)  # fmt: skip
def test_all_that_numpy_broadcasts_fits(
    sizes: tuple[int, int, int], key_heads: int, d: int, d_v: int, kept: list[bool]
) -> None:
    """Any widths, grouped heads, other numbers of keys; masks and biases of any shape for the scores."""
    sequences, queries, keys = sizes
    scores = (sequences, 6, queries, keys)
    own = scores[len(scores) - len(kept) :]
    shape = tuple(size if keep else 1 for size, keep in zip(own, kept, strict=True))
    assert np.broadcast_shapes(shape, scores) == scores
    arrays = described(
        q=(sequences, 6, queries, d), k=(sequences, key_heads, keys, d), v=(sequences, key_heads, keys, d_v),
        out=(sequences, 6, queries, d_v), bias=shape, sink=(6,),
    )  # fmt: skip
    check_shapes(arrays | {"mask": Described(shape, "bool")}, "")


def test_a_call_is_described_by_its_arrays() -> None:
    """Each under the key that it has in a file; what is not given is not looked at."""
    one = call(sink=np.ones(1))
    check_call(one, "")
    for name, field in ARRAYS.items():
        wrong = Call(**{**vars(one), field: np.ones((1, 7, 1, 1), complex)})
        with pytest.raises(RecordingError, match=f"layer a: {name} has"):
            check_call(wrong, "layer a")


Q, K, V = (one.astype(np.float32) for one in vectors(2, d=8))


def test_tensors_in_memory_are_viewed_and_bfloat16_stays() -> None:
    """Single precision shares its memory; of bfloat16 every number is kept, and its type."""
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(Q).requires_grad_()
    mask = torch.ones(2, 1, 1, 24, dtype=torch.bool)
    same = in_memory(Call(q, torch.from_numpy(K), mask=mask, scale=0.5, causal=True))
    assert np.shares_memory(same.query, Q)
    assert (same.dtype, same.scale, same.causal, same.value) == ("float32", 0.5, True, None)
    assert same.mask is not None
    assert same.mask.dtype == bool
    half = in_memory(Call(q.bfloat16(), torch.from_numpy(K).bfloat16()))
    assert (half.dtype, half.query.dtype.name) == ("bfloat16", "bfloat16")
    assert np.array_equal(half.query.astype(np.float32), q.bfloat16().float().detach().numpy())


def test_arrays_of_jax_in_memory_are_viewed() -> None:
    """Half of both kinds and single precision, with nothing lost."""
    jnp = pytest.importorskip("jax.numpy")
    for dtype in ("bfloat16", "float16", "float32"):
        q, k = (jnp.asarray(one, dtype=dtype) for one in (Q, K))
        found = in_memory(Call(q, k))
        assert found.dtype == dtype
        assert isinstance(found.query, np.ndarray)
        assert np.array_equal(found.query.astype(np.float32), np.asarray(q, dtype=np.float32))


def _archive(path: Path, names: tuple[str, ...], header: bytes | None = None) -> Path:
    """Write an archive with these members, arrays of zeros, or with this header."""
    import io  # noqa: PLC0415
    import warnings  # noqa: PLC0415
    import zipfile  # noqa: PLC0415

    stream = io.BytesIO()
    np.save(stream, np.zeros((1, 1, 4, 4), np.float32))
    content = stream.getvalue() if header is None else stream.getvalue().replace(b"(1, 1, 4, 4)", header)
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is there already
        for name in names:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("names", "header", "message"),
    [
        (("q.npy", "k.npy", "q.npy"), None, "has q.npy twice; give each array once"),
        (("q.npy", "k.npy"), b"(1, 1,-4,-4)", "negative"),
        (("x" * 60_000 + "/q.npy", "x" * 60_000 + "/k.npy"), None, "its name has 60,000 characters"),
    ],
)
def test_hostile_archives_are_refused_in_a_short_line(
    tmp_path: Path, names: tuple[str, ...], header: bytes | None, message: str
) -> None:
    """An array twice, negative sizes, and a name that would fill pages."""
    with pytest.raises(RecordingError, match=message) as caught:
        load(_archive(tmp_path / "a.npz", names, header))
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
