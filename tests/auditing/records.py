"""Audits as they may come out: one in which all is well, and one with a finding of every judgement."""

import math
from collections.abc import Iterator
from typing import Any

from verify.evidence import Tool
from verify.evidence.audits import AuditRecord, AuditSettings, Finding, Intention, Judgement, LayerRecord

D_K = 64
INTENDED = D_K**-0.5
WRONG = 512**-0.5
SEQUENCES = 48
LEVEL = 1 - 1e-6


QUANTITIES = {
    "scale-applied": "applied scale over the intended one",
    "scale-implied": r"$\hat{c}$ over the intended scale",
    "reconstruction": "distance from the rebuilt output",
    "overflow": r"largest $|q\cdot k|$ over the largest number of float32",
}


def good(layers: int = 2, heads: int = 4) -> AuditRecord:
    """Return an audit in which everything asked is confirmed."""
    return _audit([_layer(number, heads, list(_found(number, heads))) for number in range(layers)])


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
            expression="1/sqrt(d)",
            latex=r"\frac{1}{\sqrt{d}}",
            value=INTENDED,
            origin="configuration",
            where="query_pre_attn_scalar = 64",
        ),
        findings=tuple(findings),
        **more,
    )


def _found(layer: int, heads: int) -> Iterator[Finding]:
    """Yield the findings of a layer in which all is well."""
    for head in range(heads):
        found: dict[str, dict[str, Any]] = {
            "scale-applied": {"estimate": 1.0, "band": (1 - 1e-6, 1 + 1e-6)},
            "scale-implied": {
                "estimate": 1 + 2e-6 * math.sin(1.7 * layer + 0.9 * head + 0.4),
                "standard_error": 1e-6,
                "interval": (1 - 8e-6, 1 + 8e-6),
                "level": LEVEL,
                "band": (0.99, 1.01),
            },
            "reconstruction": {"estimate": 3e-7, "band": (None, 1.0)},
            "overflow": {"estimate": 2.1e-37, "band": (None, 1.0)},
        }
        for kind, said in found.items():
            yield Finding(
                id=f"{kind}-head-{head}",
                kind=kind,
                head=head,
                quantity=QUANTITIES[kind],
                judgement=Judgement.CONFIRMED,
                sequences=SEQUENCES,
                **said,
            )


def _spoiled(findings: Iterator[Finding], layer: int, layers: int) -> list[Finding]:
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
                "estimate": 1.3,
                "standard_error": 0.4,
                "interval": (-1.2, None),
                "judgement": Judgement.UNDECIDED,
                "reason": "the scores hardly vary, so that the output does not depend on the scale",
            }
        )
    if last and one.kind == "reconstruction" and one.head == 1:
        return one.model_copy(
            update={
                "estimate": 1.7,
                "judgement": Judgement.REFUTED,
                "cause": "the mask is multiplied by the scale",
                "fix": "add the mask after scaling",
            }
        )
    if last and one.kind == "reconstruction" and one.head == 2:
        nothing = {
            "estimate": None,
            "band": None,
            "judgement": Judgement.REPORTED,
            "reason": "no call was recorded with its values and output",
        }
        return one.model_copy(update=nothing)
    if one.kind == "overflow" and layer == 1:
        return one.model_copy(
            update={
                "estimate": 0.41,
                "judgement": Judgement.WARNED,
                "reason": "beyond a quarter of the range",
            }
        )
    return one
