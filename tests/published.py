"""What has been published and stays: the forms of the files that programs read, and the keys of values.

``python -m tests.published`` writes it again, for a release whose files have another ``schema`` or more keys.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from verify.citing.values import values_of
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.comparisons import ComparisonRecord
from verify.evidence.load import json_schema, shipped

FORMS: dict[str, type[RunRecord | AuditRecord | ComparisonRecord]] = {
    "results": RunRecord,
    "audit": AuditRecord,
    "comparison": ComparisonRecord,
}
_WORDS = {"description", "title"}


def form_of(name: str) -> Any:
    """Return the JSON Schema of a kind of file without its words, which may be improved."""
    return _without_words(json_schema(FORMS[name]))


def _without_words(schema: Any, *, names: bool = False) -> Any:
    """Return a schema without what it says for people; ``names`` are those of fields, which all stay."""
    if isinstance(schema, list):
        return [_without_words(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {key: value for key, value in schema.items() if names or key not in _WORDS}
    return {key: _without_words(value, names=key in {"properties", "$defs"}) for key, value in fields.items()}


def keys_now() -> set[str]:
    """Return the keys of all values of the results that ship."""
    return {value.key for value in values_of(shipped())}


def published_keys() -> set[str]:
    """Return the keys that were published."""
    grouped: dict[str, list[str]] = json.loads(_path("keys").read_text(encoding="utf-8"))
    return {
        f"{subject}:{part}".removesuffix(":")
        for parts, subjects in grouped.items()
        for part in ["", *parts.split()]
        for subject in subjects
    }


def published_form(name: str) -> Any:
    """Return the form of a kind of file as it was published."""
    return json.loads(_path(name).read_text(encoding="utf-8"))


def _path(name: str) -> Path:
    return Path(__file__).parent / "frozen" / f"{name}.json"


def _write(name: str, content: Any) -> None:
    _path(name).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Write what is published from now on."""
    for name in FORMS:
        _write(name, form_of(name))
    parts: dict[str, set[str]] = defaultdict(set)
    for key in keys_now():
        subject, _, part = key.partition(":")
        parts[subject] |= {part} - {""}
    grouped: dict[str, list[str]] = defaultdict(list)
    for subject in sorted(parts):
        grouped[" ".join(sorted(parts[subject]))].append(subject)
    _write("keys", grouped)


if __name__ == "__main__":
    main()
