"""The tool as a library: list claims, run the verification, run it again."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from verify import defaults
from verify.citing.compare import Reproduction, missing, reproduction
from verify.engine import runner
from verify.engine.catalogue import ClaimSpecifier, Entry, choose, look_up
from verify.engine.statements import read_sources
from verify.engine.store import Store, default_path
from verify.errors import ClaimError, SettingsError, StoreError, what_is_wrong
from verify.evidence import Presentation
from verify.evidence.load import numbers
from verify.executors.workers import Workers, environment

if TYPE_CHECKING:
    from verify.evidence import RunRecord
    from verify.spec.claim import Claim


def list_claims() -> dict[str, Entry]:
    """Return all claims that ship by id, in the order of the report.

    Each is an entry that loads its ``claim`` when it is needed.
    """
    return look_up(())[0]


def run(
    claims: Sequence[ClaimSpecifier] = (),
    *,
    seed: int = defaults.SEED,
    profile: str = defaults.PROFILE,
    tolerance: float | None = None,
    false_alarm: float = defaults.FALSE_ALARM,
    power: float = defaults.POWER,
    workers: Workers | int | None = None,
    executor: Executor | None = None,
    store: Path | bool = True,
    sources: Path | str | None = None,
    title: str | None = None,
    question: str | None = None,
    author: str | None = None,
    callbacks: runner.Callbacks | None = None,
) -> RunRecord:
    """Derive, measure and judge the named claims, all of the catalogue if none is named.

    Args:
        claims: Ids, the ``Path`` of a claim file of your own, or a ``Claim`` with an id, whose functions stay
            in this process.
        seed: The root seed of all draws.
        profile: "quick", "standard" or "deep", with a tolerance of 5%, 1% or 0.2%.
        tolerance: The relative tolerance, in place of the profile's.
        false_alarm: The false-alarm rate of the whole run.
        power: The probability that a check is decided by its second interim analysis.
        workers: How many processes; None means one for each processor.
        executor: Works in their place for all but a ``Claim`` of your own: any of ``concurrent.futures``, or
            an executor such as ``dask.distributed.Client().get_executor()``.
        store: The path of the cache, from which a later run goes on, also if this run is killed. True is that
            of the command line, in the user's cache folder or where ``SDPA_VERIFY_STORE`` says; where it
            cannot be used there is a warning. False is none.
        sources: A file of statements, or the name of a pack that ships, such as "introductions"; None means
            the five documents. Where they are given and no claim is named, only the claims that decide a
            statement are verified, none if all statements are computed.
        title: The title of the report.
        question: The question that its first page answers.
        author: Who signs it.
        callbacks: Functions that are called as the run goes on.

    Returns:
        The record of the run: claims in the order of the report, whatever the order of ``claims``. Neither
        workers nor store change a result.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    _refuse_single(claims=claims)
    chosen = runner.settings(
        seed=seed, profile=profile, tolerance=tolerance, false_alarm=false_alarm, power=power
    )
    words = {"title": title, "question": question, "author": author}
    for name, text in words.items():
        if text is not None and not text.strip():
            raise SettingsError(f"{name} {text!r}: give some text")
    try:
        presentation = Presentation.model_validate(words)
    except ValidationError as error:
        raise SettingsError(what_is_wrong(error)) from error
    known, names = look_up(claims)
    book = read_sources(None if sources is None else Path(sources))
    book.refuse_unknown_claims(known)
    # Without a claim, choose returns all; a book of computed statements needs none.
    asks = sources is not None and bool(book.statements)
    needed = names or book.claims if asks else names
    wanted = choose(known, needed) if needed or not asks else {}
    # Where others work, this process alone hands out.
    workers = 1 if workers is None and executor is not None else workers
    cache: AbstractContextManager[Store | None] = contextlib.nullcontext()
    if store is True:
        try:
            cache = Store(default_path())
        except StoreError as error:
            warnings.warn(f"{error}; continuing without it", stacklevel=2)
    elif store:
        cache = Store(Path(store))
    with cache as opened:
        return runner.run(
            wanted,
            chosen,
            book,
            requested=names,
            numbers=numbers(known, wanted) if len(wanted) < len(known) else None,
            words=presentation,
            workers=workers,
            executor=executor,
            store=opened,
            callbacks=callbacks,
        )


def reproduce(
    record: RunRecord,
    claims: Sequence[str] = (),
    *,
    own: Sequence[Path | Claim | Entry] = (),
    workers: Workers | int | None = None,
    callbacks: runner.Callbacks | None = None,
) -> Reproduction:
    """Run the claims of a record again, from nothing, and compare what comes out with what it says.

    Seed, profile and tolerance are the record's. ``claims`` are the ids of those to run, all if none is
    named; those of the user's own need their files, or the claims themselves, as ``own``. Nothing is read
    from a store. The same versions on the same kind of processor give the same digests.

    Raises:
        VerifyError: the record has no claim of that id, or a file cannot be loaded.
    """
    _refuse_single(claims=claims, own=own)
    known, _ = look_up(own)
    recorded = {claim.id: claim for claim in record.claims}
    if unknown := [name for name in claims if name not in recorded]:
        raise ClaimError(f"the results have no claim {unknown[0]!r}; they have {', '.join(recorded)}")
    wanted = [name for name in recorded if name in (claims or recorded)]
    made = {name: known[name] for name in wanted if name in known}
    absent = [f"the file of claim {name}; give it with --claims FILE" for name in wanted if name not in known]
    lacking = (*missing(record, environment(1)), *absent)
    if not made:
        return Reproduction((), 0, (), lacking, "", explained=True)
    again = runner.run(made, record.run.settings, read_sources(None), workers=workers, callbacks=callbacks)
    return reproduction(record, again, lacking)


def _refuse_single(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise SettingsError(f"{name} {value!r}: give a list, such as [{value!r}]")
