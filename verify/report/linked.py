"""What a report says about itself to search engines and catalogues: JSON-LD in the words of schema.org."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verify.citing.citations import AUTHORS
from verify.files.names import RUN

if TYPE_CHECKING:
    from verify.report.views import ReportView

_TITLE = "Scaled dot-product attention: what is true, and how we know"


def linked_data(report: ReportView) -> str:
    """Return the article with its software and its data set, safe to stand inside a ``script`` element."""
    authors = {"@type": "Organization", "name": AUTHORS}
    software: dict[str, Any] = {
        "@type": "SoftwareApplication",
        "@id": "#software",
        "name": "sdpa-verify",
        "softwareVersion": report.version,
        "applicationCategory": "Scientific software",
        "author": authors,
    }
    dataset: dict[str, Any] = {
        "@type": "Dataset",
        "@id": "#dataset",
        "name": f"Evidence of the run with seed {report.seed}, {report.profile} profile",
        "description": f"{report.claims} claims, {report.checks}: estimates, intervals and derivations.",
        "creator": authors,
        "dateCreated": report.created,
        "identifier": f"sha256:{report.digest}",
        "distribution": {
            "@type": "DataDownload",
            "contentUrl": RUN.evidence,
            "encodingFormat": "application/json",
        },
    }
    article: dict[str, Any] = {
        "@type": "ScholarlyArticle",
        "@id": "#article",
        "headline": _TITLE,
        "abstract": f"{report.claims} claims about attention scores, derived, measured and judged.",
        "author": authors,
        "datePublished": report.created,
        "inLanguage": "en",
        "identifier": f"sha256:{report.digest}",
        "isBasedOn": [{"@id": "#dataset"}, {"@id": "#software"}],
        "encoding": {"@type": "MediaObject", "contentUrl": RUN.sheet, "encodingFormat": "application/pdf"},
    }
    graph = {"@context": "https://schema.org", "@graph": [article, software, dataset]}
    # No tag can begin in it: a record's own text may say anything.
    return json.dumps(graph, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
