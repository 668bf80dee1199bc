"""The report's faces: files for print, subsets inside the page for the screen."""

import base64
import logging
from importlib import util
from importlib.metadata import distribution, version
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import font_source_sans_pro
import font_source_serif_pro

from verify.report.cache import DrawingCache


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


def _math(family: str) -> Face:
    """Return the face for formulas: no package has it by itself, ziamath brings one as free."""
    file = Path(str(distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")))
    return Face(family, 400, "normal", file, file)


MATH, ROOT = _math("STIX Two Math"), _math("Low Root")
_PACKAGES = ("fonttools", "font-source-sans-pro", "font-source-serif-pro", "matplotlib", "ziamath")
_KINDS = {".otf": "opentype", ".ttf": "truetype"}


def rules_for_print() -> str:
    """Return ``@font-face`` rules that name the installed files."""
    return "".join(_rule(face, face.for_print.as_uri(), _KINDS[face.for_print.suffix]) for face in FACES)


def rules_for_screen(characters: str, mathematical: str) -> str:
    """Return ``@font-face`` rules that carry the faces with them, cut down to these characters.

    The ``mathematical`` ones are those of formulas.

    They are kept: to cut faces takes a third of a page's time.
    """
    cache = DrawingCache("faces", *(f"{name} {version(name)}" for name in _PACKAGES))
    wanted = f"{characters}\n{mathematical}"
    rules = cache.get(wanted)
    if rules is None:
        rules = "".join(_rule(face, _subset(face, characters), "woff2") for face in FACES)
        rules += _rule(MATH, _mathematical_subset(MATH, mathematical), "woff2")
        # A browser leaves room for the widest of a face's root signs: low roots have a face with one.
        rules += _rule(ROOT, _mathematical_subset(ROOT, "√", can_grow=False), "woff2")
        cache.put(wanted, rules)
    return rules


def _rule(face: Face, address: str, kind: str) -> str:
    return (
        f"@font-face{{font-family:'{face.family}';font-weight:{face.weight};font-style:{face.style};"
        f"src:url('{address}') format('{kind}');font-display:block}}\n"
    )


def _subset(face: Face, characters: str) -> str:
    """Return a face cut down to some characters, as a data address."""
    # Kerning takes most of the time; the few words in italics or in bold serif do without, and code must.
    kerned = face.style == "normal" and (face.family, face.weight) not in {(SERIF, 600), (MONO, 400)}
    return _cut(face, characters, "MATH", "GSUB", "GDEF", "BASE", *([] if kerned else ["GPOS"]))


def _mathematical_subset(face: Face, characters: str, *, can_grow: bool = True) -> str:
    """Return a face for formulas with the higher forms of its signs, or without, as a data address."""
    return _cut(face, characters, "GSUB", "GPOS", "GDEF", "BASE", can_grow=can_grow)


def _cut(face: Face, characters: str, *dropped: str, can_grow: bool = True) -> str:
    from fontTools.subset import Options, Subsetter  # noqa: PLC0415 - cut faces are kept, and loading takes time
    from fontTools.ttLib import TTFont  # noqa: PLC0415

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = Options(hinting=False, layout_features=["kern"])
    options.drop_tables += dropped
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
