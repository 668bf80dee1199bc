"""One-line faults: every place in a file's code where a number, an operator or a name can be another."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

PROSE = {
    "title",
    "statement",
    "meaning",
    "text",
    "alt",
    "what",
    "label",
    "references",
    "assumptions",
    "order",
}
"""Keyword arguments whose content is words for readers, and the claim's place in the report."""
PLANNED = {"held"}
"""Functions on which no result depends: the memory that a block takes, which a plan prints."""
_OPERATORS = {"Add": "-", "Sub": "+", "Mult": "/", "Div": "*", "Pow": "*"}
_COMPARISONS = {"Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">", "Eq": "!=", "NotEq": "=="}
_NAMES = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "tril": "triu",
    "triu": "tril",
    "any": "all",
    "all": "any",
    "sum": "max",
    "mean": "sum",
    "floor": "ceil",
    "ceil": "floor",
    "argmax": "argmin",
}
_RELATIONS = {"≤": ("≥", "="), "≥": ("≤", "="), "=": ("≤", "≥")}


@dataclass(frozen=True)
class Mutant:
    """One fault: the bytes from ``start`` to ``end`` of a file replaced by ``new``."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str
    kind: str

    def applied(self, source: bytes) -> bytes:
        """Return the file with the fault."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """Return the line before and after, without the space around it."""
        before, after = (text.decode().splitlines() for text in (source, self.applied(source)))
        return before[self.line - 1].strip(), after[self.line - 1].strip()


def mutants(path: Path, name: str) -> list[Mutant]:
    """Return every fault that can be planted in a file, in the order of its text; ``name`` is its path."""
    source = path.read_bytes()
    found = {(one.start, one.end, one.new): one for one in _Finder(source, name).found()}
    return sorted(found.values(), key=lambda one: (one.start, one.end, one.new))


class _Finder:
    def __init__(self, source: bytes, name: str) -> None:
        self.source, self.name = source, name
        self.tree = ast.parse(source)
        self.starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def found(self) -> Iterator[Mutant]:
        yield from self._visit(self.tree, _constants(self.tree))

    def _visit(self, node: ast.AST, names: frozenset[str]) -> Iterator[Mutant]:
        for child in _code_in(node):
            if isinstance(child, ast.FunctionDef) and child.name in PLANNED:
                continue
            inner = names
            if isinstance(child, ast.FunctionDef | ast.Lambda):
                inner = names | {one.arg for one in child.args.args if one.arg not in {"self", "cls"}}
                inner |= {
                    one.id
                    for one in ast.walk(child)
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                }
            yield from self._of(child, inner)
            yield from self._visit(child, inner)

    def _of(self, node: ast.AST, names: frozenset[str]) -> Iterator[Mutant]:
        if isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.BinOp):
            yield from self._operation(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield self._replaced(node, self._text(node.operand), "sign")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from self._comparison(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            yield from self._neighbour(node, names)
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
            yield from self._setting(node)

    def _constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self._replaced(node, str(not value), "switch")
        elif isinstance(value, int | float):
            for new in _other_numbers(value):
                yield self._replaced(node, new, "number")
        elif isinstance(value, str):
            for other in _RELATIONS.get(value, ()):
                yield self._replaced(node, repr(other), "relation")

    def _operation(self, node: ast.BinOp) -> Iterator[Mutant]:
        left, right, kind = self._text(node.left), self._text(node.right), type(node.op).__name__
        if "\n" in self._text(node) or isinstance(node.left, ast.JoinedStr):
            return
        if kind in _OPERATORS:
            yield self._replaced(node, f"({left} {_OPERATORS[kind]} {right})", "operator")
        if kind in {"Mult", "Div", "MatMult"}:
            yield self._replaced(node, left, "dropped")
        if kind == "Mult":
            yield self._replaced(node, right, "dropped")
        if kind in {"Sub", "Div", "Pow", "MatMult"}:
            yield self._replaced(node, f"({right} {_symbol(kind)} {left})", "exchanged")

    def _comparison(self, node: ast.Compare) -> Iterator[Mutant]:
        kind = type(node.ops[0]).__name__
        if kind in _COMPARISONS:
            left, right = self._text(node.left), self._text(node.comparators[0])
            yield self._replaced(node, f"{left} {_COMPARISONS[kind]} {right}", "comparison")

    def _call(self, node: ast.Call) -> Iterator[Mutant]:
        for one, two in pairwise(node.args[:3]):
            texts = self._text(one), self._text(two)
            if texts[0] != texts[1] and "*" not in (texts[0][0], texts[1][0]):
                start, end = self._offset(one), self._end(two)
                between = self.source[self._end(one) : self._offset(two)].decode()
                yield self._at(start, end, f"{texts[1]}{between}{texts[0]}", one, "arguments")
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _NAMES:
            end = self._end(function)
            yield self._at(end - len(name), end, _NAMES[name], function, "function")

    def _neighbour(self, node: ast.Name, names: frozenset[str]) -> Iterator[Mutant]:
        alike = sorted(one for one in names if one != node.id and one.isupper() == node.id.isupper())
        if alike:
            # The next in the alphabet: one neighbour a place, the same in every run.
            after = [one for one in alike if one > node.id] or alike
            yield self._replaced(node, after[0], "neighbour")

    def _setting(self, node: ast.Tuple) -> Iterator[Mutant]:
        key, value = node.elts
        texts = [one for one in (key, value) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if key in texts and value in texts:
            assert isinstance(value, ast.Constant)
            yield self._replaced(value, repr(_another(str(value.value))), "label")

    def _text(self, node: ast.AST) -> str:
        return self.source[self._offset(node) : self._end(node)].decode()

    def _offset(self, node: Any) -> int:
        return int(self.starts[node.lineno - 1] + node.col_offset)

    def _end(self, node: Any) -> int:
        return int(self.starts[node.end_lineno - 1] + node.end_col_offset)

    def _replaced(self, node: ast.AST, new: str, kind: str) -> Mutant:
        return self._at(self._offset(node), self._end(node), new, node, kind)

    def _at(self, start: int, end: int, new: str, node: Any, kind: str) -> Mutant:
        return Mutant(self.name, node.lineno, start, end, self.source[start:end].decode(), new, kind)


def _other_numbers(value: float) -> list[str]:
    if isinstance(value, int):
        others = {value + 1, abs(value - 1), 2 * value, 10 * value} - {value}
        return [*map(str, sorted(others)), *([f"({value} / 2)"] if value else [])]
    return [repr(new) for new in (1.01 * value, 2 * value, 10 * value, value / 2) if new != value]


def _symbol(kind: str) -> str:
    return {"Sub": "-", "Div": "/", "Pow": "**", "MatMult": "@"}[kind]


def _another(label: str) -> str:
    """Return a label that says something else: its first digit one larger, or another law or mask."""
    digit = re.search(r"\d", label)
    if digit:
        return label[: digit.start()] + str((int(digit[0]) + 1) % 10) + label[digit.end() :]
    return {"normal": "uniform", "uniform": "normal", "causal": "padding"}.get(label, "normal")


def _constants(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _code_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children that are run: no imports, types, documentation or words for readers."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "type_ignores"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_no_code(child):
                yield child


def _is_no_code(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.keyword):
        return node.arg in PROSE
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"Assumption", "Reference"}
