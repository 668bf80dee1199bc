"""Reads ``results.json`` and ``audit.json``: their schemas, and what made them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from verify.defaults import FALSE_ALARM, POWER, PROFILES
from verify.errors import VerifyError, what_is_wrong
from verify.evidence import USER, RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.records import Sealed, seal_of
from verify.evidence.texts import in_utc
from verify.files import AUDIT, MEGABYTE, RUN, InputKind, Names, read_text, shipped_folder, shipped_table

Reported = RunRecord | AuditRecord
"""A record of which there are pages."""

_FILES: dict[type[Reported], tuple[Names, str]] = {
    RunRecord: (RUN, "sdpa-verify run"),
    AuditRecord: (AUDIT, "sdpa-verify audit"),
}
"""What the files of a record's report are called, and the command that writes the record."""
# An audit of 48 layers with 64 heads each takes 20 MB, with long reasons twice that.
_AT_MOST = 128 * MEGABYTE

LAST_RUN = Path("reports/results.json")
"""Where a run writes its results by default, under the present folder."""


def names(record: Reported) -> Names:
    """Return what the files of a record's report are called."""
    return _FILES[type(record)][0]


def creation(record: Reported) -> datetime:
    """Return when a run or an audit was made, in UTC; a time without a zone counts as UTC."""
    return in_utc(record.run.created if isinstance(record, RunRecord) else record.created)


def origin(record: Reported) -> str:
    """Return which run this is, by seed, profile and date, or which audit, by its date."""
    if not isinstance(record, RunRecord):
        return f"audit of {creation(record):%Y-%m-%d}"
    chosen = record.run.settings
    return f"seed {chosen.seed}, {chosen.profile} profile, {creation(record):%Y-%m-%d}"


def digest(record: Reported) -> str:
    """Return the SHA-256, in hexadecimal, of a run's claims' own digests, the same for the same findings.

    Of an audit, that of all of it.
    """
    if isinstance(record, AuditRecord):
        return record.seal
    text = "\n".join(f"{claim.id} {claim.digest}" for claim in record.claims)
    return hashlib.sha256(text.encode()).hexdigest()


def numbers(claims: Mapping[str, Any], chosen: Iterable[str]) -> dict[str, str]:
    """Return the numbers of the ``chosen`` among all ``claims`` by id: chapter and place, such as ``1.2``.

    ``claims`` have their ``chapter`` and are in the order of the report. Where all of the ``chosen`` are the
    user's own they have no chapter, and are counted from 1.
    """
    if all(claims[name].chapter == USER for name in chosen):
        return {name: str(place) for place, name in enumerate(chosen, 1)}
    chapters = groupby(claims, lambda name: claims[name].chapter)
    places = {
        name: f"{number}.{place}"
        for number, (_, names) in enumerate(chapters, 1)
        for place, name in enumerate(names, 1)
    }
    return {name: places[name] for name in chosen}


def command(record: RunRecord) -> str:
    """Return the command that repeats the run; files of the user's own are to be filled in."""
    chosen = record.run.settings
    words = ["sdpa-verify report", *map(shlex.quote, record.run.claims)]
    words += ["--claims FILE"] * record.own_claims
    if record.run.own_sources or record.run.pack:
        words.append(f"--sources {record.run.pack or 'FILE'}")
    words += [f"--seed {chosen.seed}", f"--profile {chosen.profile}"]
    # Seed and profile are what a run is known by; of the others, what differs from the defaults.
    usual = {"tolerance": PROFILES[chosen.profile], "false_alarm": FALSE_ALARM, "power": POWER}
    given = {name: getattr(chosen, name) for name in usual}
    words += [f"--{name.replace('_', '-')} {given[name]}" for name in usual if given[name] != usual[name]]
    return " ".join(words)


