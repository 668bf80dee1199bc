"""Reads ``results.json``, ``audit.json`` and ``comparison.json``: their schemas, and what made them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from verify.defaults import PROFILES
from verify.errors import ResultsError, what_is_wrong
from verify.evidence import Calibration, FalseClaims, Record, RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.comparisons import ComparisonRecord
from verify.evidence.records import seal_of
from verify.evidence.texts import in_utc
from verify.files.names import AUDIT, COMPARISON, RUN, Names, shipped_folder
from verify.files.reading import MEGABYTE, InputKind, read_text

Reported = RunRecord | AuditRecord | ComparisonRecord
"""A record of which there are pages."""


def names(record: Reported) -> Names:
    """Return what the files of a record's report are called."""
    if isinstance(record, ComparisonRecord):
        return COMPARISON
    return RUN if isinstance(record, RunRecord) else AUDIT


def creation(record: Reported) -> datetime:
    """Return when a run, an audit or a comparison was made, in UTC; a time without a zone counts as UTC."""
    return in_utc(record.run.created if isinstance(record, RunRecord) else record.created)


def origin(record: RunRecord | AuditRecord) -> str:
    """Return which run this is, by seed, profile and date, or which audit, by its date."""
    if not isinstance(record, RunRecord):
        return f"audit of {creation(record):%Y-%m-%d}"
    chosen = record.run.settings
    return f"seed {chosen.seed}, {chosen.profile} profile, {creation(record):%Y-%m-%d}"


def digest(record: RunRecord) -> str:
    """Return the SHA-256, in hexadecimal, of the claims' own digests: the same for the same findings."""
    text = "\n".join(f"{claim.id} {claim.digest}" for claim in record.claims)
    return hashlib.sha256(text.encode()).hexdigest()


def command(record: RunRecord) -> str:
    """Return the command that repeats the run; files of the user's own are to be filled in."""
    chosen, usual = record.run.settings, type(record.run.settings)()
    words = ["sdpa-verify report", *map(shlex.quote, record.run.claims)]
    words += ["--claims FILE"] * record.run.claim_files
    if record.run.own_sources or record.run.pack:
        words.append(f"--sources {record.run.pack or 'FILE'}")
    words += [f"--seed {chosen.seed}", f"--profile {chosen.profile}"]
    if chosen.tolerance != PROFILES[chosen.profile]:
        words.append(f"--tolerance {chosen.tolerance:g}")
    if chosen.false_alarm != usual.false_alarm:
        words.append(f"--false-alarm {chosen.false_alarm:g}")
    if chosen.power != usual.power:
        words.append(f"--power {chosen.power:g}")
    if chosen.device:
        words.append(f"--device {chosen.device.name}")
    return " ".join(words)


LAST_RUN = Path("reports/results.json")
"""Where a run writes its results by default, under the present folder."""

_Record = TypeVar("_Record", bound=Record)
_Table = TypeVar("_Table", Calibration, FalseClaims)
_TABLES: dict[type[Record], str] = {
    Calibration: "calibration.json",
    FalseClaims: "false_claims.json",
}


@dataclass(frozen=True, slots=True)
class _RecordFile:
    """A kind of sealed file: its record, the key of its schema, how large it may be, how it is made again."""

    record: type[Reported]
    schema: str
    kind: InputKind
    maker: str
    again: str

    @property
    def version(self) -> int:
        """The schema that this version reads and writes."""
        version: int = self.record.model_fields["schema_version"].default
        return version


_RESULTS = _RecordFile(
    RunRecord,
    "schema",
    InputKind(32 * MEGABYTE, ResultsError, "give a results.json that a run wrote", dash=True),
    "run the verification again",
    "run `sdpa-verify run` to write it again",
)
_AUDIT = _RecordFile(
    AuditRecord,
    "audit_schema",
    # A model of 48 layers with 64 heads each takes 20 MB, with long reasons twice that.
    InputKind(128 * MEGABYTE, ResultsError, "give an audit.json that an audit wrote", dash=True),
    "run the audit again",
    "run `sdpa-verify audit` to write it again",
)
_COMPARISON = _RecordFile(
    ComparisonRecord,
    "comparison_schema",
    InputKind(128 * MEGABYTE, ResultsError, "give a comparison.json that `audit --against` wrote", dash=True),
    "compare the recordings again",
    "run `sdpa-verify audit --against` to write it again",
)
_EITHER = InputKind(
    _AUDIT.kind.at_most, ResultsError, "give a results.json or an audit.json that this tool wrote", dash=True
)


