"""The drawn signs of the verdicts; each has its own outline, so no one needs colour to distinguish them."""

from __future__ import annotations

_ROUND = "M1.1 8a6.9 6.9 0 1 1 13.8 0a6.9 6.9 0 1 1-13.8 0z"
_CIRCLE = f'<path d="{_ROUND}"/>'
_OCTAGON = '<path d="M5.1 1.2h5.8l3.9 3.9v5.8l-3.9 3.9H5.1L1.2 10.9V5.1z"/>'
_SQUARE = '<path d="M1.3 1.3h13.4v13.4H1.3z"/>'
_DASHED = f'<path d="{_ROUND}" stroke-dasharray="2.4 1.94"/>'
_WAVE = "c1.2-1.4 2.4-1.4 3.6-.5s2.4.9 3.6-.5"

# Paths, stroked unless they say otherwise, on a square of 16 units.
MARKS = {
    "check": _CIRCLE + '<path d="M4.7 8.4 7 10.7 11.3 5.7"/>',
    "about": _CIRCLE + f'<path d="M4.4 7{_WAVE}M4.4 10.2{_WAVE}"/>',
    "points": _CIRCLE + '<path d="M4.4 8v.01M8 8v.01M11.6 8v.01" stroke-width="1.9"/>',
    "half": _CIRCLE + '<path d="M8 1.1a6.9 6.9 0 0 1 0 13.8z" fill="currentColor"/>',
    "eye": _CIRCLE + '<path d="M3.6 8s1.7-2.8 4.4-2.8S12.4 8 12.4 8s-1.7 2.8-4.4 2.8S3.6 8 3.6 8z"/>',
    "cross": _OCTAGON + '<path d="M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2"/>',
    "unequal": _SQUARE + '<path d="M4.4 6.4h7.2M4.4 9.6h7.2M10 3.8 6 12.2"/>',
    "alarm": '<path d="M8 1.5 15 14.3H1z"/><path d="M8 6.2v4M8 11.7v.9"/>',
    "open": _DASHED + '<path d="M6.1 6.3c.2-2.6 4-2.3 3.8.1-.1 1.4-1.9 1.5-1.9 3.1M8 11.2v.9"/>',
    "dash": _DASHED + '<path d="M5 8h6"/>',
}
STROKE_WIDTH = 1.5


def drawings() -> dict[str, str]:
    """Return all marks by name, each as an SVG of its own in black."""
    stroke = f"fill='none' stroke='black' stroke-width='{STROKE_WIDTH}'"
    return {
        name: "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
        f"<g {stroke} stroke-linecap='round' stroke-linejoin='round'>{{}}</g></svg>".format(
            drawing.replace('"', "'").replace("currentColor", "black")
        )
        for name, drawing in MARKS.items()
    }
