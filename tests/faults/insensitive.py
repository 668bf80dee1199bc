"""Checks that no planted fault refutes, each with the reason why none can."""

from __future__ import annotations

INSENSITIVE: dict[tuple[str, str], str] = {}
"""By claim and check."""
