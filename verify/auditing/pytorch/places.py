"""Where in a program a call is made: which modules run, read off the frames of Python that run them.

Nothing is hooked into modules for that, so a program that is not recorded at the moment pays nothing.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import torch

from verify.auditing.pytorch.calls import is_plain

_CALL = torch.nn.Module._call_impl.__code__
_SKIPPED = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_ATTENTION = re.compile("attention|attn$|mha")


class Caller(NamedTuple):
    """What makes a call: the innermost module that runs, or outside any the program's code and its line."""

    owner: Any
    line: int = 0


class Place(NamedTuple):
    """Where a call is made: its layer's name, the innermost module if any, and the tensor that was given."""

    name: str
    module: Any = None
    given: Any = None


def caller() -> Caller:
    """Return what makes the call that is being recorded."""
    frame: FrameType | None = sys._getframe(1)
    program = None
    while frame is not None:
        if frame.f_code is _CALL:
            return Caller(frame.f_locals["self"])
        if program is None and not frame.f_code.co_filename.startswith(_SKIPPED):
            program = Caller(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return program or Caller(caller.__code__)


class Modules:
    """Names the modules of the models that run, and knows which of them made calls."""

    def __init__(self) -> None:
        self.ran: WeakSet[Any] = WeakSet()
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._titles: Counter[str] = Counter()
        self._attended: WeakSet[Any] = WeakSet()
        self._attending: set[type[Any]] = set()

    def add_root(self, root: Any) -> None:
        """Name a model and all its modules; the second model with a name puts its class before it."""
        kind = type(root).__name__
        self._titles[kind] += 1
        title = kind if self._titles[kind] == 1 else f"{kind} ({self._titles[kind]})"
        taken = set(self._names.values())
        for path, module in root.named_modules():
            name = path or title
            self._names.setdefault(module, name if name not in taken else f"{title}.{name}")

    def place(self, at: Caller) -> Place:
        """Return the place of a call that is being made."""
        if not isinstance(at.owner, torch.nn.Module):
            code = at.owner
            return Place(f"{code.co_name} in {Path(code.co_filename).name}, line {at.line}")
        frame: FrameType | None = sys._getframe(1)
        frames = []
        while frame is not None:
            if frame.f_code is _CALL:
                frames.append(frame.f_locals)
            frame = frame.f_back
        stack = [running["self"] for running in frames]
        self._attended.update(stack)
        self._attending.add(type(at.owner))
        given = (*frames[0].get("args", ()), *frames[0].get("kwargs", {}).values())
        real = (x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point() and is_plain(x))
        if stack[-1] not in self._names:
            self.add_root(stack[-1])
        # Modules that the model has got since it began have no name.
        name = self._names.get(at.owner, type(at.owner).__name__)
        return Place(name, at.owner, next(real, None))

    def silent(self) -> list[str]:
        """Return the innermost modules that ran without a call though their class is an attention's."""
        expected = [
            module
            for module in self.ran
            if module not in self._attended
            and (type(module) in self._attending or _ATTENTION.search(type(module).__name__.lower()))
        ]
        return self._sorted_names(
            module
            for module in expected
            if not any(other in expected for other in itertools.islice(module.modules(), 1, None))
        )

    def compiled(self) -> list[str]:
        """Return the modules that ran as compiled or scripted code, whose calls are not seen."""
        return self._sorted_names(
            module
            for module in self.ran
            if hasattr(module, "_orig_mod")
            or getattr(module, "_compiled_call_impl", None) is not None
            or isinstance(module, torch.jit.ScriptModule)
        )

    def _sorted_names(self, modules: Iterable[Any]) -> list[str]:
        return sorted(self._names.get(module, type(module).__name__) for module in modules)
