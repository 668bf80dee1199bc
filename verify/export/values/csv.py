"""Values as a table for spreadsheets: keys and texts, separated by commas."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.value import Value
    from verify.citing.values import Evidence

SUFFIX = ".csv"


def export(_record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a head and a row for each value; texts are as they are shown, and quoted where they need it."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("key", "text"))
    rows.writerows((value.key, value.text) for value in chosen)
    return table.getvalue()
