"""The report's faces: whole files for print, subsets that hold what is shown for the screen."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from fontTools.ttLib import TTFont

from verify.report.fonts import FACES, MONO, SANS, SERIF, Face, rules_for_print, rules_for_screen

CHARACTERS = "Var q·k = 64 ± 0.1"
RULE = re.compile(
    r"@font-face\{font-family:'([^']+)';font-weight:(\d+);font-style:(\w+);"
    r"src:url\('([^']+)'\) format\('(\w+)'\);font-display:block\}\n"
)


def rules(text: str) -> list[tuple[str, str, str, str, str]]:
    """Return family, weight, style, address and kind of each rule; there is nothing beside rules."""
    assert RULE.sub("", text) == ""
    return RULE.findall(text)


@pytest.fixture(scope="module")
def screen() -> list[tuple[str, str, str, str, str]]:
    """Return the rules for the screen with a few characters."""
    return rules(rules_for_screen(CHARACTERS))


def test_each_face_is_one_of_its_family() -> None:
    """Three of each, told apart by weight and style, one for code; the files are those of their weights."""
    assert len({face[:3] for face in FACES}) == len(FACES) == 7
    assert [face.family for face in FACES].count(MONO) == 1
    assert [face.family for face in FACES].count(SERIF) == [face.family for face in FACES].count(SANS) == 3
    for face in FACES:
        for path in (face.for_print, face.for_screen):
            with TTFont(path, lazy=True) as font:
                assert font["OS/2"].usWeightClass == face.weight
                assert bool(font["post"].italicAngle) == (face.style == "italic")
                assert font["name"].getDebugName(1).startswith(face.family)


def test_print_has_the_installed_files() -> None:
    """Every rule's address leads to the face's own file, PostScript outlines but for code."""
    found = rules(rules_for_print())
    assert [rule[:3] for rule in found] == [(one.family, str(one.weight), one.style) for one in FACES]
    assert [Path(unquote(urlsplit(rule[3]).path)) for rule in found] == [one.for_print for one in FACES]
    assert [rule[4] for rule in found] == ["opentype"] * 6 + ["truetype"]


@pytest.mark.parametrize("place", range(len(FACES)))
def test_the_screen_carries_what_it_shows(screen: list[tuple[str, str, str, str, str]], place: int) -> None:
    """Each character of the page has a glyph as wide as in the whole face, and no other has one."""
    face: Face = FACES[place]
    family, weight, style, address, kind = screen[place]
    assert (family, int(weight), style, kind) == (*face[:3], "woff2")
    content = base64.b64decode(address.removeprefix("data:font/woff2;base64,"), validate=True)
    assert len(content) < 20_000
    with TTFont(BytesIO(content)) as font, TTFont(face.for_screen, lazy=True) as whole:
        glyphs = font.getBestCmap()
        assert set(map(chr, glyphs)) == set(CHARACTERS)
        for code, name in glyphs.items():
            assert font["hmtx"][name][0] == whole["hmtx"][whole.getBestCmap()[code]][0]
        kerned = style == "normal" and (family, int(weight)) != (SERIF, 600)
        assert ("GPOS" in font) == (kerned and family != MONO)


def test_what_only_draws_is_not_loaded_for_pages() -> None:
    """Faces are files: neither Matplotlib nor what cuts them is needed to know where they are."""
    program = "import sys, verify.report.html; print({'matplotlib', 'fontTools.subset'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"
    assert all(face.for_print.is_file() and face.for_screen.is_file() for face in FACES)
