"""A Sphinx extension: ``:verify:`KEY``` shows a value linked to the report; an unknown key fails the build.

In ``conf.py``::

    extensions = ["verify.citing.sphinx"]
    verify_results = "results.json"                    # beside conf.py
    verify_report = "https://example.org/report.html"  # where links go; default: none

A report is a page, a folder that holds ``report.html``, or a DOI. Without results, they are those of the last
run, else the reference. ``:verify:`KEY|.3f``` asks for a form. A text of one's own, ``:verify:`1.0 <KEY>```,
is compared with the value: a warning says if it is stale. In MyST Markdown write ``{verify}`KEY```.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ConfigError, ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from verify.citing.citations import link_to
from verify.citing.exports import macro_text
from verify.citing.quotations import Quote, faults_of
from verify.citing.values import by_key
from verify.errors import VerifyError
from verify.evidence.load import LAST_RUN, present
from verify.text.escapes import for_tex
from verify.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from verify.citing.values import Value

_LOGGER = logging.getLogger(__name__)
_SHOWN = "verify_shown"


class VerifyRole(ReferenceRole):
    """The role: ``KEY`` shows the value, ``text <KEY>`` the text, which is compared with the value."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return what is shown; it becomes a link where the page is written, which knows how to get there.

        Raises:
            ExtensionError: there is no such value, or its form does not suit.
        """
        known: dict[str, Value] = self.env.app.verify_values  # type: ignore[attr-defined]
        # A page is read again when the results change.
        if path := self.env.app.verify_path:  # type: ignore[attr-defined]
            self.env.note_dependency(path)
        # It may stand in an included file or in a module.
        source, line = self.get_source_info()
        key, title = self.target.strip(), self.title if self.has_explicit_title else None
        try:
            value = known[key]
        except VerifyError as error:
            raise ExtensionError(f"{source}:{line}: {error}") from error
        for fault in faults_of(known, Quote(key, line, 0, 0, title)):
            # Sphinx keeps pages that did not change, and would be silent about this one at the next build.
            self.env.note_reread()
            _LOGGER.warning(f"{key}: {fault.what}", location=f"{source}:{line}", type="verify")
        node = nodes.inline(self.rawtext, title or value.text, classes=["verify"])
        node[_SHOWN] = (value, macro_text(value) if title is None else for_tex(title))
        return [node], []


def _resolve(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Give each value its link from this page, and in LaTeX the signs that TeX knows."""
    for shown in list(document.findall(nodes.inline)):
        if _SHOWN not in shown:
            continue
        value, latex = shown[_SHOWN]
        if app.builder.format == "latex":
            shown.children = [nodes.raw("", latex.replace(r"\verifywords", ""), format="latex")]
        if app.config.verify_report:
            # A relative address counts from the first page's folder.
            depth = app.builder.get_target_uri(docname).count("/") if app.builder.format == "html" else 0
            address = link_to(app.config.verify_report, value.anchor, depth)
            link = nodes.reference(
                "", "", *shown.children, refuri=address, reftitle=value.key, classes=["verify"]
            )
            shown.replace_self(link)


def _read(app: Sphinx) -> None:
    """Read the results before any page, so that a missing file is reported once."""
    chosen = Path(app.confdir) / app.config.verify_results if app.config.verify_results else None
    try:
        record = present(chosen)
    except VerifyError as error:
        raise ConfigError(f"verify_results: {error}") from error
    app.verify_values = by_key(record)  # type: ignore[attr-defined]
    path = (chosen or LAST_RUN).absolute()
    app.verify_path = str(path) if path.is_file() else ""  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and its two settings; called by Sphinx."""
    app.add_config_value("verify_results", "", "env", str)
    app.add_config_value("verify_report", "", "html", str)
    app.add_role("verify", VerifyRole())
    app.connect("builder-inited", _read)
    app.connect("doctree-resolved", _resolve)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
