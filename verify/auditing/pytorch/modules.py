"""Which modules of PyTorch run while a call is made, and what their layers are called."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch.nn.modules import module as hooks

from verify.auditing.pytorch.calls import CallSink, is_plain

_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parent)
_WORD = "attention"


@dataclass
class Modules:
    """Follows which modules run in this thread, by hooks that change nothing.

    ``recorder`` is told what cannot be followed; ``before_each_pass`` is called as a model begins.
    ``inputs`` keeps what each module is given while it runs.
    Modules are held weakly: a program may make new ones in every step.
    """

    recorder: CallSink
    before_each_pass: Callable[[], None] = lambda: None
    inputs: bool = False
    _stack: list[Any] = field(default_factory=list)
    _inputs: list[tuple[Any, int | None]] = field(default_factory=list)
    _names: WeakKeyDictionary[Any, str] = field(default_factory=WeakKeyDictionary)
    _taken: set[str] = field(default_factory=set)
    _roots: Counter[str] = field(default_factory=Counter)
    _begun: WeakSet[Any] = field(default_factory=WeakSet)
    _pass: dict[Any, None] = field(default_factory=dict)
    _expected: dict[str, None] = field(default_factory=dict)
    _attended: set[str] = field(default_factory=set)
    _attending: set[type[Any]] = field(default_factory=set)
    _passes: Counter[str] = field(default_factory=Counter)
    _thread: int = field(default_factory=threading.get_ident)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the modules that run inside."""
        before = hooks.register_module_forward_pre_hook(self._enter)
        after = hooks.register_module_forward_hook(self._leave, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def add_root(self, module: Any) -> None:
        """Name a model and all its modules; the second model with a name puts its class before it."""
        kind = type(module).__name__
        self._roots[kind] += 1
        title = kind if self._roots[kind] == 1 else f"{kind} ({self._roots[kind]})"
        for path, one in module.named_modules():
            if one not in self._names:
                name = path or title
                self._names[one] = name if name not in self._taken else f"{title}.{name}"
        self._taken.update(self._names.values())

    def layer(self) -> str:
        """Return a name for the layer of a call.

        A module that runs several times within one pass of the model is a layer each time.
        """
        if not self._stack:
            return _caller()
        self._attended.update(map(self._name, range(len(self._stack))))
        self._attending.add(type(self._stack[-1]))
        name = self.running()
        self._passes[name] += 1
        number = self._passes[name]
        return name if number == 1 else f"{name} ({number})"

    def running(self) -> str:
        """Return the name of the module that is running, or of the line of the program outside any."""
        return self._name(len(self._stack) - 1) if self._stack else _caller()

    def silent(self, others: Collection[str]) -> list[str]:
        """Return the innermost modules that ran without a call, though one should be expected of them.

        They are called attention, or another module of their class made a call. Those that hold one of the
        ``others`` are left out.
        """
        found = [name for name in self._expected if name not in self._attended]
        inner = (*found, *others)
        return [name for name in found if not any(one.startswith(f"{name}.") for one in inner)]

    def input(self) -> Any:
        """Return the first tensor of real numbers that the running module was given.

        It is None where that has changed since, outside any module, and where inputs are not kept.
        """
        given, version = self._inputs[-1] if self._inputs else (None, None)
        return given if given is not None and version_of(given) == version else None

    def _name(self, depth: int) -> str:
        module = self._stack[depth]
        if self._stack[0] not in self._names:
            self.add_root(self._stack[0])
        if module in self._names:
            return self._names[module]
        # It was not part of the model when the model was first seen.
        return f"{self._name(depth - 1)}.{type(module).__name__}"

    def _enter(self, module: Any, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_compiling():
            return
        # Hooks for all modules are not given what is passed by name; it is in the frame that calls them.
        named = sys._getframe(1).f_locals.get("kwargs", {}) if self.inputs else {}
        with self.recorder.unharmed(type(module).__name__):
            self._begin(module, (*args, *named.values()))

    def _begin(self, module: Any, given: tuple[Any, ...]) -> None:
        if threading.get_ident() != self._thread:
            self.recorder.leave_out("modules ran in other threads, where attention calls are not seen")
            return
        if not self._stack:
            self._passes.clear()
            self.before_each_pass()
            self._note_compiled(module)
        self._stack.append(module)
        self._pass[module] = None
        if self.inputs:
            first = next((one for one in given if _is_real(one)), None)
            self._inputs.append((first, None if first is None else version_of(first)))

    def _leave(self, module: Any, _args: Any, _output: Any) -> None:
        if torch.compiler.is_compiling() or threading.get_ident() != self._thread:
            return
        if self._stack and self._stack[-1] is module:
            self._stack.pop()
            del self._inputs[len(self._stack) :]
            if not self._stack:
                with self.recorder.unharmed(type(module).__name__):
                    self._end(module)

    def _end(self, root: Any) -> None:
        """Note the modules of a pass that should have made a call."""
        ran, self._pass = self._pass, {}
        kinds = ((one, type(one)) for one in ran)
        some = [one for one, kind in kinds if kind in self._attending or _WORD in kind.__name__.lower()]
        if some and root not in self._names:
            self.add_root(root)
        self._expected.update(dict.fromkeys(self._names[one] for one in some if one in self._names))

    def _note_compiled(self, root: Any) -> None:
        if root in self._begun:
            return
        self._begun.add(root)
        for path, one in root.named_modules():
            compiled = getattr(one, "_compiled_call_impl", None) is not None
            if compiled or hasattr(one, "_orig_mod") or isinstance(one, torch.jit.ScriptModule):
                name = path or type(one).__name__
                self.recorder.leave_out(f"{name}: is compiled; attention calls inside it are not seen")


def version_of(tensor: Any) -> int | None:
    """Return how often something was written into a tensor, None where nothing counts that."""
    return None if tensor.is_inference() else int(tensor._version)


def _is_real(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.is_floating_point() and is_plain(one)


def _caller() -> str:
    """Return the function and line of the program that makes a call outside any module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_TORCH, _OURS)):
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_name} in {Path(code.co_filename).name}, line {frame.f_lineno}"
