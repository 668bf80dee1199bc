"""Makes matplotlib's SVG fit to lie in a page: bare, short, its ids its own."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

_UNSEEN = 0.05  # points off a curve
_CIRCLE = re.compile(r"M0 ([\d.]+)(?:C(?:-?[\d.]+ ?){6}){8}[Zz]")
_TAG = r"(<defs>.*?</defs>)|<[^/][^>]*>"
_TICK = r'<defs>\s*<path id="([^"]+)" d="M0 0(?:H([-\d.]+)|V([-\d.]+))" style="([^"]*)"/>\s*</defs>'
_USE = r'<use (?:xlink:)?href="#([^"]+)" x="([^"]*)" y="([^"]*)"[^>]*/>'
_STRAIGHT = r'<path d="((?:M[-\d. ]+[HV][-\d.]+)+)"((?: clip-path="[^"]*")? style="[^"]*"/>)'
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
    svg = re.sub(_TAG, _brief, svg.replace(f"font-family: '{family}'; ", ""), flags=re.DOTALL)
    svg = _together(_without_ticks(svg))
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
    """Return a tag without what has no effect: places finer than can be seen, turns by nothing.

    Definitions, in which the small shapes of marks lie, are finer.
    """
    short = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag[0])
    digits = 2 if tag[1] else 1
    short = re.sub(
        r' (?:x|y|width|height)="[^"]*|translate\([^)]*', lambda places: _rounded(places[0], digits), short
    )
    return re.sub(r'(?<= d=")[^"]*', lambda path: _CIRCLE.sub(_arcs, _outline(path[0], digits)), short)


def _arcs(circle: re.Match[str]) -> str:
    """Return the outline of a round mark, which matplotlib draws as eight curves, as two arcs."""
    radius = circle[1]
    return f"M0 {radius}A{radius} {radius} 0 1 1 0-{radius}A{radius} {radius} 0 1 1 0 {radius}z"


def _outline(path: str, digits: int) -> str:
    """Return a path without idle spaces and points, to some digits."""
    short = _PIECE.sub(lambda piece: _straightened(piece[0], digits), path.replace("\n", ""))
    return re.sub(r" ?([A-Za-z]) ?", r"\1", _rounded(short, digits))


def _without_ticks(svg: str) -> str:
    """Return the drawing with the ticks of its axes as lines, not as uses of one defined elsewhere."""
    ticks = {name: (float(x or 0), float(y or 0), style) for name, x, y, style in re.findall(_TICK, svg)}

    def drawn(use: re.Match[str]) -> str:
        return _line(float(use[2]), float(use[3]), *ticks[use[1]]) if use[1] in ticks else use[0]

    return re.sub(_USE, drawn, re.sub(_TICK, "", svg))


def _line(x: float, y: float, across: float, down: float, style: str) -> str:
    end = f"H{x + across:g}" if across else f"V{y + down:g}"
    return f'<path d="M{x:g} {y:g}{end}" style="{style}"/>'


def _together(svg: str) -> str:
    """Return the drawing with straight lines that look alike, such as those of a grid, as one path."""
    lines: dict[str, list[str]] = {}
    for line, look in re.findall(_STRAIGHT, svg):
        lines.setdefault(look, []).append(line)

    def joined(path: re.Match[str]) -> str:
        run = lines.pop(path[2], [])
        return f'<path d="{"".join(run)}"{path[2]}' if run else ""

    return re.sub(_STRAIGHT, joined, svg)


def _straightened(piece: str, digits: int) -> str:
    """Return a polyline without the points that are not seen missing."""
    points = [complex(*map(float, point.split())) for point in re.split("[ML]", piece.strip())[1:]]
    kept = [0, *_needed(points, 0, len(points) - 1), len(points) - 1] if len(points) > 1 else [0]
    corners = [complex(round(points[at].real, digits), round(points[at].imag, digits)) for at in kept]
    start = corners[0] + 0.0
    return f"M{start.real:g} {start.imag:g}" + "".join(map(_step, corners, corners[1:]))


def _step(one: complex, other: complex) -> str:
    if one.imag == other.imag:
        return f"H{other.real:g}"
    return f"V{other.imag:g}" if one.real == other.real else f"L{other.real:g} {other.imag:g}"


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


def _rounded(places: str, digits: int) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), digits) + 0.0:g}", places)


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
