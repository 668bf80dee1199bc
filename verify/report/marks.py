"""The drawn signs of the verdicts; each has its own outline, so colour is never needed to tell them apart."""

from __future__ import annotations

_CIRCLE = '<circle cx="8" cy="8" r="6.9"/>'

_OCTAGON = '<path d="M5.1 1.2h5.8l3.9 3.9v5.8l-3.9 3.9H5.1L1.2 10.9V5.1z"/>'
_SQUARE = '<rect x="1.3" y="1.3" width="13.4" height="13.4" rx="1"/>'
_DASHED = '<circle cx="8" cy="8" r="6.9" stroke-dasharray="2.4 1.94"/>'
_WAVE = "c1.2-1.4 2.4-1.4 3.6-.5s2.4.9 3.6-.5"

# Strokes on a square of 16 units.
MARKS = {
    "check": _CIRCLE + '<path d="M4.7 8.4 7 10.7 11.3 5.7"/>',
    "about": _CIRCLE + f'<path d="M4.4 7{_WAVE}M4.4 10.2{_WAVE}"/>',
    "half": _CIRCLE + '<path d="M8 1.1a6.9 6.9 0 0 1 0 13.8z" fill="currentColor"/>',
    "cross": _OCTAGON + '<path d="M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2"/>',
    "unequal": _SQUARE + '<path d="M4.4 6.4h7.2M4.4 9.6h7.2M10 3.8 6 12.2"/>',
    "alarm": '<path d="M8 1.5 15 14.3H1z"/><path d="M8 6.2v4M8 11.7v.9"/>',
    "open": _DASHED + '<path d="M6.1 6.3c.2-2.6 4-2.3 3.8.1-.1 1.4-1.9 1.5-1.9 3.1M8 11.2v.9"/>',
    "dash": _DASHED + '<path d="M5 8h6"/>',
}
STROKE = 'fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"'

# Dark enough on white for text, too.
TONES = {"good": "#00664b", "fair": "#8a5a00", "bad": "#b03a00", "idle": "#4d5660"}


def symbols() -> str:
    """Return all marks as SVG symbols with ids ``mark-…``, to be used from anywhere in the page."""
    return "".join(
        f'<symbol id="mark-{name}" viewBox="0 0 16 16"><g {STROKE}>{drawing}</g></symbol>'
        for name, drawing in MARKS.items()
    )


def image(name: str, tone: str) -> str:
    """Return one mark as a complete SVG in its tone's colour."""
    drawing = f"<g {STROKE}>{MARKS[name]}</g>".replace("currentColor", TONES[tone])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" height="16">{drawing}</svg>'
    )
