"""Audits as they may come out: one in which all is well, and one with a finding of every judgement."""

import math
from collections.abc import Iterator
from typing import Any

from verify.evidence import Tool
from verify.evidence.audits import AuditRecord, Finding, Intention, Judgement, LayerRecord, ScoreSummary

D_K = 64
INTENDED, WRONG = D_K**-0.5, 512**-0.5
SEQUENCES = 48
SCORES = (
    ScoreSummary(name="row variance", median=1.02, low=0.98, high=1.07),
    ScoreSummary(name="entropy over ln n", median=0.89, low=0.88, high=0.9),
    ScoreSummary(name="largest weight", median=0.06, low=0.055, high=0.071),
)


def good(layers: int = 2, heads: int = 4) -> AuditRecord:
    """Return an audit in which everything asked is confirmed."""
    return _audit([_layer(number, heads, _confirmed(number)) for number in range(layers)])


def bad(layers: int = 4, heads: int = 4) -> AuditRecord:
    """Return an audit with every judgement, and causes that some heads and layers share."""
    notes = ("3 calls were compiled and could not be seen.",)
    made = [
        _layer(n, heads, _spoiled(n, layers), notes=() if n else notes, key_heads=max(1, heads // 2))
        for n in range(layers)
    ]
    direct = "flash_attn.flash_attn_func was called 12 times directly: its arguments are not recorded."
    return _audit(made, left_out=(direct,), unseen=("unrecorded",))


def _audit(layers: list[LayerRecord], **more: Any) -> AuditRecord:
    return AuditRecord(
        tool=Tool(version="0.1.0"),
        source="rec/",
        layers=tuple(layers),
        environment={"python": "3.12.3", "numpy": "2.4.6", "torch": "2.15.0"},
        created="2026-11-21T18:30:00+00:00",
        elapsed_s=3.2,
        **more,
    ).sealed()


def _layer(number: int, heads: int, findings: Iterator[Finding], **more: Any) -> LayerRecord:
    where = "query_pre_attn_scalar = 64"
    return LayerRecord(
        id=f"decoder-layers-{number}-self-attn",
        name=f"decoder.layers.{number}.self_attn",
        heads=heads,
        key_heads=more.pop("key_heads", heads),
        d_k=D_K,
        d_v=D_K,
        calls=6,
        sequences=SEQUENCES,
        tokens=(64, 512),
        rows=heads * SEQUENCES * 300,
        rows_compared=heads * SEQUENCES * 300,
        dtype="float32",
        backend="sdpa",
        declared={"mask": "causal", "intended mask": "causal"},
        intention=Intention(expression="1/sqrt(d)", value=INTENDED, origin="configuration", where=where),
        findings=tuple(findings),
        scores=SCORES,
        **more,
    )


def _confirmed(layer: int) -> Iterator[Finding]:
    """Yield the findings of a layer in which all is well."""
    ratio = 1 + 2e-6 * math.sin(1.7 * layer + 0.4)
    interval: dict[str, Any] = {"standard_error": 1e-6, "interval": (1 - 8e-6, 1 + 8e-6), "level": 1 - 1e-6}
    for kind, quantity, estimate, low, high in (
        ("mask", "the number of rows that see other keys than were meant", 0.0, None, 0.0),
        ("scale", "the scale over the intended scale", ratio, 0.99, 1.01),
        ("formula", "the largest error of a row over what rounding may do", 0.07, None, 1.0),
        ("overflow", "the largest |q·k| over the largest number of the type", 2.1e-37, None, 1.0),
    ):
        judged: dict[str, Any] = {"judgement": Judgement.CONFIRMED, "sequences": SEQUENCES}
        judged |= interval if kind == "scale" else {}
        yield Finding(id=kind, kind=kind, quantity=quantity, estimate=estimate, band=(low, high), **judged)


def _spoiled(layer: int, layers: int) -> Iterator[Finding]:
    """Yield a layer's findings spoiled: a wrong scale up to the last layer, and other faults."""
    is_last, ratio = layer == layers - 1, WRONG / INTENDED
    reason = "cannot tell: the output does not depend on the scale beyond rounding"
    undecided: dict[str, Any] = {"judgement": Judgement.UNDECIDED, "reason": reason}
    undecided |= {"estimate": 1.3, "standard_error": 0.4, "interval": (-1.2, None)}
    refuted: dict[str, Any] = {
        "estimate": ratio,
        "interval": (ratio - 8e-6, ratio + 8e-6),
        "judgement": Judgement.REFUTED,
        "cause": "the scale is 1/√512 = 1/√D: the model's width is taken for d_k",
        "fix": "divide by √64, not √512: every score is 2.83 times too small",
    }
    masked: dict[str, Any] = {"estimate": 1.7, "judgement": Judgement.REFUTED, "heads": (1,)}
    masked |= {"cause": "the mask is multiplied by the scale", "fix": "add the mask after scaling"}
    nothing: dict[str, Any] = {"id": "formula-2", "estimate": None, "band": None, "heads": (0,)}
    reason = "no call was recorded with its values and output"
    nothing |= {"judgement": Judgement.REPORTED, "reason": reason}
    near = {"estimate": 0.41, "judgement": Judgement.WARNED, "reason": "beyond a quarter of the range"}
    changes: dict[str, tuple[dict[str, Any], ...]] = {
        "scale": (undecided if is_last else refuted,),
        "formula": (masked, nothing) if is_last else ({},),
        "overflow": (near if layer == 1 else {},),
    }
    for finding in _confirmed(layer):
        yield from (finding.model_copy(update=change) for change in changes.get(finding.kind, ({},)))
