"""Audits as they may come out: one in which all is well, and one with a finding of every judgement."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from verify.evidence import Tool
from verify.evidence.audits import (
    AuditBudget, AuditRecord, AuditSettings, DerivedValue, Finding, Intention, Judgement, LayerRecord,
)  # fmt: skip

D_K = 64
INTENDED = D_K**-0.5
WRONG = 512**-0.5
SEQUENCES = 48
LEVEL = 1 - 1e-6


class Kind(NamedTuple):
    """A kind of statistical finding: what it says, where its values lie, and what the catalogue derives."""

    name: str
    quantity: str
    middle: float
    spread: float
    reference: DerivedValue | None = None
    claim: str | None = None


STATISTICAL = (
    Kind("row-variance", r"variance of a row's scores, $c^2 \operatorname{Var}_j(q \cdot k_j)$", 1.02, 0.3,
     None, "score-variance"),
    Kind("shift-share", "share of the scores' variance that softmax cannot see", 0.12, 0.1),
    Kind("independence", "row variance over what independent queries and keys would give", 1.1, 0.2),
    Kind("entropy", r"entropy over $\ln n$", 0.86, 0.08,
         DerivedValue(value=0.922, claim="attention-entropy")),
    Kind("effective-keys", r"$1 / \sum p^2$", 190.0, 60.0, DerivedValue(value=188.3, claim="effective-keys")),
    Kind("largest-probability", r"$\max p$", 0.031, 0.02),
    Kind("gradient-pass", r"$1 - \sum p^2$", 0.99, 0.006,
         DerivedValue(value=0.9947, claim="softmax-jacobian")),
)  # fmt: skip


def good(layers: int = 2, heads: int = 4) -> AuditRecord:
    """Return an audit in which everything asked is confirmed."""
    return _audit([_layer(number, heads, _found(number, heads)) for number in range(layers)])


def bad(layers: int = 4, heads: int = 4) -> AuditRecord:
    """Return an audit with every judgement, and causes that some heads and layers share."""
    return _audit(
        [
            _layer(
                number,
                heads,
                _spoiled(_found(number, heads), number, layers),
                notes=("3 calls were compiled and could not be seen.",) if number == 0 else (),
                key_heads=max(1, heads // 2),
            )
            for number in range(layers)
        ],
        left_out=(
            "flash_attn.flash_attn_func was called 12 times directly: its arguments are not recorded.",
        ),
        unseen=("unrecorded",),
        gates={"row-variance": (0.5, 2.0)},
    )


def _audit(layers: list[LayerRecord], **more: Any) -> AuditRecord:
    gates = more.pop("gates", {})
    allowed = ("unrecorded",) if "left_out" in more else ()
    places = sum(one.exact is False for layer in layers for one in layer.findings)
    return AuditRecord(
        tool=Tool(version="0.1.0"),
        settings=AuditSettings(false_alarm=1e-3, gates=gates, allow_unseen=allowed),
        budget=AuditBudget(false_alarm=1e-3, places=places, rule="equal shares over heads and findings"),
        source="rec/",
        layers=tuple(layers),
        environment={"python": "3.12.3", "numpy": "2.4.6", "torch": "2.15.0"},
        created="2026-11-21T18:30:00+00:00",
        elapsed_s=3.2,
        **more,
    ).sealed()


def _layer(number: int, heads: int, findings: list[Finding], **more: Any) -> LayerRecord:
    return LayerRecord(
        id=f"decoder-layers-{number}-self-attn",
        name=f"decoder.layers.{number}.self_attn",
        heads=heads,
        key_heads=more.pop("key_heads", heads),
        d_k=D_K,
        d_v=D_K,
        sequences=SEQUENCES,
        tokens=(64, 512),
        dtype="float32",
        backend="sdpa",
        intention=Intention(
            expression="1/sqrt(d)",
            latex=r"\frac{1}{\sqrt{d}}",
            value=INTENDED,
            origin="configuration",
            where="query_pre_attn_scalar = 64",
        ),
        findings=tuple(findings),
        **more,
    )


def _found(layer: int, heads: int) -> list[Finding]:
    """Return the findings of a layer in which all is well."""
    applied = Finding(
        id="scale-applied", kind="scale-applied", head=None, quantity="applied scale over the intended one",
        estimate=1.0, exact=True, band=(1 - 1e-6, 1 + 1e-6), judgement=Judgement.CONFIRMED, decides=True,
        sequences=SEQUENCES,
    )  # fmt: skip
    return [applied, *(one for head in range(heads) for one in _of_head(layer, head))]


def _of_head(layer: int, head: int) -> Iterator[Finding]:
    common: dict[str, Any] = {"head": head, "sequences": SEQUENCES}
    exact: dict[str, Any] = {**common, "exact": True, "judgement": Judgement.CONFIRMED, "decides": True}
    yield Finding(
        id=f"scale-implied-head-{head}", kind="scale-implied", quantity="implied scale over the intended one",
        estimate=1 + 2e-6 * _wave(layer, head), standard_error=1e-6, interval=(1 - 8e-6, 1 + 8e-6),
        level=LEVEL, band=(0.99, 1.01), **exact,
    )  # fmt: skip
    yield Finding(
        id=f"reconstruction-head-{head}", kind="reconstruction", quantity="distance from the rebuilt output",
        estimate=3e-7, band=(None, 1.0), **exact,
    )  # fmt: skip
    yield Finding(
        id=f"overflow-head-{head}", kind="overflow", estimate=2.1e-37, band=(None, 1.0),
        quantity="largest product over the largest number of float32", **exact,
    )  # fmt: skip
    for place, kind in enumerate(STATISTICAL):
        value = kind.middle + kind.spread * _wave(layer + place, head)
        error = kind.spread / 20
        yield Finding(
            id=f"{kind.name}-head-{head}", kind=kind.name, quantity=kind.quantity, estimate=value,
            standard_error=error, interval=(value - 5.5 * error, value + 5.5 * error), level=LEVEL,
            reference=kind.reference, claim=kind.claim, exact=False,
            judgement=Judgement.REPORTED, decides=False, rows_left_out=7, **common,
        )  # fmt: skip
    yield Finding(
        id=f"largest-score-head-{head}", kind="largest-score", quantity="largest score", estimate=18.4 + head,
        exact=False, interval=(18.4 + head, None), level=LEVEL, judgement=Judgement.REPORTED, decides=False,
        **common,
    )  # fmt: skip


def _spoiled(findings: list[Finding], layer: int, layers: int) -> list[Finding]:
    """Return a layer's findings spoiled: a wrong scale up to the last layer, and other faults."""
    return [_spoil(one, layer, layers) for one in findings]


