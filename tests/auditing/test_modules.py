"""Faults in a real model's attention, recorded and audited from end to end: caught and named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [torch]")
pytest.importorskip("transformers", reason="needs the extra [transformers]")

from tests.auditing.modules import PLANTED, Kernel, audited  # noqa: E402 - they need the extras
from verify.evidence.audits import Judgement  # noqa: E402

if TYPE_CHECKING:
    from tests.auditing.modules import Planted

DTYPES = [
    pytest.param(torch.float32, id="float32"),
    pytest.param(torch.bfloat16, id="bfloat16", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.what)
def test_a_fault_in_a_model_is_caught_and_named(planted: Planted, dtype: object) -> None:
    """The audit fails, and its finding on some head names what was planted."""
    record = audited(planted.kernel, planted.model, dtype, **planted.options)
    assert record.exit_status() == 1
    refuted = [
        one for one in record.findings if one.kind == planted.kind and one.judgement is Judgement.REFUTED
    ]
    assert any(planted.named in one.cause for one in refuted), {one.cause or one.reason for one in refuted}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", ["llama", "gemma2"])
def test_the_same_model_without_a_fault_passes(model: str, dtype: object) -> None:
    """The kernel as it should be gives an audit in which all that decides is confirmed."""
    record = audited(Kernel(), model, dtype)
    assert record.exit_status() == 0
    assert {one.judgement for one in record.findings if one.decides} == {Judgement.CONFIRMED}
