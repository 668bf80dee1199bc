"""A claim's verdict as a badge: an SVG, and the JSON of a shields endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verify.escapes import for_html
from verify.evidence import Proof, Verdict

if TYPE_CHECKING:
    from verify.evidence import ClaimRecord

# White text on each has a contrast of at least 4.5.
_PROOFS = {
    Proof.PROVED: "proved, ",
    Proof.AT_EXAMPLES: "checked at examples, ",
    Proof.IN_PART: "derived in part, ",
}
_COLOURS = {
    Verdict.CONFIRMED: "#12744f",
    Verdict.APPROXIMATE: "#7a5c00",
    Verdict.REFUTED: "#b3261e",
    Verdict.UNDECIDED: "#5c5f66",
}
_ADVANCE, _SPACE, _HEIGHT = 6.6, 12, 20
_SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"
 role="img" aria-label="{label}: {message}">
<title>{label}: {message}; sdpa-verify, digest {digest}</title>
<rect width="{width}" height="{height}" rx="3" fill="#3a3d42"/>
<path d="M{split} 0h{rest}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{split}z" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{label_at}" y="14" textLength="{label_width}">{label}</text>
<text x="{message_at}" y="14" textLength="{message_width}">{message}</text>
</g>
</svg>
"""


def as_svg(claim: ClaimRecord) -> str:
    """Return the badge as SVG text; what it says does not rest on its colour."""
    message = _message(claim)
    label_width, message_width = (round(len(text) * _ADVANCE) for text in (claim.id, message))
    split = label_width + _SPACE
    width = split + message_width + _SPACE
    return _SVG.format(
        width=width,
        height=_HEIGHT,
        split=split,
        rest=width - split - 3,
        colour=_colour(claim),
        label=for_html(claim.id),
        message=for_html(message),
        digest=claim.digest[:16],
        label_at=split / 2,
        label_width=label_width,
        message_at=split + (width - split) / 2,
        message_width=message_width,
    )


def as_endpoint(claim: ClaimRecord) -> str:
    """Return the JSON that badge services fetch: schema, label, message and colour."""
    content = {
        "schemaVersion": 1,
        "label": claim.id,
        "message": _message(claim),
        "color": _colour(claim).removeprefix("#"),
        "isError": claim.verdict is Verdict.REFUTED or claim.derivation.status is Proof.FAILED,
    }
    return json.dumps(content) + "\n"


def _message(claim: ClaimRecord) -> str:
    if claim.derivation.status is Proof.FAILED:
        return "derivation failed"
    return _PROOFS.get(claim.derivation.status, "") + claim.verdict.value


def _colour(claim: ClaimRecord) -> str:
    failed = claim.derivation.status is Proof.FAILED
    return _COLOURS[Verdict.REFUTED if failed else claim.verdict]
