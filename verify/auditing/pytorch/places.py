"""Where in a program a call is made: which modules run, read off the frames of Python that run them.

Nothing is hooked into modules for that, so a program that is not recorded at the moment pays nothing.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
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
    # Every module is called by the same function of PyTorch, whose frame has the module as ``self``.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _CALL:
        frame = frame.f_back
    if frame is not None:
        return Caller(frame.f_locals["self"])
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return Caller(frame.f_code, frame.f_lineno)


def compiled_graphs() -> int:
    """Return how many graphs PyTorch has compiled; it compiles callers of what records again."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["stats"]["unique_graphs"])


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

    def unseen(self) -> Iterator[str]:
        """Yield in words which modules ran as compiled code, or are called attention and made no call."""
        compiled, silent = [], []
        for module in self.ran:
            if (
                hasattr(module, "_orig_mod")
                or getattr(module, "_compiled_call_impl", None) is not None
                or isinstance(module, torch.jit.ScriptModule)
            ):
                compiled.append(module)
            kind = type(module)
            is_attention = kind in self._attending or _ATTENTION.search(kind.__name__.lower())
            if is_attention and module not in self._attended:
                silent.append(module)
        # Of modules within each other the innermost ones attend.
        inner = [module for module in silent if not any(part in silent for part in [*module.modules()][1:])]
        for modules, what in (
            (compiled, "compiled code, in which attention calls are not seen"),
            (inner, "ran, and no attention call in it was seen"),
        ):
            names = sorted(self._names.get(module, type(module).__name__) for module in modules)
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            if names:
                yield f"{', '.join(names[:3])}{more}: {what}"
