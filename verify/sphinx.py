"""A Sphinx extension: ``:verify:`KEY``` shows a value linked to the report, and fails on an unknown key.

In ``conf.py``::

    extensions = ["verify.sphinx"]
    verify_results = "results.json"                    # beside conf.py; default: the tool's own reference
    verify_report = "https://example.org/report.html"  # where links go; default: none

In MyST Markdown the role is written ``{verify}`KEY```.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from verify.citing.values import lookup
from verify.errors import VerifyError
from verify.results import load, present
from verify.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from verify.evidence import RunRecord

_LOGGER = logging.getLogger(__name__)


class VerifyRole(SphinxRole):
    """The role: its text is a key, what it shows is the value."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the value, linked to its place in the report if ``verify_report`` says where that is.

        Raises:
            ExtensionError: there is no such key, which ends the build.
        """
        source, line = self.get_source_info()
        try:
            value = lookup(_record(self.env.app), self.text.strip())
        except VerifyError as error:
            raise ExtensionError(f"{source}:{line}: {error}") from error
        if not value.holds and value.claim:
            _LOGGER.warning(
                "%s: its claim is no longer confirmed but %s",
                value.key,
                value.claim.verdict,
                location=(self.env.docname, line),
                type="verify",
            )
        report = self.config.verify_report
        if not report:
            return [nodes.inline(self.rawtext, value.text, classes=["verify"])], []
        where = f"{report}#{quote(value.anchor)}"
        shown = nodes.reference(
            self.rawtext, value.text, refuri=where, reftitle=value.key, classes=["verify"]
        )
        return [shown], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and its two settings; called by Sphinx."""
    app.add_config_value("verify_results", "", "env", str)
    app.add_config_value("verify_report", "", "env", str)
    app.add_role("verify", VerifyRole())
    app.connect("builder-inited", _read)
    app.connect("env-get-outdated", _outdated)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx) -> None:
    """Read the results before any page, so that a missing file is told once."""
    chosen = app.config.verify_results
    try:
        app.verify_record = load(Path(app.confdir) / chosen) if chosen else present(None)  # type: ignore[attr-defined]
    except VerifyError as error:
        raise ExtensionError(f"verify_results: {error}") from error


def _record(app: Sphinx) -> RunRecord:
    record: RunRecord = app.verify_record  # type: ignore[attr-defined]
    return record


def _outdated(app: Sphinx, env: Any, *_: object) -> list[str]:
    """Return all pages where the results are others than at the last build: any may quote them."""
    digests = tuple(claim.digest for claim in _record(app).claims)
    changed = getattr(env, "verify_digests", digests) != digests
    env.verify_digests = digests
    return sorted(env.found_docs) if changed else []
