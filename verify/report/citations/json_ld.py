"""Citations in JSON-LD of schema.org, which search engines and archives read from a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verify.report.citation import AUTHORS
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return a review of a claim: what is claimed, what became of it, and the run that says so."""
    properties: dict[str, Any] = {**cited.settings, "sha256": cited.digest}
    item: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        **({"@id": cited.link, "url": cited.link} if cited.link else {}),
        "alternateName": f"sdpa-verify:{cited.key}",
        "name": f"sdpa-verify, {cited.label}: {plain(cited.title)}",
        "claimReviewed": plain(cited.statement),
        "description": f"{cited.origin}, digest {cited.digest}",
        "reviewBody": f"{plain(cited.what)}: {cited.found}. {cited.judged}."
        if cited.found
        else f"{cited.judged}.",
        "author": {"@type": "Organization", "name": AUTHORS},
        "datePublished": f"{cited.created:%Y-%m-%d}",
        "isBasedOn": {
            "@type": "SoftwareApplication",
            "name": "sdpa-verify",
            "softwareVersion": cited.version,
            "additionalProperty": [
                {"@type": "PropertyValue", "name": name, "value": value} for name, value in properties.items()
            ],
        },
    }
    if cited.doi:
        item["identifier"] = f"https://doi.org/{cited.doi}"
    # It may stand in a script element of a page.
    return json.dumps(item, ensure_ascii=False, indent=2).replace("</", "<\\/")
