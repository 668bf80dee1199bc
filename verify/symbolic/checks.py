"""Placeholder."""
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from verify.symbolic.chains import LineCheck


@dataclass(frozen=True)
class _Algebra(LineCheck):
    words = "algebra"


algebra = _Algebra()


@dataclass(frozen=True)
class moments(LineCheck):  # noqa: N801
    given: Any
