"""A probe compares kernels in corners: those that are wrong in one only fail there, and by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import verify
from verify.auditing.probe import parametrize_probes, probe
from verify.errors import SettingsError

torch = pytest.importorskip("torch", reason="needs the extra [torch]")


def attend(q: Any, k: Any, v: Any, seen: Any = None, most: float = torch.inf) -> Any:
    """Plain attention, with scores of at most ``most``."""
    scores = (q @ k.mT * q.shape[-1] ** -0.5).clamp(max=most)
    if seen is not None:
        scores = scores.masked_fill(~seen(*scores.shape[-2:]), -torch.inf)
    return scores.softmax(-1) @ v


def blocked(q: Any, k: Any, v: Any, forgets: int | None = None) -> Any:
    """Attend block by block with running sums; after ``forgets`` keys the sums are not scaled down."""
    out, total = torch.zeros_like(q), torch.zeros_like(q[..., :1])
    top = torch.full_like(total, -torch.inf)
    for start in range(0, k.shape[2], 64):
        scores = q @ k[:, :, start : start + 64].mT * q.shape[-1] ** -0.5
        higher = torch.maximum(top, scores.amax(-1, keepdim=True))
        e, factor = (scores - higher).exp(), (top - higher).exp()
        total = total * factor + e.sum(-1, keepdim=True)
        out = out * (factor if forgets is None or start < forgets else 1) + e @ v[:, :, start : start + 64]
        top = higher
    return out / total


def up_to(last: Callable[[int], int]) -> Callable[[Any, Any, Any], Any]:
    """Return attention to the first keys only, of so many."""
    return lambda q, k, v: attend(q, k[:, :, : last(k.shape[2])], v[:, :, : last(k.shape[2])])


def off(where: Callable[[Any, Any, Any], bool]) -> Callable[[Any, Any, Any], Any]:
    """Return attention that is 10% too large where arrays are so."""
    return lambda q, k, v: attend(q, k, v) * (1.1 if where(q, k, v) else 1)


def zeros_in_the_last_row(q: Any, k: Any, v: Any) -> Any:
    """Leave the tail of a length that is not divisible by 64 unwritten."""
    out = attend(q, k, v)
    if q.shape[2] % 64:
        out[:, :, -1] = 0
    return out


FAULTS: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "non-contiguous": (off(lambda q, _k, _v: not q.is_contiguous()), "transposed arrays"),
    "keys beyond 1024": (up_to(lambda _: 1024), "1 queries, 1025 keys"),
    "lengths cut to multiples of 8": (up_to(lambda keys: max(keys // 8 * 8, 1)), "9 tokens"),
    "scores above 50": (lambda q, k, v: attend(q, k, v, most=50), "scores of 100"),
    "keys beyond 128": (up_to(lambda _: 128), "129 tokens"),
    "offset": (off(lambda q, _k, _v: q.storage_offset() > 0), "every second arrays"),
    "broadcast": (off(lambda _q, k, _v: 0 in k.stride()), "broadcast arrays"),
    "bfloat16": (off(lambda q, _k, _v: q.dtype == torch.bfloat16), "bfloat16"),
    "double": (off(lambda q, _k, _v: q.dtype == torch.float64), "float64"),
    "three sequences": (off(lambda q, _k, _v: q.shape[0] > 2), "sequences"),
    "one query": (off(lambda q, k, _v: q.shape[2] == 1 < k.shape[2]), "1 queries"),
    "more queries": (off(lambda q, k, _v: q.shape[2] > k.shape[2] > 9), "130 queries, 64 keys"),
    "one width": (off(lambda q, _k, _v: q.shape[3] == 96), "d = 96"),
    "overflow": (
        lambda q, k, v: (e := (q @ k.mT * q.shape[-1] ** -0.5).exp()) / e.sum(-1, keepdim=True) @ v,
        "scores of 100",
    ),
    "last row": (zeros_in_the_last_row, "a row do not add up to 1"),
    # Keys of padding take part.
    "padding": (
        lambda q, *kv: attend(q, *(torch.nn.functional.pad(x, (0, 0, 0, -x.shape[2] % 16)) for x in kv)),
        "is not softmax(c·QKᵀ + mask)·V",
    ),
    "small weights": (
        lambda q, k, v: torch.where((w := (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)) < 1e-3, 0, w) @ v,
        "",
    ),
    "float16": (off(lambda q, _k, _v: q.dtype == torch.float16), "float16"),
    "more than four heads": (off(lambda q, _k, _v: q.shape[1] > 4), "heads"),
    "writes": (
        lambda q, k, v: attend(2 * q.mul_(0.5), k, v),
        "inputs left as they are: it writes to its queries",
    ),
    "running sums": (lambda q, k, v: blocked(q, k, v, 256), "513 tokens"),
    "one too many": (
        lambda q, k, v: attend(q, k, v, lambda *sizes: torch.ones(sizes, dtype=torch.bool).tril(1)),
        "the mask is causal, but off by +1",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_kernel_that_is_wrong_in_a_corner_fails_there(name: str) -> None:
    """What is wrong says where, or that it is not understood, and the assertion fails."""
    function, said = FAULTS[name]
    probed = probe(function, 32, heads=2)
    assert any(said in line for line in (*probed.faults, *probed.unexplained)), probed.faults
    with pytest.raises(AssertionError, match=": "):
        probed.assert_is()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "which", "said"),
    [(-5.0, 0, "dQ is -5 times"), (2.0, 1, "dK is 2 times"), (1.001, 2, "dV is 1.001 times"), (0.0, 0, "dQ")],
)
def test_gradients_are_held_to_the_formula(factor: float, which: int, said: str) -> None:
    """A kernel that is right forward may be wrong backward."""

    def function(*given: Any) -> Any:
        arrays, x = list(given), given[which]
        arrays[which] = x.detach() + factor * (x - x.detach())  # the same, but for its gradient
        return attend(*arrays)

    assert probe(function, 16, heads=2).faults == ()
    (fault,) = probe(function, 16, heads=2, gradient=True).faults
    assert fault.startswith("at gradients, 16 queries, 16 keys")
    assert said in fault
    missing = probe(lambda q, k, v: attend(q.detach(), k, v), 16, heads=2, gradient=True)
    assert any("dQ: there is none" in fault for fault in missing.faults)


SDPA = torch.nn.functional.scaled_dot_product_attention
RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "plain": (SDPA, {"heads": 2}),
    "causal": (partial(SDPA, is_causal=True), {"heads": 2}),
    "grouped": (partial(SDPA, enable_gqa=True), {"key_heads": 2}),
    "block by block": (blocked, {"heads": 2}),
    "doubles as singles": (lambda q, k, v: attend(q.float(), k.float(), v.float()).to(q.dtype), {"heads": 2}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_right_in_all_corners(name: str) -> None:
    """None is wrong, forwards and backwards, and most are tried."""
    function, sizes = RIGHT[name]
    probed = probe(function, 32, gradient=True, **sizes)
    assert sum(corner.outcome == "right" for corner in probed.corners) > 60
    assert (probed.faults, probed.unexplained) == ((), ())
    none = replace(probed, corners=tuple(corner._replace(outcome="refused") for corner in probed.corners))
    assert none.unexplained == ("no corner was taken, so that none is known to be right",)


FIRST_128 = up_to(lambda _: 128)
MORE_KEYS = [
    *(f"{tokens} tokens" for tokens in (129, 255, 257, 383, 513)),
    *("1 queries, 1025 keys", "1 queries, 4099 keys", "17 queries, 4099 keys", "64 queries, 130 keys"),
    *("127 queries, 129 keys", "130 queries, 1025 keys"),
    *(f"{dtype}, 130 tokens" for dtype in ("float16", "bfloat16", "float64")),
]


@pytest.mark.slow
@verify.parametrize_probes(  # type: ignore[untyped-decorator]
    FIRST_128, 16, heads=1, expected_failures=dict.fromkeys(MORE_KEYS, "keys beyond 128 are left out")
)
def test_each_check_is_a_test(check: Callable[[], None]) -> None:
    """With the failures that are known, each is what it is expected to be."""
    check()


def test_an_expected_failure_has_the_name_of_a_check() -> None:
    """Another one is refused in one line."""
    with pytest.raises(SettingsError, match="check '128 token'"):
        parametrize_probes(attend, expected_failures={"128 token": "?"})