def _spoil(one: Finding, layer: int, layers: int) -> Finding:
    last = layer == layers - 1
    if one.kind in {"scale-applied", "scale-implied"} and not last:
        ratio = WRONG / INTENDED
        shown: dict[str, Any] = {
            "estimate": ratio,
            "judgement": Judgement.REFUTED,
            "reason": "every score is 2.83 times too small",
            "cause": r"$1/\sqrt{D}$, the width of the model, D = 512",
            "fix": r"divide by $\sqrt{64}$, not by $\sqrt{512}$",
        }
        if one.kind == "scale-implied":
            shown |= {"interval": (ratio - 8e-6, ratio + 8e-6)}
        return one.model_copy(update=shown)
    if last and one.kind == "scale-implied":
        return one.model_copy(
            update={
                "estimate": 0.93,
                "standard_error": 0.4,
                "interval": (-1.2, 3.1),
                "judgement": Judgement.UNDECIDED,
                "reason": "the scores hardly vary, so that the output does not depend on the scale",
            }
        )
    return _spoil_statistics(one, layer, last=last)


def _spoil_statistics(one: Finding, layer: int, *, last: bool) -> Finding:
    if one.kind == "reconstruction" and last and one.head == 1:
        update: dict[str, Any] = {
            "estimate": 1.7,
            "judgement": Judgement.REFUTED,
            "cause": "the mask is multiplied by the scale",
            "fix": "add the mask after scaling",
        }
    elif one.kind == "overflow" and layer == 1:
        update = {"estimate": 0.41, "judgement": Judgement.WARNED, "reason": "beyond a quarter of the range"}
    elif one.kind == "row-variance":
        update = {"band": (0.5, 2.0), "decides": True, "judgement": Judgement.CONFIRMED}
        if one.head == 0 and one.estimate is not None:
            update |= {
                "interval": (one.estimate - 0.8, one.estimate + 1.9),
                "judgement": Judgement.UNDECIDED,
                "reason": "48 sequences leave too wide an interval",
                "sequences_needed": 210,
            }
    elif one.kind == "largest-score" and last and one.head == 0:
        update = {
            "estimate": 1240.0,
            "interval": (1240.0, None),
            "judgement": Judgement.WARNED,
            "reason": "a score beyond 1000",
        }
    else:
        return one
    return one.model_copy(update=update)


def _wave(one: int, other: int) -> float:
    """Return a number between −1 and 1 that differs from head to head."""
    return math.sin(1.7 * one + 0.9 * other + 0.4)
