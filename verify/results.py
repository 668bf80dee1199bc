"""Reads ``results.json`` and publishes its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verify.errors import ResultsError
from verify.evidence import Calibration, RunRecord, digest_of
from verify.resources import folder

LAST_RUN = Path("reports/results.json")
"""Where a run writes its results unless told otherwise, under the present folder."""

SCHEMA: int = RunRecord.model_fields["schema_version"].default
_WRITE_ANEW = "run `sdpa-verify run` to write it anew"
_WANTED = "give a results.json that a run wrote"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``results.json``."""
    return RunRecord.model_json_schema(by_alias=True)


def stored_calibration() -> Calibration:
    """Return the table of the calibration study that ships with this version."""
    text = (folder("data") / "calibration.json").read_text(encoding="utf-8")
    return Calibration.model_validate_json(text)


def present(path: Path | None) -> RunRecord:
    """Read the results in ``path``; None means the last run's, else the reference that ships with the tool.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    return load(path or (LAST_RUN if LAST_RUN.is_file() else folder("reference") / "results.json"))


def load(path: Path) -> RunRecord:
    """Read a results file.

    Raises:
        ResultsError: it is missing, is not JSON, is cut short, or has another schema.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except TypeError as error:
        raise ResultsError(f"{path!r}: is not a path; {_WANTED}") from error
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror}); {_WANTED}") from error
    except UnicodeDecodeError as error:
        raise ResultsError(f"{path}: is not a text file; {_WANTED}") from error
    except json.JSONDecodeError as error:
        raise ResultsError(
            f"{path}: line {error.lineno}: not complete JSON ({error.msg}); {_WRITE_ANEW}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: is not a results file; {_WANTED}") from error
    return _validated(content, path)


def _validated(content: Any, path: Path) -> RunRecord:
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema is None:
        raise ResultsError(f'{path}: has no "schema"; {_WANTED}')
    if type(schema) is not int or schema != SCHEMA:
        raise ResultsError(
            f"{path}: schema {json.dumps(schema)[:20]}, this version reads schema {SCHEMA}; "
            "install the sdpa-verify that wrote it, or run the verification again"
        )
    try:
        record = RunRecord.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ResultsError(f"{path}: {place}: {first['msg']}; {_WRITE_ANEW}") from error
    try:
        _refuse_changed(record, path)
    except UnicodeEncodeError as error:
        raise ResultsError(f"{path}: holds half a character; {_WRITE_ANEW}") from error
    return record


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
