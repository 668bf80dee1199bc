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
FOLDER = Path(__file__).parent / "frozen"
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
    return {
        f"{subject}:{part}".removesuffix(":")
        for parts, subjects in published("keys").items()
        for part in ["", *parts.split()]
        for subject in subjects
    }


def published(name: str) -> Any:
    """Return what was published: the form of a kind of file, or by their parts the keys."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write what is published from now on."""
    files = {name: form_of(name) for name in FORMS}
    parts: dict[str, set[str]] = defaultdict(set)
    for key in keys_now():
        subject, _, part = key.partition(":")
        parts[subject] |= {part} - {""}
    grouped: dict[str, list[str]] = defaultdict(list)
    for subject in sorted(parts):
        grouped[" ".join(sorted(parts[subject]))].append(subject)
    for name, content in (files | {"keys": grouped}).items():
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
