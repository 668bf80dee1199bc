"""The report's faces: files for print, subsets inside the page for the screen."""

import base64
import logging
from collections.abc import Iterator
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import font_source_sans_pro
import font_source_serif_pro

from verify.report.drawings import DrawingCache


class Face(NamedTuple):
    """One face of a family, as CSS knows it, with its two files."""

    family: str
    weight: int
    style: str
    for_print: Path
    for_screen: Path


def _faces(package: ModuleType, family: str) -> Iterator[Face]:
    # PostScript outlines print best; TrueType outlines, stripped of hints, are smallest on the screen.
    for name, weight, style in (("", 400, "normal"), ("It", 400, "italic"), ("Semibold", 600, "normal")):
        file = family.replace(" ", "") + name
        files = Path(package.font_files_otf[file]), Path(package.font_files_ttf[file])
        yield Face(family, weight, style, *files)


SERIF, SANS, MONO = "Source Serif Pro", "Source Sans Pro", "DejaVu Sans Mono"
# No registry has Source Code or STIX Two Math as a package by itself; these two bring free faces along.
_MONO_FILE = Path(
    str(distribution("matplotlib").locate_file("matplotlib/mpl-data/fonts/ttf/DejaVuSansMono.ttf"))
)
_MATH_FILE = Path(str(distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")))
FACES = (
    *_faces(font_source_serif_pro, SERIF),
    *_faces(font_source_sans_pro, SANS),
    Face(MONO, 400, "normal", _MONO_FILE, _MONO_FILE),
)
MATH = Face("STIX Two Math", 400, "normal", _MATH_FILE, _MATH_FILE)
ROOT = MATH._replace(family="Low Root")
_PACKAGES = ("fonttools", "font-source-sans-pro", "font-source-serif-pro", "matplotlib", "ziamath")


def rules_for_print() -> str:
    """Return ``@font-face`` rules that name the installed files."""
    kinds = {".otf": "opentype", ".ttf": "truetype"}
    return "".join(_rule(face, face.for_print.as_uri(), kinds[face.for_print.suffix]) for face in FACES)


def rules_for_screen(characters: str, mathematical: str) -> str:
    """Return ``@font-face`` rules that carry the faces with them, cut down to these characters.

    The ``mathematical`` characters are those of formulas. Cutting faces takes a third of a page's time, so
    what was cut for an earlier page is remembered.
    """
    cache = DrawingCache("faces", *_PACKAGES)
    wanted = f"{characters}\n{mathematical}"
    if wanted not in cache:
        addresses = {}
        for face in FACES:
            # Kerning takes most of the time; the few words in italics or in bold serif do without.
            kerned = face.style == "normal" and (face.family, face.weight) not in {(SERIF, 600), (MONO, 400)}
            addresses[face] = _cut(face, characters, "MATH", "GSUB", *([] if kerned else ["GPOS"]))
        addresses[MATH] = _cut(MATH, mathematical, "GSUB", "GPOS")
        # A browser leaves room for the widest of a face's root signs: low roots have a face with one sign.
        addresses[ROOT] = _cut(ROOT, "√", "GSUB", "GPOS", can_grow=False)
        cache[wanted] = "".join(_rule(face, address, "woff2") for face, address in addresses.items())
        cache.save()
    return str(cache[wanted])


def _rule(face: Face, address: str, kind: str) -> str:
    return (
        f"@font-face{{font-family:'{face.family}';font-weight:{face.weight};font-style:{face.style};"
        f"src:url('{address}') format('{kind}');font-display:block}}\n"
    )


def _cut(face: Face, characters: str, *dropped: str, can_grow: bool = True) -> str:
    """Return a face cut down to these characters, with or without their higher forms, as a data address."""
    from fontTools.subset import Options, Subsetter  # noqa: PLC0415 - cut faces are remembered, and loading takes time
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = Options(hinting=False, layout_features=["kern"])
    options.drop_tables += [*dropped, "GDEF", "BASE"]
    options.no_subset_tables += ["name"]  # to look for idle names takes longer than to carry them
    subsetter = Subsetter(options)
    subsetter.populate(text=characters)
    stream = BytesIO()
    with TTFont(face.for_screen, recalcTimestamp=False, lazy=True) as font:
        if "MATH" in font:
            mathematics = font["MATH"].table
            # Browsers would lower an index below a letter's descender, too: q's further than k's.
            mathematics.MathConstants.SubscriptBaselineDropMin.Value = 0
            mathematics.MathVariants = mathematics.MathVariants if can_grow else None
        subsetter.subset(font)
        font.flavor = "woff2"
        font.save(stream)
    return "data:font/woff2;base64," + base64.b64encode(stream.getvalue()).decode()