def json_schema(record: type[Sealed] = RunRecord) -> dict[str, Any]:
    """Return the JSON Schema of ``results.json``, or that of another record, such as ``AuditRecord``."""
    return record.model_json_schema(by_alias=True, mode="serialization")


def load(path: Path) -> RunRecord:
    """Read a results file; ``-`` is standard input.

    Raises:
        VerifyError: it is missing, not JSON, cut short, changed, or has another schema.
    """
    return cast("RunRecord", _loaded(path, RunRecord))


def load_audit(path: Path) -> AuditRecord:
    """Read the file of an audit, as ``load`` does."""
    return cast("AuditRecord", _loaded(path, AuditRecord))


def load_either(path: Path) -> Reported:
    """Read a results file or that of an audit, whichever it is, as ``load`` does."""
    return _loaded(path, RunRecord, AuditRecord)


def present(path: Path | None) -> Reported:
    """Read the results or the audit in ``path``; None means the last run's results, else the reference.

    Raises:
        VerifyError: there are none, or they cannot be read.
    """
    if path is not None:
        return load_either(path)
    return load(LAST_RUN) if os.path.lexists(LAST_RUN) else shipped()


@cache
def shipped() -> RunRecord:
    """Return the reference results that ship with this version."""
    return load(shipped_folder("reference") / "results.json")


def meant(name: str, known: Container[str]) -> str:
    """Return the question whether a claim that people call so was meant; "" if none or many are."""
    aliases = shipped_table("aliases").items()
    called = {claim: f"{claim.replace('-', ' ')} {words}".split() for claim, words in aliases}
    # Whole words: what is misspelt is for the nearest id.
    said = set(name.lower().split())
    near = [repr(claim) for claim, words in called.items() if claim in known and said <= set(words)]
    return f"did you mean {' or '.join(near)}?" if 0 < len(near) <= 4 else ""


def claims_in(path: Path) -> dict[str, str]:
    """Return the chapters of the claims in a results file, by their ids; none where it cannot be read."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        claims = json.loads(path.read_bytes())["claims"]
        return {str(claim["id"]): str(claim["chapter"]) for claim in claims}
    return {}


def _loaded(path: Path, *kinds: type[Reported]) -> Reported:
    """Return the record in a file that is of one of these kinds, as its schema says."""
    written = (f"the {_FILES[kind][0].evidence} that `{_FILES[kind][1]}` wrote" for kind in kinds)
    path, wanted = Path(path), f"give {' or '.join(written)}"
    text = read_text(path, InputKind(_AT_MOST, VerifyError, wanted, dash=True))
    try:
        # Some editors write a byte order mark before the text.
        content = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}: not complete JSON ({error.msg})"
        raise VerifyError(f"{path}: {what}; run `{_FILES[kinds[0]][1]}` to write it again") from error
    except (ValueError, RecursionError):
        content = None  # a number that is too long, or lists in lists
    # Each kind names its schema by a key of its own, by which it is known.
    schemas = {kind: kind.model_fields["schema_version"] for kind in kinds}
    keys = content.keys() if isinstance(content, dict) else ()
    kind = next((kind for kind, schema in schemas.items() if schema.alias in keys), None)
    if kind is None:
        raise VerifyError(f'{path}: has no "{schemas[kinds[0]].alias}"; {wanted}')
    key, version, command = schemas[kind].alias, schemas[kind].default, _FILES[kind][1]
    if content[key] != version:
        raise VerifyError(
            f"{path}: {key} {json.dumps(content[key])[:20]}, this version reads {key} {version}; "
            f"install the sdpa-verify that wrote it, or run `{command}` again"
        )
    try:
        record = kind.model_validate(content)
        # Of the file as it stands, verdicts and all that is computed again included.
        wrong = "" if record.seal == seal_of(content) else "changed since it was written"
    except ValidationError as error:
        wrong = what_is_wrong(error)
    if wrong:
        raise VerifyError(f"{path}: {wrong}; run `{command}` to write it again")
    return record
