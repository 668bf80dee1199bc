"""Makes matplotlib's SVG fit to lie in a page: bare, short, its ids its own."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UNSEEN = 0.05  # points off a curve
_PIECE = re.compile(r"M(?:\s*-?[\d.]+){2}\s*(?:L(?:\s*-?[\d.]+){2}\s*)*(?=[MZz]|$)")


def tidy(svg: str, prefix: str, *, ink: str, family: str) -> str:
    """Return the bare element: no prologue, no style rules that would leak into a page, no idle ids.

    Ids get a ``prefix``; what is drawn in the colour ``ink`` takes that of the surrounding text; all text is
    of one ``family``.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace(ink, "currentColor")
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)
    svg = _without_idle_groups(_without_idle_paths(svg))
    svg = re.sub(r"<[^/][^>]*>", _brief, svg.replace(f"font-family: '{family}'; ", ""))
    svg = re.sub(_LETTERS, _in_one, svg)
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', _ROOT.format(family=family), svg, count=1)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<defs>\s*</defs>", "", svg)).strip()


def _without_idle_groups(svg: str) -> str:
    """Return the drawing without groups that have no effect; every node costs time where it is printed."""
    idle: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            idle.append(tag[0] == "<g>")
            return "" if idle[-1] else tag[0]
        return "" if idle.pop() else tag[0]

    return re.sub(r"</?g\b[^>]*>", kept, svg)


def _without_idle_paths(svg: str) -> str:
    """Return the drawing without paths that have neither fill nor stroke, such as its background."""
    idle = r'<path d="[^"]*" (?:clip-path="[^"]*" )?style="fill: none"/>'
    # What lies in definitions may get its stroke where it is used.
    return re.sub(rf"(<defs>.*?</defs>)|{idle}", lambda found: found[1] or "", svg, flags=re.DOTALL)


def _brief(tag: re.Match[str]) -> str:
    """Return a tag without what has no effect: places finer than a hundredth of a point, turns by nothing."""
    short = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag[0])
    short = re.sub(r' (?:d|x|y|width|height)="[^"]*|translate\([^)]*', _rounded, short)
    return re.sub(r'(?<= d=")[^"]*', lambda path: _PIECE.sub(_straightened, path[0].replace("\n", "")), short)


def _straightened(piece: re.Match[str]) -> str:
    """Return a polyline without the points that nobody could see missing, and without idle spaces."""
    points = [complex(*map(float, point.split())) for point in re.split("[ML]", piece[0].strip())[1:]]
    kept = [0, *_needed(points, 0, len(points) - 1), len(points) - 1] if len(points) > 1 else [0]
    return "M" + "L".join(f"{points[at].real:g} {points[at].imag:g}" for at in kept)


def _needed(points: Sequence[complex], first: int, last: int) -> Iterator[int]:
    """Yield the points between two that a straight line misses by too much (Ramer, Douglas and Peucker)."""
    if last - first < 2:
        return
    along = points[last] - points[first]

    def off(at: int) -> float:
        away = points[at] - points[first]
        return abs((away * along.conjugate()).imag) / abs(along) if along else abs(away)

    farthest = max(range(first + 1, last), key=off)
    if off(farthest) > _UNSEEN:
        yield from _needed(points, first, farthest)
        yield farthest
        yield from _needed(points, farthest, last)


def _rounded(places: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), 2) + 0.0:g}", places[0])


def _in_one(letters: re.Match[str]) -> str:
    """Return letters, each drawn by itself, as words: shorter, and a search finds them."""
    joined = []
    for (height, style), run in groupby(
        re.findall(_LETTER, letters[0]), key=lambda found: (found[1], found[2])
    ):
        parts = list(run)
        places = " ".join(place for place, *_ in parts)
        text = "".join(letter for *_, letter in parts)
        joined.append(f'<tspan x="{places}" y="{height}" style="{style}">{text}</tspan>')
    return "".join(joined)


_LETTER = r'<tspan x="([^"]*)" y="([^"]*)" style="([^"]*)">([^<&]|&[^;<]*;)</tspan>'
_LETTERS = rf"(?:{_LETTER}\s*){{2,}}"
_ROOT = (
    r'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    r'viewBox="\1" font-family="{family}" stroke-linejoin="round" stroke-linecap="butt">'
)
