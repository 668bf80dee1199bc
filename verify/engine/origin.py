"""Where in a TOML file a table or key stands, for messages about it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from verify.text.escapes import one_line

Place = tuple[str | int, ...]
"""The keys and list positions that lead to a value, from the outermost on."""

_TABLE = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")
_MULTILINE = re.compile(r"\"\"\"|'''")


@dataclass(frozen=True)
class Origin:
    """A TOML file as it was read: its name, its tables, and the line of each table and key."""

    name: str
    data: dict[str, Any]
    lines: dict[Place, int]

    @classmethod
    def of(cls, name: str, text: str, data: dict[str, Any]) -> Origin:
        """Return the origin of the tables ``data``, which stand as ``text`` in the file ``name``."""
        return cls(name, data, _lines(text))

    def line(self, place: Place) -> int:
        """Return the line of a place, or of the nearest table or key around it that has one."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def at(self, place: Place) -> str:
        """Return file, line and place in words, such as ``FILE: line 9: [[statement]] v4, key "claim"``."""
        return f"{self.name}: line {self.line(place)}: {one_line(_in_words(place, self.data))}"


def _lines(text: str) -> dict[Place, int]:
    """Return the line of each table header and key; the TOML reader gives them for syntax errors only."""
    lines: dict[Place, int] = {}
    counts: Counter[Place] = Counter()
    here: Place = ()
    quote = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not quote:
            if header := _TABLE.match(line):
                here = _table(header[2], header[1] == "[[", counts)
                lines[here] = number
                if header[1] == "[[":
                    lines.setdefault(here[:-1], number)
            elif key := _KEY.match(line):
                lines.setdefault((*here, key[1]), number)
        for mark in _MULTILINE.findall(line):
            quote = mark if not quote else "" if mark == quote else quote
    return lines


def _table(dotted: str, in_list: bool, counts: Counter[Place]) -> Place:
    *outer, last = (name.strip(" \t\"'") for name in dotted.split("."))
    here: Place = ()
    for name in outer:
        here = (*here, name)
        if counts[here]:
            here = (*here, counts[here] - 1)
    here = (*here, last)
    if in_list:
        counts[here] += 1
        here = (*here, counts[here] - 1)
    return here


def _in_words(place: Place, data: dict[str, Any]) -> str:
    """Return the place in words, such as ``[[statement]] v4, [[statement.part]] 2, key "claim"``."""
    words: list[str] = []
    names: list[str] = []
    inside: Any = data
    for step in place:
        if isinstance(step, int):
            inside = inside[step]
            name = inside.get("id") if isinstance(inside, dict) else None
            words[-1] = f"[[{'.'.join(names)}]] {name if isinstance(name, str) else step + 1}"
        else:
            inside = inside.get(step) if isinstance(inside, dict) else None
            names.append(step)
            words.append(f'key "{step}"')
    return " ".join(", ".join(words).split())
