"""Pictures as parts of a page: each formula defined once as text in a face of its own, figures as SVG."""

from __future__ import annotations

import base64
import itertools
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from verify.report import marks
from verify.report.mathfont import FAMILY, Typeface
from verify.report.typeset import trusted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.report.math import Formula
    from verify.report.views import Badge


_SAFE = " /:=.,-()"
"""What need not be escaped in a data address between single quotes."""


class InPage:
    """Pictures as inline SVG in the text's own colour; formulas and marks are defined once for the page."""

    folds = True

    def __init__(self, figures: Mapping[str, str]) -> None:
        self._figures = figures
        self._formulas: dict[tuple[str, str], tuple[str, Formula]] = {}
        self._sizes: dict[tuple[str, str], str] = {}
        self._styles: dict[str, str] = {}
        self._places = itertools.count(1)
        self._face = Typeface()

    def formula(self, formula: Formula, style: str, words: str) -> Markup:
        """Return an inline SVG that refers to the formula among the page's definitions."""
        key = (formula.body, formula.view_box)
        # Capital letters: claims' ids have none.
        name, _ = self._formulas.setdefault(key, (f"F{len(self._formulas)}", formula))
        _, _, width, height = formula.view_box.split()
        size = re.sub(r"height:[^;]*;", "", style) + f";aspect-ratio:{float(width):.0f}/{float(height):.0f}"
        called = self._sizes.setdefault((name, size), f"S{len(self._sizes)}")
        return Markup('<svg class="f {}" role="img" aria-label="{}"><use href="#{}"/></svg>').format(
            called, words, name
        )

    def mark(self, badge: Badge) -> Markup:
        """Return an element that the style rules cut out of its colour: its word stands beside it."""
        return Markup('<i class="mark tone-{} m-{}"></i>').format(badge.tone, badge.mark)

    def figure(self, key: str, words: str) -> Markup:
        """Return the figure's own SVG with its words; its styles are the page's."""
        svg = self._figures[key].replace("xlink:href", "href")
        # A figure may stand twice in a page; its ids must not.
        place = next(self._places)
        ids = {name: f"D{place}-{at}" for at, name in enumerate(re.findall(r' id="([^"]+)"', svg))}
        svg = re.sub(r'( id="|url\(#|href="#)([^")]+)', lambda found: found[1] + ids[found[2]], svg)
        svg = re.sub(r' style="([^"]*)"', self._class, svg)
        svg = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg)
        opening, rest = svg.split(">", 1)
        return Markup('{} role="img" aria-label="{}">{}').format(trusted(opening), words, trusted(rest))

    def _class(self, style: re.Match[str]) -> str:
        return f' class="{self._styles.setdefault(style[1], f"C{len(self._styles)}")}"'

    def definitions(self) -> Markup:
        """Return every formula that the page used so far."""
        hidden = 'class="definitions" aria-hidden="true" focusable="false"'
        return trusted(f"<svg {hidden}><defs>{self._shapes()}</defs></svg>")

    def _shapes(self) -> str:
        drawn, outlined = [], set[tuple[str, str]]()
        for name, formula in self._formulas.values():
            body, needed = self._face.text(formula)
            outlined.update(glyph for glyph in formula.glyphs if glyph[0] in needed)
            drawn.append(f'<symbol id="{name}" viewBox="{formula.view_box}">{body}</symbol>')
        glyphs = "".join(f'<path id="{name}" d="{outline}"/>' for name, outline in sorted(outlined))
        return glyphs + "".join(drawn)

    def formula_rules(self) -> str:
        """Return the style rules of the formulas that ``definitions`` has defined, with their face."""
        address = "data:font/woff2;base64," + base64.b64encode(self._face.woff2()).decode()
        rules = (f".{called}{{{size}}}" for (_, size), called in self._sizes.items())
        return (
            f"@font-face{{font-family:{FAMILY};src:url('{address}') format('woff2');font-display:block}}\n"
            f"symbol{{font:1000px {FAMILY};overflow:visible}}\n" + "\n".join(rules) + "\n"
        )

    def mark_rules(self) -> str:
        """Return the style rules that give each mark its shape."""
        return "\n".join(
            f".m-{name}{{mask-image:url('data:image/svg+xml,{quote(shape, safe=_SAFE)}')}}"
            for name, shape in marks.drawings().items()
        )

    def figure_rules(self) -> str:
        """Return the style rules of the figures so far."""
        return "\n".join(f".{called}{{{style}}}" for style, called in self._styles.items())
