"""Faults that survive because they change nothing that matters, each with the reason."""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""By file, line and faulty line."""
