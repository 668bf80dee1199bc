"""A Sphinx extension: ``:verify:`KEY``` shows a value linked to the report; an unknown key fails the build.

In ``conf.py``::

    extensions = ["verify.citing.sphinx"]
    verify_results = "results.json"                    # beside conf.py
    verify_report = "https://example.org/report.html"  # where links go; default: none

``verify_report`` is a page, a folder that holds ``report.html``, or a DOI. A relative one counts from the
folder of the first page.

Without ``verify_results``, the results are those of the last run, ``reports/results.json`` in the folder
where Sphinx is started, else the reference that comes with the tool. ``:verify:`KEY|.3f``` asks for a
form. With a text of one's own, ``:verify:`1.001 <KEY>```, that is shown; a warning says if it is no longer
so. In MyST Markdown the role is written ``{verify}`KEY```.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from logging import ERROR, WARNING
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ConfigError
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from verify.citing.citations import place_in_report
from verify.citing.exports import macro_text
from verify.citing.lookup import by_key, lookup_in, shortened
from verify.citing.quotations import fault_of_text
from verify.errors import VerifyError
from verify.evidence.load import load_either, present
from verify.text.escapes import for_tex
from verify.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

    from verify.citing.values import Value

_LOGGER = logging.getLogger(__name__)
_SHOWN = "verify_shown"
_LATEX_WORDS = re.compile(r"\\verifywords")
_EXAMPLES = {"verify_results": "results.json", "verify_report": "https://example.org/report.html"}


class VerifyRole(ReferenceRole):
    """The role: ``KEY`` shows the value, ``text <KEY>`` the text, which is compared with the value."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return what is shown; it becomes a link where the page is written, which knows how to get there."""
        known: dict[str, Value] = self.env.app.verify_values  # type: ignore[attr-defined]
        key = self.target.strip()
        _used(self.env).setdefault(self.env.docname, {})[key] = _fingerprint(known, key)
        try:
            value = lookup_in(known, key)
        except VerifyError as error:
            _report(self.env, self._place(), ERROR, str(error))
            _failed(self.env).add(self.env.docname)
            return [nodes.problematic(self.rawtext, self.rawtext)], []
        if value.doubt:
            _report(self.env, self._place(), WARNING, f"{value.key}: {value.doubt}")
        text = self.title if self.has_explicit_title else value.text
        node = nodes.inline(self.rawtext, text, classes=["verify"])
        node[_SHOWN] = (value.key, value.anchor, None if self.has_explicit_title else macro_text(value))
        fault = fault_of_text(known, key, text) if self.has_explicit_title else ""
        if fault:
            message = (
                f"{key}: '{shortened(text)}' {fault}, now '{shortened(value.text)}'; correct the role's text"
            )
            _report(self.env, self._place(), WARNING, message)
        return [node], []

    def _place(self) -> str:
        """Return the file, which may be an included one or a module, and the line."""
        source, line = self.get_source_info()
        return f"{source}:{line}"


def _report(env: BuildEnvironment, place: str, level: int, what: str) -> None:
    # Sphinx keeps pages that did not change, and would be silent about this one at the next build.
    env.note_reread()
    _LOGGER.log(level, what, location=place, type="verify")


def _resolve(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Give each value its link from this page, and in LaTeX the signs that TeX knows."""
    for shown in list(document.findall(nodes.inline)):
        if _SHOWN not in shown:
            continue
        key, anchor, latex = shown[_SHOWN]
        if app.builder.format == "latex":
            text = _LATEX_WORDS.sub("", latex) if latex else for_tex(shown.astext())
            shown.children = [nodes.raw("", text, format="latex")]
        if app.config.verify_report:
            address = _from_page(app, docname, place_in_report(app.config.verify_report, "report", anchor))
            link = nodes.reference("", "", *shown.children, refuri=address, reftitle=key, classes=["verify"])
            shown.replace_self(link)


def _from_page(app: Sphinx, docname: str, address: str) -> str:
    """Return an address as it is seen from a page; a relative one counts from the first page's folder."""
    if "://" in address or address.startswith(("/", "#")) or app.builder.format != "html":
        return address
    depth = app.builder.get_target_uri(docname).count("/")
    return "../" * depth + address.removeprefix("./")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and its two settings; called by Sphinx."""
    app.add_config_value("verify_results", "", "", str)
    app.add_config_value("verify_report", "", "html", str)
    app.add_role("verify", VerifyRole())
    app.connect("builder-inited", _read)
    app.connect("doctree-resolved", _resolve)
    app.connect("env-purge-doc", _purge)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-merge-info", _merge)
    app.connect("build-finished", _finish)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx) -> None:
    """Read the results before any page, so that a missing file is reported once."""
    for name in ("verify_results", "verify_report"):
        setting = getattr(app.config, name)
        if not isinstance(setting, str):
            raise ConfigError(f"{name} in conf.py is {setting!r}; give a text, such as {_EXAMPLES[name]!r}")
    chosen = app.config.verify_results
    try:
        record = load_either(Path(app.confdir) / chosen) if chosen else present(None)
    except VerifyError as error:
        raise ConfigError(f"verify_results: {error}") from error
    app.verify_values = by_key(record)  # type: ignore[attr-defined]


def _outdated(app: Sphinx, env: BuildEnvironment, *_: object) -> list[str]:
    """Return the pages that quote a value which is another than at the last build."""
    known: dict[str, Value] = app.verify_values  # type: ignore[attr-defined]
    # Pages with an unknown key are read at every build, and noted again.
    _failed(env).clear()
    return sorted(
        docname
        for docname, used in _used(env).items()
        if any(_fingerprint(known, key) != then for key, then in used.items())
    )


def _fingerprint(known: Mapping[str, Value], key: str) -> str:
    """Return what tells a value from another, all that a page shows of it; nothing for an unknown key."""
    try:
        value = lookup_in(known, key, suggest=False)
    except VerifyError:
        return ""
    shown = (value.text, value.figures, value.anchor, value.doubt)
    return sha256(repr(shown).encode()).hexdigest()


def _used(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Return the keys that each page quotes, with what told their values from others."""
    used: dict[str, dict[str, str]] = getattr(env, "verify_used", {})
    env.verify_used = used  # type: ignore[attr-defined]
    return used


def _purge(_: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget what a page quoted that is read again or gone."""
    _used(env).pop(docname, None)


def _failed(env: BuildEnvironment) -> set[str]:
    """Return the pages with an unknown key."""
    failed: set[str] = getattr(env, "verify_failed", set())
    env.verify_failed = failed  # type: ignore[attr-defined]
    return failed


def _merge(_: Sphinx, env: BuildEnvironment, _docnames: object, other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _failed(env).update(_failed(other))
    _used(env).update(_used(other))


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Fail the build for an unknown key, with or without -W."""
    if error is None and _failed(app.env):
        app.statuscode = 1
