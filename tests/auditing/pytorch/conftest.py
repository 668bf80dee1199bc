"""After every test PyTorch is as it was."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """PyTorch draws the same numbers in each test and keeps no hook of ours."""
    torch = pytest.importorskip("torch")
    hooks = torch.nn.modules.module
    torch.manual_seed(1)
    yield
    assert not hooks._global_forward_pre_hooks
    assert not hooks._global_forward_hooks
    assert not torch._C._len_torch_function_stack()
