"""Devices: found by PyTorch's name, or one line says why not."""

import sys
from collections.abc import Iterator

import pytest

from verify.montecarlo.devices import Device, DeviceError, computing_on, find_device


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Look for devices again in each test, and after it."""
    find_device.cache_clear()
    yield
    find_device.cache_clear()


@pytest.mark.parametrize(
    "name", ["", "gpu", "mps", "CUDA", "cuda:", "cuda:-1", "cuda:1.0", "cpu:0", "cuda:\n0"]
)
def test_another_name_is_refused(name: str) -> None:
    """The line says which there are."""
    with pytest.raises(DeviceError, match="give cuda, cuda:N with the number of a GPU, or cpu"):
        find_device(name)


def test_without_pytorch_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceError, match=r"install it with `pip install 'sdpa-verify\[torch\]'`"):
        find_device("cuda")


@pytest.mark.parametrize(
    ("name", "cards", "found"),
    [("cuda", 0, "finds no card here"), ("cuda:2", 2, "finds 2 of them, counted from 0")],
)
def test_without_the_card_one_line_says_what_there_is(
    monkeypatch: pytest.MonkeyPatch, name: str, cards: int, found: str
) -> None:
    """And how to go on without."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    with pytest.raises(DeviceError, match=rf"{name}: .* {found}; leave --device out"):
        find_device(name)


def test_a_card_is_found_with_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a card is counted from 0, and the generator that is recorded names the card."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", "Card {}".format)
    assert find_device("cuda").model == "Card 0"
    found = find_device("cuda:1")
    assert found == Device("cuda:1", "Card 1", f"PyTorch {torch.__version__}")
    assert found.generator == f"Philox of PyTorch {torch.__version__} on Card 1, single precision"


def test_what_fails_on_the_device_is_one_line_and_settings_come_back() -> None:
    """Memory that runs out, for one; afterwards PyTorch computes as before."""
    torch = pytest.importorskip("torch")
    precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()

    def compute() -> None:
        with computing_on(find_device("cpu")):
            assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == ("highest", 1)
            raise RuntimeError("out of memory\nmore")

    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(DeviceError, match=r"failed there \(out of memory\); leave --device out"):
            compute()
        assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == ("medium", threads)
    finally:
        torch.set_float32_matmul_precision(precision)
