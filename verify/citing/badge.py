"""A verdict as a badge: an SVG, and the JSON of a shields endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from verify.evidence import ClaimRecord, Proof, Verdict
from verify.evidence.audits import AuditRecord, Judgement, LayerRecord
from verify.evidence.words import most_serious
from verify.text.escapes import for_html

if TYPE_CHECKING:
    from verify.evidence import RunRecord

# White text on each has a contrast of at least 4.5.
_PROOFS = {
    Proof.PROVED: "proved, ",
    Proof.REVIEWED: "reviewed, ",
    Proof.AT_EXAMPLES: "checked at examples, ",
    Proof.IN_PART: "derived in part, ",
}
_COLOURS = {
    Verdict.CONFIRMED: "#12744f",
    Verdict.APPROXIMATE: "#7a5c00",
    Verdict.REFUTED: "#b3261e",
    Verdict.UNDECIDED: "#5c5f66",
}
_JUDGED = {
    Judgement.CONFIRMED: "#12744f",
    Judgement.WARNED: "#7a5c00",
    Judgement.REFUTED: "#b3261e",
    Judgement.UNDECIDED: "#5c5f66",
    Judgement.REPORTED: "#5c5f66",
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


Badged = ClaimRecord | LayerRecord | AuditRecord
"""What has a verdict that a badge can show."""


class Badge(NamedTuple):
    """What a badge says: a name, a message, a colour, and whether that is a failure."""

    label: str
    message: str
    colour: str
    digest: str
    is_error: bool


def badge_of(record: RunRecord | AuditRecord, subject: Badged) -> Badge:
    """Return the badge of a claim, of a layer or of a whole audit."""
    if isinstance(subject, ClaimRecord):
        return _of_claim(subject)
    digest = record.seal
    worst = most_serious(subject.findings)
    label = "attention audit" if isinstance(subject, AuditRecord) else subject.id
    return Badge(label, worst.value, _JUDGED[worst], digest, worst is Judgement.REFUTED)


def _of_claim(claim: ClaimRecord) -> Badge:
    failed = claim.derivation.status is Proof.FAILED
    verdict = Verdict.REFUTED if failed else claim.verdict
    proof = _PROOFS.get(claim.derivation.status, "")
    message = "derivation failed" if failed else proof + verdict.value
    return Badge(claim.id, message, _COLOURS[verdict], claim.digest, verdict is Verdict.REFUTED)


def as_svg(badge: Badge) -> str:
    """Return the badge as SVG text; what it says does not rest on its colour."""
    label_width, message_width = (round(len(text) * _ADVANCE) for text in (badge.label, badge.message))
    split = label_width + _SPACE
    width = split + message_width + _SPACE
    return _SVG.format(
        width=width,
        height=_HEIGHT,
        split=split,
        rest=width - split - 3,
        colour=badge.colour,
        label=for_html(badge.label),
        message=for_html(badge.message),
        digest=badge.digest[:16],
        label_at=split / 2,
        label_width=label_width,
        message_at=split + (width - split) / 2,
        message_width=message_width,
    )


def as_endpoint(badge: Badge) -> str:
    """Return the JSON that badge services fetch: schema, label, message and colour."""
    content = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour.removeprefix("#"),
        "isError": badge.is_error,
    }
    return json.dumps(content) + "\n"
