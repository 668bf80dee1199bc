"""What the files of a record are called, and where those are that ship beside the code."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = Path(__file__).resolve().parents[1]
_IN_CHECKOUT = {"reference": "reports/reference"}


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped files called ``name``: ``"templates"``, ``"data"`` or ``"reference"``.

    A wheel carries them as ``verify/_templates`` and the like; a checkout and an editable install have them
    at the top level, beside the package, the reference among the reports.

    Raises:
        FileNotFoundError: the installation is broken and has neither.
    """
    for place in (_PACKAGE / f"_{name}", _PACKAGE.parent / _IN_CHECKOUT.get(name, name)):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the {name} folder is missing from this installation of sdpa-verify")


@cache
def shipped_table(name: str) -> Mapping[str, Any]:
    """Return a table that ships among the data, such as ``"theorems"`` or ``"references"``."""
    return tomllib.loads((shipped_folder("data") / f"{name}.toml").read_text(encoding="utf-8"))


EDITIONS = ("report", "brief", "full")
"""Of at most fourteen pages, the usual edition; of one to three; with all of the evidence."""


class Names(NamedTuple):
    """The names of a record's file and of its pages; ``stem`` is that of their templates as well."""

    evidence: str
    stem: str

    @property
    def page(self) -> str:
        """The page for the screen."""
        return f"{self.stem}.html"

    def sheet(self, edition: str = EDITIONS[0]) -> str:
        """Return what the document for print is called in an edition; citations refer to the usual one."""
        return f"{self.stem}.pdf" if edition == EDITIONS[0] else f"{self.stem}-{edition}.pdf"


RUN, AUDIT = Names("results.json", "report"), Names("audit.json", "audit")
"""An audit has a page alone."""
COMPARISON = "comparison.json"
"""The record of two recordings that were compared; it has no page."""
