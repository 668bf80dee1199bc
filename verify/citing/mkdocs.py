"""A plugin for MkDocs: ``{verify}`KEY``` shows a value linked to the report; an unknown key fails the build.

In ``mkdocs.yml``::

    plugins:
      - sdpa-verify:
          results: results.json                    # beside mkdocs.yml
          report: https://example.org/report.html  # where links go; default: none

A key may ask for a form, as in ``{verify}`KEY|.3f```. A text of one's own, ``{verify}`1.001 <KEY>```,
and what stands between markers, is compared with the value: a warning, which fails a build with ``--strict``,
says if it is no longer so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config import config_options
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, get_plugin_logger

from verify.citing.citations import link_to
from verify.citing.quotations import faults_of, quotes_in
from verify.citing.values import by_key
from verify.errors import VerifyError
from verify.evidence.load import present
from verify.text.escapes import for_html

_LOG = get_plugin_logger("sdpa-verify")
_ROLE_START, _ROLE_END = "{verify}`", "`"


class VerifyPlugin(BasePlugin):  # type: ignore[misc]  # MkDocs may not be installed
    """The plugin, which MkDocs finds by the name ``sdpa-verify``."""

    config_scheme = tuple((name, config_options.Type(str, default="")) for name in ("results", "report"))

    def on_config(self, config: Any) -> Any:
        """Read the results before any page, and have them watched."""
        chosen = self.config["results"]
        path = Path(config["config_file_path"]).parent / chosen if chosen else None
        try:
            self._known = by_key(present(path))
        except VerifyError as error:
            raise PluginError(f"results: {error}") from error
        if path:
            config["watch"] = [*config.get("watch", []), str(path)]
        return config

    def on_page_markdown(self, markdown: str, /, *, page: Any, **_: Any) -> str:
        """Return a page with its roles replaced by their values."""
        path = Path(page.file.src_uri)
        try:
            quotes = quotes_in(path, markdown)
        except VerifyError as error:
            raise PluginError(str(error)) from error
        parts, end = [], 0
        for quote in quotes:
            place = f"{path}:{quote.line}"
            try:
                value = self._known[quote.key]
            except VerifyError as error:
                raise PluginError(f"{place}: {error}") from error
            for fault in faults_of(self._known, quote):
                _LOG.warning("%s: %s: %s", place, quote.key, fault.what)
            start = markdown.rfind(_ROLE_START, end, quote.start)
            if start >= 0 and not markdown[start + len(_ROLE_START) : quote.start].strip():
                shown = for_html(quote.quoted or value.text)
                link = f'<span class="verify">{shown}</span>'
                if self.config["report"]:
                    address = for_html(link_to(self.config["report"], value.anchor, page.url.count("/")))
                    link = f'<a class="verify" title="{for_html(value.key)}" href="{address}">{shown}</a>'
                parts += [markdown[end:start], link]
                end = markdown.index(_ROLE_END, quote.end) + len(_ROLE_END)
        return "".join([*parts, markdown[end:]])
