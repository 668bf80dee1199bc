"""Where in a program a call is made: which modules run, read off the frames of Python that run them.

Nothing is hooked into modules for that, so a program that is not recorded at the moment pays nothing.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import torch

from verify.auditing.pytorch.calls import is_plain

_CALL = torch.nn.Module._call_impl.__code__
_SKIPPED = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_MARK = "sdpa_verify_pass"
_ATTENTION = re.compile("attention|attn$|mha")


class Place(NamedTuple):
    """Where a call is made: its layer's name, the innermost module if any, and what that was given."""

    name: str
    module: Any = None
    given: tuple[Any, ...] = ()

    def input(self) -> Any:
        """Return the first tensor of real numbers that the module was given, None where there is none."""
        real = (x for x in self.given if isinstance(x, torch.Tensor) and x.is_floating_point())
        return next(filter(is_plain, real), None)


def caller() -> Any:
    """Return the innermost module that runs, or outside any the code and line of the program."""
    frame: FrameType | None = sys._getframe(1)
    program: Any = None
    while frame is not None:
        if frame.f_code is _CALL:
            return frame.f_locals["self"]
        if program is None and not frame.f_code.co_filename.startswith(_SKIPPED):
            program = frame.f_code, frame.f_lineno
        frame = frame.f_back
    return program


class Modules:
    """Names the modules of the models that run, and knows which of them made calls."""

    def __init__(self) -> None:
        self.ran: WeakSet[Any] = WeakSet()
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._titles: Counter[str] = Counter()
        self._attended: WeakSet[Any] = WeakSet()
        self._attending: set[type[Any]] = set()
        self._passes = itertools.count()
        self._pass, self._runs = -1, Counter[str]()

    def add_root(self, root: Any) -> None:
        """Name a model and all its modules; the second model with a name puts its class before it."""
        kind = type(root).__name__
        self._titles[kind] += 1
        title = kind if self._titles[kind] == 1 else f"{kind} ({self._titles[kind]})"
        taken = set(self._names.values())
        for path, module in root.named_modules():
            name = path or title
            self._names.setdefault(module, name if name not in taken else f"{title}.{name}")

    def place(self, at: Any) -> Place:
        """Return the place of a call that is being made by a `caller`.

        A module that attends several times within one pass of the model is a layer each time.
        """
        if isinstance(at, tuple):
            code, line = at
            return Place(f"{code.co_name} in {Path(code.co_filename).name}, line {line}")
        frame: FrameType | None = sys._getframe(1)
        frames = []
        while frame is not None:
            if frame.f_code is _CALL:
                frames.append(frame)
            frame = frame.f_back
        inner, outer = frames[0].f_locals, frames[-1].f_locals
        # A frame keeps a local that its code does not know, which marks this pass of the model.
        if outer.setdefault(_MARK, next(self._passes)) != self._pass:
            self._pass, self._runs = outer[_MARK], Counter()
        stack = [frame.f_locals["self"] for frame in frames]
        self._attended.update(stack)
        self._attending.add(type(at))
        name = self._name(stack)
        self._runs[name] += 1
        number = self._runs[name]
        given = (*inner.get("args", ()), *inner.get("kwargs", {}).values())
        return Place(name if number == 1 else f"{name} ({number})", at, given)

    def _name(self, stack: list[Any]) -> str:
        """Return the name of the innermost module; those that the model has got since it began have none."""
        if stack[-1] not in self._names:
            self.add_root(stack[-1])
        for depth, module in enumerate(stack):
            if module in self._names:
                kinds = [type(inside).__name__ for inside in stack[:depth]]
                return ".".join([self._names[module], *reversed(kinds)])
        return type(stack[0]).__name__

    def silent(self) -> list[str]:
        """Return the innermost modules that ran without a call though their class is an attention's."""
        expected = [
            module
            for module in self.ran
            if module not in self._attended
            and (type(module) in self._attending or _ATTENTION.search(type(module).__name__.lower()))
        ]
        inner = [
            module
            for module in expected
            if not any(other in expected for other in itertools.islice(module.modules(), 1, None))
        ]
        return sorted(self._names.get(module, type(module).__name__) for module in inner)

    def compiled(self) -> list[str]:
        """Return the modules that ran as compiled or scripted code, whose calls are not seen."""
        return sorted(
            self._names.get(module, type(module).__name__)
            for module in self.ran
            if hasattr(module, "_orig_mod")
            or getattr(module, "_compiled_call_impl", None) is not None
            or isinstance(module, torch.jit.ScriptModule)
        )