def json_schema(record: type[Reported] = RunRecord) -> dict[str, Any]:
    """Return the JSON Schema of ``results.json``, or that of another record, such as ``AuditRecord``."""
    return record.model_json_schema(by_alias=True, mode="serialization")


def stored_table(kind: type[_Table], path: Path | None = None) -> _Table:
    """Return the table of a campaign that ships with this version, or the one in ``path``.

    ``kind`` is `Calibration`, `FalseClaims` or `Falsified`.

    Raises:
        ResultsError: it is missing, too large, not JSON, or does not make sense.
    """
    path = path or shipped_folder("data") / _TABLES[kind]
    content = _content(path, _RESULTS.kind, _RESULTS.again)
    return _validated(kind, content, path, _RESULTS.again)


def present(path: Path | None) -> RunRecord | AuditRecord:
    """Read the results or the audit in ``path``; None means the last run's results, else the reference.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    if path is not None:
        return load_either(path)
    return load(LAST_RUN) if os.path.lexists(LAST_RUN) else shipped()


@cache
def shipped() -> RunRecord:
    """Return the reference results that ship with this version."""
    return load(shipped_folder("reference") / "results.json")


def load(path: Path) -> RunRecord:
    """Read a results file of at most 32 MB; ``-`` is standard input.

    Raises:
        ResultsError: it is missing, not JSON, cut short, changed, or has another schema.
    """
    record: RunRecord = _loaded(path, _RESULTS.kind, _RESULTS.again, _RESULTS)
    return record


def claims_in(path: Path) -> dict[str, str]:
    """Return the chapters of the claims in a results file, by their ids; none where it cannot be read."""
    with contextlib.suppress(ResultsError, LookupError, TypeError, AttributeError):
        claims = _content(path, _RESULTS.kind, _RESULTS.again)["claims"]
        return {str(claim["id"]): str(claim["chapter"]) for claim in claims}
    return {}


def load_audit(path: Path) -> AuditRecord:
    """Read the file of an audit, of at most 128 MB; ``-`` is standard input.

    Raises:
        ResultsError: it is missing, not JSON, cut short, changed, or has another schema.
    """
    record: AuditRecord = _loaded(path, _AUDIT.kind, _AUDIT.again, _AUDIT)
    return record


def load_any(path: Path) -> Reported:
    """Read a results file, an audit's or a comparison's, whichever it is; ``-`` is standard input.

    Raises:
        ResultsError: it is missing, not JSON, cut short, changed, or has another schema.
    """
    record: Reported = _loaded(path, _EITHER, "write it again", _COMPARISON, _AUDIT, _RESULTS)
    return record


def load_either(path: Path) -> RunRecord | AuditRecord:
    """Read a results file or that of an audit, whichever it is; ``-`` is standard input.

    Raises:
        ResultsError: it is missing, not JSON, cut short, changed, or has another schema.
    """
    record: RunRecord | AuditRecord = _loaded(path, _EITHER, "write it again", _AUDIT, _RESULTS)
    return record


def _content(path: Path, kind: InputKind, again: str) -> Any:
    try:
        return json.loads(read_text(path, kind).removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ResultsError(
            f"{path}: line {error.lineno}: not complete JSON ({error.msg}); {again}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: is not a results file; {kind.wanted}") from error


def _loaded(path: Path, kind: InputKind, again: str, *forms: _RecordFile) -> Any:
    """Return the record in a file, of the first of some ``forms`` whose schema it names."""
    path = Path(path)
    content = _content(path, kind, again)
    keys = content.keys() if isinstance(content, dict) else ()
    form = next((one for one in forms if one.schema in keys), None)
    schema = content[form.schema] if form else None
    if form is None or schema is None:
        wanted = (form.kind if form else kind).wanted
        raise ResultsError(f'{path}: has no "{(form or forms[-1]).schema}"; {wanted}')
    if schema != form.version:
        raise ResultsError(
            f"{path}: {form.schema} {json.dumps(schema)[:20]}, this version reads {form.schema} "
            f"{form.version}; install the sdpa-verify that wrote it, or {form.maker}"
        )
    record = _validated(form.record, content, path, form.again)
    if record.seal != seal_of(content):
        raise ResultsError(f"{path}: changed since it was written; {form.again}")
    return record


def _validated(kind: type[_Record], content: Any, path: Path, again: str) -> _Record:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise ResultsError(f"{path}: {what_is_wrong(error)}; {again}") from error
