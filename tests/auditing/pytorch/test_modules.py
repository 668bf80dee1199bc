"""Which module is running, and the name that it has in the outermost one."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import verify
from tests.auditing.pytorch.recorded import attention, torch

functional = torch.nn.functional


class Twice(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not checked
    """A module that attends twice, and one within it that is run twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        """Attend four times."""
        for _ in range(2):
            y = functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], scale=2.0)
        return self.inner(x, x, x)[0] + self.inner(x, x, x)[0] + y[:, 0]


def test_every_place_of_a_pass_is_a_layer() -> None:
    """A second pass has the same layers; the calls of one layer are of different sequences."""
    model = torch.nn.Sequential(Twice())
    with verify.record() as recording:
        for _ in range(3):
            model(torch.randn(2, 5, 8))
    assert [(one.name, len(list(one.calls))) for one in recording.layers] == [
        ("0", 3),
        ("0 (2)", 3),
        ("0.inner", 3),
        ("0.inner (2)", 3),
    ]


def test_models_of_one_name_are_told_apart() -> None:
    """The second has its class before the names that the first has, the third a number as well."""
    models = [torch.nn.Sequential(torch.nn.MultiheadAttention(8, 2), torch.nn.Identity()) for _ in range(3)]
    with verify.record() as recording:
        for model in models:
            model[0](torch.randn(5, 2, 8), *[torch.randn(5, 2, 8)] * 2)
            model.forward = lambda x, model=model: model[0](x, x, x)
            model(torch.randn(5, 2, 8))
    assert [one.name for one in recording.layers] == [
        "MultiheadAttention",
        "MultiheadAttention (2)",
        "MultiheadAttention (3)",
    ]
    with verify.record() as recording:
        for model in models:
            model(torch.randn(5, 2, 8))
    assert [one.name for one in recording.layers] == ["0", "Sequential (2).0", "Sequential (3).0"]


def test_modules_that_a_program_makes_in_every_step_are_not_kept() -> None:
    """What it lets go of goes, while it is recorded."""
    with verify.record() as recording:
        attention()()
        modules = [torch.nn.ReLU() for _ in range(3)]
        for one in modules:
            one(torch.ones(2))
        gone = [weakref.ref(one) for one in modules]
        del modules, one
        gc.collect()
        assert [one() for one in gone] == [None] * 3
    assert len(recording.layers) == 1


def test_outside_any_module_a_layer_has_the_name_of_its_line() -> None:
    """A program need not have modules."""
    attend = attention()
    with verify.record() as recording:
        attend()
    assert recording.layers[0].name.startswith("<lambda> in recorded.py, line ")


def test_other_threads_are_named() -> None:
    """What runs there is not seen."""
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 2, 8)
    with verify.record(layer) as recording:
        thread = threading.Thread(target=lambda: layer(x, x, x))
        thread.start()
        thread.join()
        layer(x, x, x)
    assert len(list(recording.layers[0].calls)) == 1
    assert recording.left_out[0].startswith("modules ran in other threads")
