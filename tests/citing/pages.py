"""A page whose quotations are stale, unknown, to be fixed by hand, and one that is only warned of."""

from __future__ import annotations

from tests.report.records import record

RUN = record()
KEY = "score-variance.slope:estimate"
TEXT = (
    f"It is <!-- verify: {KEY} -->7.25<!-- /verify -->.\n"
    "100%: so <!-- verify: score-variance.nothing -->1<!-- /verify -->\n"
    f"<!-- verify: {KEY} -->7.25 (Fig. 3)<!-- /verify -->"
)
