"""Audits as they may come out: one in which all is well, and one with a finding of every judgement."""

import math
from collections.abc import Iterator
from typing import Any

from verify.evidence import Tool
from verify.evidence.audits import (
    AuditRecord,
    AuditSettings,
    Finding,
    Intention,
    Judgement,
    LayerRecord,
    ScoreSummary,
)

D_K = 64
INTENDED = D_K**-0.5
WRONG = 512**-0.5
SEQUENCES = 48
LEVEL = 1 - 1e-6


QUANTITIES = {
    "mask": "the number of rows that see other keys than were meant",
    "scale": "the scale over the intended scale",
    "formula": "the largest error of a row over what rounding may do",
    "overflow": r"the largest $|q\cdot k|$ over the largest number of the type",
}

SCORES = (
    ScoreSummary(name="row variance", median=1.02, low=0.98, high=1.07),
    ScoreSummary(name="entropy over ln n", median=0.89, low=0.88, high=0.9),
    ScoreSummary(name="largest weight", median=0.06, low=0.055, high=0.071),
)


def good(layers: int = 2, heads: int = 4) -> AuditRecord:
    """Return an audit in which everything asked is confirmed."""
    return _audit([_layer(number, heads, list(_confirmed(number))) for number in range(layers)])


def bad(layers: int = 4, heads: int = 4) -> AuditRecord:
    """Return an audit with every judgement, and causes that some heads and layers share."""
    return _audit(
        [
            _layer(
                number,
                heads,
                list(_spoiled(_confirmed(number), number, layers)),
                notes=("3 calls were compiled and could not be seen.",) if number == 0 else (),
                key_heads=max(1, heads // 2),
            )
            for number in range(layers)
        ],
        left_out=(
            "flash_attn.flash_attn_func was called 12 times directly: its arguments are not recorded.",
        ),
        unseen=("unrecorded",),
    )


def _audit(layers: list[LayerRecord], **more: Any) -> AuditRecord:
    allowed = ("unrecorded",) if "left_out" in more else ()
    return AuditRecord(
        tool=Tool(version="0.1.0"),
        settings=AuditSettings(allow_unseen=allowed),
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
            expression="1/sqrt(d)", value=INTENDED, origin="configuration", where="query_pre_attn_scalar = 64"
        ),
        calls=6,
        rows=heads * SEQUENCES * 300,
        rows_compared=heads * SEQUENCES * 300,
        declared={"mask": "causal", "intended mask": "causal"},
        findings=tuple(findings),
        scores=SCORES,
        **more,
    )


def _confirmed(layer: int) -> Iterator[Finding]:
    """Yield the findings of a layer in which all is well."""
    values: dict[str, dict[str, Any]] = {
        "mask": {"estimate": 0.0, "band": (None, 0.0)},
        "scale": {
            "estimate": 1 + 2e-6 * math.sin(1.7 * layer + 0.4),
            "standard_error": 1e-6,
            "interval": (1 - 8e-6, 1 + 8e-6),
            "level": LEVEL,
            "band": (0.99, 1.01),
        },
        "formula": {"estimate": 0.07, "band": (None, 1.0)},
        "overflow": {"estimate": 2.1e-37, "band": (None, 1.0)},
    }
    for kind, numbers in values.items():
        yield Finding(
            id=kind,
            kind=kind,
            quantity=QUANTITIES[kind],
            judgement=Judgement.CONFIRMED,
            sequences=SEQUENCES,
            **numbers,
        )


def _spoiled(findings: Iterator[Finding], layer: int, layers: int) -> Iterator[Finding]:
    """Yield a layer's findings spoiled: a wrong scale up to the last layer, and other faults."""
    last, ratio = layer == layers - 1, WRONG / INTENDED
    for finding in findings:
        if finding.kind == "scale" and not last:
            yield finding.model_copy(
                update={
                    "estimate": ratio,
                    "interval": (ratio - 8e-6, ratio + 8e-6),
                    "judgement": Judgement.REFUTED,
                    "cause": "the scale is 1/√512 = 1/√D: the model's width is taken for d_k",
                    "fix": "divide by √64, not √512: every score is 2.83 times too small",
                }
            )
        elif finding.kind == "scale":
            yield finding.model_copy(
                update={
                    "estimate": 1.3,
                    "standard_error": 0.4,
                    "interval": (-1.2, None),
                    "judgement": Judgement.UNDECIDED,
                    "reason": "cannot tell: the output does not depend on the scale beyond rounding",
                }
            )
        elif finding.kind == "formula" and last:
            cause, fix = "the mask is multiplied by the scale", "add the mask after scaling"
            wrong = {"estimate": 1.7, "judgement": Judgement.REFUTED, "cause": cause, "fix": fix}
            yield finding.model_copy(update={**wrong, "heads": (1,)})
            nothing = {"estimate": None, "band": None, "judgement": Judgement.REPORTED}
            reason = "no call was recorded with its values and output"
            yield finding.model_copy(update={**nothing, "id": "formula-2", "reason": reason, "heads": (0,)})
        elif finding.kind == "overflow" and layer == 1:
            reason = "beyond a quarter of the range"
            yield finding.model_copy(
                update={"estimate": 0.41, "judgement": Judgement.WARNED, "reason": reason}
            )
        else:
            yield finding
