"""The report's faces: files for print, subsets inside the page for the screen."""

from __future__ import annotations

import base64
import logging
from importlib import util
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import font_source_sans_pro
import font_source_serif_pro

from verify.report.cache import DrawingCache

if TYPE_CHECKING:
    from types import ModuleType


class Face(NamedTuple):
    """One face of a family, as CSS knows it, with its two files."""

    family: str
    weight: int
    style: str
    for_print: Path
    for_screen: Path


def _face(package: ModuleType, name: str, family: str, weight: int, style: str = "normal") -> Face:
    # PostScript outlines print best; TrueType outlines, stripped of hints, are smallest on the screen.
    files = (Path(package.font_files_otf[name]), Path(package.font_files_ttf[name]))
    return Face(family, weight, style, *files)


SERIF, SANS, MONO = "Source Serif Pro", "Source Sans Pro", "DejaVu Sans Mono"


def _mono_file() -> Path:
    """Return the face for code: no registry has Source Code as a package, Matplotlib brings one as free.

    It is found without Matplotlib, which takes a quarter of a second to load.
    """
    package = util.find_spec("matplotlib")
    assert package is not None  # noqa: S101 - this package requires it
    assert package.origin is not None  # noqa: S101 - it is no namespace
    return Path(package.origin).with_name("mpl-data") / "fonts" / "ttf" / "DejaVuSansMono.ttf"


_MONO_FILE = _mono_file()
FACES = (
    _face(font_source_serif_pro, "SourceSerifPro", SERIF, 400),
    _face(font_source_serif_pro, "SourceSerifProIt", SERIF, 400, "italic"),
    _face(font_source_serif_pro, "SourceSerifProSemibold", SERIF, 600),
    _face(font_source_sans_pro, "SourceSansPro", SANS, 400),
    _face(font_source_sans_pro, "SourceSansProIt", SANS, 400, "italic"),
    _face(font_source_sans_pro, "SourceSansProSemibold", SANS, 600),
    Face(MONO, 400, "normal", _MONO_FILE, _MONO_FILE),
)
_PACKAGES = ("fonttools", "font-source-sans-pro", "font-source-serif-pro", "matplotlib")
_KINDS = {".otf": "opentype", ".ttf": "truetype"}


def rules_for_print() -> str:
    """Return ``@font-face`` rules that name the installed files."""
    return "".join(_rule(face, face.for_print.as_uri(), _KINDS[face.for_print.suffix]) for face in FACES)


def rules_for_screen(characters: str) -> str:
    """Return ``@font-face`` rules that carry the faces with them, cut down to these characters.

    They are kept: to cut faces takes a third of a page's time.
    """
    cache = DrawingCache("faces", *(f"{name} {version(name)}" for name in _PACKAGES))
    rules = cache.get(characters)
    if rules is None:
        rules = "".join(_rule(face, _subset(face, characters), "woff2") for face in FACES)
        cache.put(characters, rules)
    return rules


def _rule(face: Face, address: str, kind: str) -> str:
    return (
        f"@font-face{{font-family:'{face.family}';font-weight:{face.weight};font-style:{face.style};"
        f"src:url('{address}') format('{kind}');font-display:block}}\n"
    )


def _subset(face: Face, characters: str) -> str:
    """Return a face cut down to some characters, as a data address."""
    from fontTools.subset import Options, Subsetter  # noqa: PLC0415 - cut faces are kept, and loading takes time
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # Kerning takes most of the time; the few words in italics or in bold serif do without, and code must.
    kerned = face.style == "normal" and (face.family, face.weight) not in {(SERIF, 600), (MONO, 400)}
    options = Options(hinting=False, layout_features=["kern"])
    options.drop_tables += ["GSUB", "GDEF", "BASE"] + ([] if kerned else ["GPOS"])
    options.no_subset_tables += ["name"]  # to look for idle names takes longer than to carry them
    subsetter = Subsetter(options)
    subsetter.populate(text=characters)
    stream = BytesIO()
    with TTFont(face.for_screen, recalcTimestamp=False, lazy=True) as font:
        subsetter.subset(font)
        font.flavor = "woff2"
        font.save(stream)
    return "data:font/woff2;base64," + base64.b64encode(stream.getvalue()).decode()
