"""HTML and its relatives: markers in comments."""

from __future__ import annotations

from verify.citing.language import HTML, Language

LANGUAGE = Language(suffixes=(".html", ".htm", ".xhtml", ".svg", ".vue"), comments=(HTML,))
