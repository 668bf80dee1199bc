"""Reads ``results.json`` and publishes its schema."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from verify.errors import ResultsError, what_is_wrong
from verify.evidence import Calibration, Record, RunRecord, digest_of
from verify.files.reading import MEGABYTE, Kind, read_text
from verify.files.shipped import folder

LAST_RUN = Path("reports/results.json")
"""Where a run writes its results unless told otherwise, under the present folder."""

_Record = TypeVar("_Record", bound=Record)
SCHEMA: int = RunRecord.model_fields["schema_version"].default
_WRITE_ANEW = "run `sdpa-verify run` to write it anew"
_WANTED = "give a results.json that a run wrote"
_RESULTS = Kind(32 * MEGABYTE, ResultsError, _WANTED, dash=True)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``results.json``."""
    return RunRecord.model_json_schema(by_alias=True)


def stored_calibration() -> Calibration:
    """Return the table of the calibration study that ships with this version."""
    return read_calibration(folder("data") / "calibration.json")


def read_calibration(path: Path) -> Calibration:
    """Return the table of a calibration study from its file.

    Raises:
        ResultsError: it is missing, no regular file, too large, not JSON, or does not make sense.
    """
    return _validated(Calibration, _content(path), path)


def present(path: Path | None) -> RunRecord:
    """Read the results in ``path``; None means the last run's, else the reference that ships with the tool.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    return load(path or (LAST_RUN if os.path.lexists(LAST_RUN) else folder("reference") / "results.json"))


def load(path: Path) -> RunRecord:
    """Read a results file of at most 32 MB; ``-`` is standard input.

    Raises:
        ResultsError: it is missing, no regular file, not JSON, cut short, changed, or has another schema.
    """
    try:
        path = Path(path)
    except TypeError as error:
        raise ResultsError(f"{path!r}: is not a path; {_WANTED}") from error
    content = _content(path)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema is None:
        raise ResultsError(f'{path}: has no "schema"; {_WANTED}')
    if type(schema) is not int or schema != SCHEMA:
        raise ResultsError(
            f"{path}: schema {json.dumps(schema)[:20]}, this version reads schema {SCHEMA}; "
            "install the sdpa-verify that wrote it, or run the verification again"
        )
    record = _validated(RunRecord, content, path)
    _refuse_changed(record, path)
    return record


def _content(path: Path) -> Any:
    try:
        return json.loads(read_text(path, _RESULTS).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ResultsError(
            f"{path}: line {error.lineno}: not complete JSON ({error.msg}); {_WRITE_ANEW}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: is not a results file; {_WANTED}") from error


def _validated(kind: type[_Record], content: Any, path: Path) -> _Record:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise ResultsError(f"{path}: {what_is_wrong(error)}; {_WRITE_ANEW}") from error


def _refuse_changed(record: RunRecord, path: Path) -> None:
    for claim in record.claims:
        if claim.digest != digest_of(claim):
            raise ResultsError(
                f"{path}: claim {claim.id}: its digest does not fit its content, so the file was changed "
                f"after the run; {_WRITE_ANEW}"
            )
    if not record.seal:
        raise ResultsError(f"{path}: has no seal; {_WRITE_ANEW}")
    if record.seal != record.fitting_seal():
        raise ResultsError(
            f"{path}: its seal does not fit its content, so the file was changed after the run; {_WRITE_ANEW}"
        )
