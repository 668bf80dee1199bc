"""A Sphinx extension: ``:verify:`KEY``` shows a value linked to the report; an unknown key fails the build.

In ``conf.py``::

    extensions = ["verify.citing.sphinx"]
    verify_results = "results.json"                    # beside conf.py
    verify_report = "https://example.org/report.html"  # where links go; default: none

Without ``verify_results``, the results are those of the last run, ``reports/results.json`` in the folder
where Sphinx is started, else the reference that comes with the tool. With a text of one's own,
``:verify:`1.001 <KEY>```, that is shown; a warning says if it is no longer so. In MyST Markdown the role is
written ``{verify}`KEY```.
"""

from __future__ import annotations

from hashlib import sha256
from logging import ERROR, WARNING
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from docutils import nodes
from sphinx.errors import ConfigError
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from verify.citing.agreement import agrees
from verify.citing.markers import AFTER
from verify.citing.values import by_key, lookup_in
from verify.errors import VerifyError
from verify.evidence.load import load_either, present
from verify.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

    from verify.citing.value import Value

_LOGGER = logging.getLogger(__name__)
_QUOTED = "verify_quoted"
_EXAMPLES = {"verify_results": "results.json", "verify_report": "https://example.org/report.html"}


class VerifyRole(ReferenceRole):
    """The role: ``KEY`` shows the value, ``text <KEY>`` the text, which is held against the value."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return what is shown, linked to its place in the report if ``verify_report`` says where that is."""
        known: dict[str, Value] = self.env.app.verify_values  # type: ignore[attr-defined]
        try:
            value = lookup_in(known, self.target.strip())
        except VerifyError as error:
            self._report(ERROR, str(error))
            _failed(self.env).add(self.env.docname)
            shown = nodes.problematic(self.rawtext, self.rawtext)
            return [shown], []
        if value.doubt:
            self._report(WARNING, f"{value.key}: {value.doubt}")
        text = self.title if self.has_explicit_title else value.text
        report = self.config.verify_report
        link = {"refuri": f"{report}#{quote(value.anchor)}", "reftitle": value.key} if report else {}
        kind = nodes.reference if report else nodes.inline
        node: nodes.TextElement = kind(self.rawtext, text, classes=["verify"], **link)
        if self.has_explicit_title:
            # What follows may be its unit, and is read later.
            node[_QUOTED] = (text, value.key, self.get_source_info()[1])
        return [node], []

    def _report(self, level: int, what: str) -> None:
        _report(self.env, self.get_source_info()[1], level, what)


def _report(env: BuildEnvironment, line: int, level: int, what: str) -> None:
    # Sphinx keeps pages that did not change, and would be silent about this one at the next build.
    env.note_reread()
    _LOGGER.log(level, what, location=(env.docname, line), type="verify")


def _compare(app: Sphinx, document: nodes.document) -> None:
    """Hold the texts of a page's roles against their values, each with the unit that may follow it."""
    for shown in document.findall(nodes.TextElement):
        if _QUOTED not in shown:
            continue
        text, key, line = shown[_QUOTED]
        del shown[_QUOTED]
        value = lookup_in(app.verify_values, key)  # type: ignore[attr-defined]
        if not agrees(text, value, _after(shown)):
            message = f"{key}: printed {text!r}, now {value.text!r}; fix the role's text"
            _report(app.env, line, WARNING, message)


def _after(node: nodes.Node) -> str:
    """Return the text that follows in the same paragraph."""
    text = ""
    while isinstance(node.parent, nodes.TextElement):
        following = node.parent[node.parent.index(node) + 1 :]
        text += "".join(one.astext() for one in following)
        node = node.parent
    return text[:AFTER]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role and its two settings; called by Sphinx."""
    app.add_config_value("verify_results", "", "env", str)
    app.add_config_value("verify_report", "", "env", str)
    app.add_role("verify", VerifyRole())
    app.connect("builder-inited", _read)
    app.connect("doctree-read", _compare)
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
    """Return all pages where the values are others than at the last build: any may quote them."""
    known: dict[str, Value] = app.verify_values  # type: ignore[attr-defined]
    quotable = [(one.key, one.text, one.figures, one.anchor, one.doubt) for one in known.values()]
    now = sha256(repr(quotable).encode()).hexdigest()
    changed = getattr(env, "verify_digest", "") != now
    env.verify_digest = now  # type: ignore[attr-defined]
    # Pages with an unknown key are read at every build, and noted again.
    _failed(env).clear()
    return sorted(env.found_docs) if changed else []


def _failed(env: BuildEnvironment) -> set[str]:
    """Return the pages with an unknown key."""
    failed: set[str] = getattr(env, "verify_failed", set())
    env.verify_failed = failed  # type: ignore[attr-defined]
    return failed


def _merge(_: Sphinx, env: BuildEnvironment, _docnames: object, other: BuildEnvironment) -> None:
    """Take over what another process read."""
    _failed(env).update(_failed(other))


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Fail the build for an unknown key, with or without -W."""
    if error is None and _failed(app.env):
        app.statuscode = 1
