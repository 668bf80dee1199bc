"""What tensors were multiplied by, and which are products of others, through views and until they change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import verify
from tests.auditing.pytorch.recorded import deviation, only, torch
from verify.auditing.pytorch.origins import ByMemory
from verify.evidence.audits import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable

D = 16


def projected() -> tuple[Any, Any, Any]:
    """Return queries, keys and values as projections give them, with heads still inside their width."""
    return tuple(torch.randn(2, 24, 4 * D) for _ in range(3))


def heads(array: Any) -> Any:
    """Return the axes as attention takes them: a view."""
    return array.unflatten(-1, (4, D)).transpose(1, 2)


def attended(change: Callable[..., Any], scale: float | None = None) -> Any:
    """Record attention whose queries, keys and values ``change`` returns; return the call and its audit."""
    given = projected()
    with torch.no_grad(), verify.record() as recording:
        q, k, v = (heads(one) for one in change(*given))
        torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)
    return recording, verify.audit(recording, workers=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda q, k, v: (q * D**-0.5, k, v),
        lambda q, k, v: (D**-0.5 * q, k, v),
        lambda q, k, v: (q / math.sqrt(D), k, v),
        lambda q, k, v: (torch.div(q, 2).mul(0.5), k, v),
        lambda q, k, v: (q.mul_(D**-0.5), k, v),
        lambda q, k, v: (q * D**-0.25, k * D**-0.25, v),
    ],
)
def test_queries_scaled_before_the_call_count_as_scale(change: Callable[..., Any]) -> None:
    """With the default scale after it, it is applied twice; with a scale of 1 all is right."""
    recording, twice = attended(change)
    assert only(recording).scale == pytest.approx(1 / D)
    assert deviation(only(recording)) < 1e-5
    assert twice.exit_status() == 1
    causes = {one.cause for one in twice.findings if one.judgement is Judgement.REFUTED}
    assert all("the scale is applied twice" in cause for cause in causes)
    (layer,) = twice.layers
    assert all("before the call, which counts as part of its scale" in note for note in layer.notes)
    recording, once = attended(change, scale=1.0)
    assert only(recording).scale == pytest.approx(D**-0.5)
    assert once.exit_status() == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda q, k, v: (q * 3 + 1, k, v),
        lambda q, k, v: (q * torch.full((), 3.0), k, v),
        lambda q, _k, _v: (q * 3,) * 3,
        lambda q, k, v: ((q * 3).copy_(q), k, v),
        lambda q, k, v: (q, k, v * 3),
    ],
)
def test_what_is_no_factor_of_the_scores_alone_leaves_the_call_as_it_is(change: Callable[..., Any]) -> None:
    """A sum, a tensor, the input of all three, memory that was written to, and values are no scale."""
    recording, record = attended(change)
    assert (only(recording).scale, record.layers[0].notes) == (None, ())


def test_gradients_are_still_seen_of_queries_that_were_scaled() -> None:
    """A training loop is told from one pass."""
    query = torch.randn(2, 4, 8, D, requires_grad=True)
    with verify.record() as recording:
        for _ in range(2):
            torch.nn.functional.scaled_dot_product_attention(query * 0.5, query, query)
    (layer,) = recording.layers
    assert any("gradients were wanted" in note for note in layer.notes)


def _rows(scores: Any) -> Any:
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    "softmax",
    [
        _rows,
        lambda scores: torch.special.softmax(scores, -1),
        lambda scores: torch.log_softmax(scores, -1).exp(),
        lambda scores: torch.ops.aten._softmax(scores, -1, half_to_float=False),
    ],
)
@pytest.mark.parametrize("rank", [2, 3])
def test_attention_that_is_written_out_is_named_however_it_is_written(
    softmax: Callable[[Any], Any], rank: int
) -> None:
    """Whatever stands for the softmax, scores are multiplied by values."""
    x = torch.randn((5, 8) if rank == 2 else (2, 5, 8))
    with torch.no_grad(), verify.record() as recording:
        torch.nn.functional.scaled_dot_product_attention(*[x.reshape(1, 1, -1, 8)] * 3)
        softmax(x @ x.mT / math.sqrt(8)) @ x
        torch.einsum("...ij,...jd->...id", softmax(torch.einsum("...id,...jd->...ij", x, x)), x)
    (left_out,) = recording.left_out
    assert "test_attention_that_is_written_out_is_named_however_it_is_written in " in left_out
    assert "a softmax, or scores times values, outside any recorded call" in left_out


def test_products_with_weights_and_losses_are_no_attention() -> None:
    """Layers, logits and a loss beside a recorded call are passed over."""
    x, weight = torch.randn(2, 6, 8), torch.nn.Parameter(torch.randn(8, 8))
    with torch.no_grad(), verify.record() as recording:
        y = torch.nn.functional.scaled_dot_product_attention(*[x[:, None]] * 3)[:, 0]
        torch.log_softmax(((y @ weight).relu() @ weight.T) @ weight, -1)
        (x.flatten(1) @ y.flatten(1).T).exp().sum()
    assert recording.left_out == []


def test_values_are_found_by_views_and_lost_with_the_memory() -> None:
    """A part does not stand for the whole; what is gone is forgotten, however many tensors there were."""
    known: ByMemory[str] = ByMemory()
    whole = torch.zeros(4, 6)
    known.note(whole[:, :3], "part")
    assert known.of(whole) is None
    known.note(whole, "whole")
    assert known.of(whole[1:].T) == "whole"
    assert known.of(whole + 1) is None
    for _ in range(5000):
        known.note(torch.zeros(2), "gone")
    assert known.of(whole) == "whole"
    assert len(known._known) < 5000
    whole[0] = 1
    assert known.of(whole) is None
    assert known.of(torch.zeros(2).to_sparse()) is None
