"""What every claim must keep to, and proof that a wrong one does not get through; what claims share."""

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.tool import ROOT
from verify import api
from verify.engine import runner
from verify.engine.catalogue import Entry
from verify.engine.statements import read_sources
from verify.errors import ClaimError
from verify.evidence import ClaimRecord, Proof, RunRecord, Verdict
from verify.proofs.statement import recorded
from verify.report.drawings import SMALL, draw_figures
from verify.report.formulas import Formulas
from verify.report.front import FEW, PLAN, is_led, ratios
from verify.spec import Chain, Claim, Reference, Var, cite, d, score
from verify.spec.claim import bibliography
from verify.symbolic import notation
from verify.text.escapes import pieces

CLAIM_FILES = [path for path in (ROOT / "verify/claims").glob("*/*.py") if path.stem != "__init__"]
EACH_KIND = pytest.mark.parametrize("name", ["over-scaling", "scaling-exponent", "softmax-identities"])
"""Drawn, fitted and computed: for what every claim has from the engine."""


@pytest.fixture(scope="session")
def records(quick: RunRecord) -> dict[str, ClaimRecord]:
    """Return the quick run's evidence by claim."""
    return {record.id: record for record in quick.claims}


def run_of(claim: Claim) -> RunRecord:
    """Return a run of one claim alone, with one worker."""
    made = Entry(claim.id, "user", made=claim)
    return runner.run({claim.id: made}, runner.settings(profile="quick"), read_sources(), workers=1)


def test_ids_are_the_names_of_files_and_of_nothing_else() -> None:
    """Ids are permanent, and the file is found by its claim; an assumption is stated once."""
    for name, claim in CATALOGUE.items():
        assert claim.id == name
        module = claim.derive.__module__
        assert module.rpartition(".")[2] == name.replace("-", "_")
        assert module.split(".")[2] == claim.chapter
        ids = [assumption.id for assumption in claim.assumptions]
        assert len(set(ids)) == len(ids), name


@EACH_QUICKLY_MADE
def test_no_step_repeats_the_one_before(name: str) -> None:
    """A step that changes nothing on the page says nothing to its reader, and its rule is not applied."""
    for chain in derivation(name).chains:
        expressions = [chain.start, *(line.expression for line in chain.lines)]
        printed = [notation.latex(expression) for expression in expressions]
        assert [before for before, after in pairwise(printed) if before == after] == []


def test_the_derivation_holds(records: dict[str, ClaimRecord]) -> None:
    """Every line holds, and says how it was checked."""
    for name, record in records.items():
        derivation = record.derivation
        lines = [line for chain in derivation.chains for line in chain.lines]
        assert lines, name
        assert all(line.holds and line.because and line.checked for line in lines), name
        assert all(chain.shows and chain.start for chain in derivation.chains), name
        status = Proof.CITING if any(line.cites for line in lines) else Proof.DERIVED
        if name in recorded()["claims"] or not CATALOGUE[name].derived().main:
            status = Proof.PROVED if name in recorded()["claims"] else Proof.MEASURED
        assert derivation.status is status, (name, derivation.reason)


def test_what_is_derived_is_what_is_drawn(records: dict[str, ClaimRecord]) -> None:
    """Some check of a claim that draws is of a quantity that it derives."""
    for name, record in records.items():
        origins = {check.origin for check in record.checks if check.method == "monte-carlo"}
        assert not origins or "derived" in origins, name


def test_round_figures_are_called_thresholds(records: dict[str, ClaimRecord]) -> None:
    """A one-sided check against a plain decimal was not derived, and does not say so."""
    for name, record in records.items():
        for check in record.checks:
            hundredths = 100 * check.prediction
            is_round = 0 < hundredths < 100 and math.isclose(hundredths, round(hundredths))
            if is_round and hundredths != 50 and check.relation != "=":  # derivations do end in a half
                assert check.origin == "set", (name, check.id)


def test_every_check_agrees(records: dict[str, ClaimRecord]) -> None:
    """Each claim and each of its checks are confirmed, or approximate."""
    agreeing = {Verdict.CONFIRMED, Verdict.APPROXIMATE}
    for name, record in records.items():
        assert record.verdict in agreeing, (name, record.reason)
        assert {check.verdict for check in record.checks} <= agreeing, name


def test_every_wrong_version_is_refuted(records: dict[str, ClaimRecord]) -> None:
    """A control is there to be refuted, with a known power; at least one is no mere shift of the value."""
    for name, record in records.items():
        controls = record.controls
        assert {control.id for control in controls if control.verdict is not Verdict.REFUTED} == set(), name
        assert all(0.5 < control.power <= 1 for control in controls), name
        words = {control.what for control in controls}
        assert not all(what.endswith("is larger by twice the tolerance") for what in words), name
        assert len(words) == len(controls), name


def test_all_latex_can_be_typeset(records: dict[str, ClaimRecord]) -> None:
    """Every formula that a reader may meet is drawn by MathJax without complaint."""
    formulas, without_coq = Formulas(), {"derivation": {"coq"}}
    for name, text in _texts("", [record.model_dump(exclude=without_coq) for record in records.values()]):
        if name in {"latex", "prediction_latex", "start", "shows"}:
            formulas.display(text)
            continue
        assert text.count("$") % 2 == 0, text
        assert "\\" not in re.sub(r"\$[^$]*\$", "", text), text
        for piece in pieces(text):
            if piece.is_formula:
                formulas.inline(piece.text)


def _texts(name: str, part: Any) -> Iterator[tuple[str, str]]:
    """Yield all texts of a record, each with the name of its field."""
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _texts(key, value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _texts(name, value)


def test_figures_are_well_formed(records: dict[str, ClaimRecord]) -> None:
    """Layers are complete and can be shown on their axes; words that replace the figure say something."""
    for name, record in records.items():
        assert len({figure.id for figure in record.series}) == len(record.series), name
        for figure in record.series:
            assert len(figure.alt.split()) >= 8
            assert not set("$\\{") & set(figure.alt), "a formula in an alternative text is in signs"
            assert figure.title != figure.alt
            assert figure.x.label
            assert figure.y.label
            assert {"truth", "measured"} <= {layer.role for layer in figure.layers}
            for layer in figure.layers:
                values = (*layer.y, *layer.lo, *layer.hi)
                assert len(layer.x) == len(layer.y) > 1
                assert len(layer.lo) in {0, len(layer.x)}
                assert all(map(math.isfinite, (*layer.x, *values)))
                assert all(low <= high for low, high in zip(layer.lo, layer.hi, strict=True))
                assert figure.x.scale == "linear" or min(layer.x) > 0
                assert figure.y.scale == "linear" or min(values) > 0
                assert list(layer.x) == sorted(layer.x)


def test_all_figures_can_be_drawn(quick: RunRecord) -> None:
    """Each figure of the catalogue becomes an SVG, whose texts hold no LaTeX."""
    drawn = draw_figures(quick, workers=1)
    texts = {name: " ".join(ET.fromstring(svg).itertext()) for name, svg in drawn.items()}  # noqa: S314
    assert {name: text for name, text in texts.items() if re.search(r"[\\${}]", text)} == {}
    every = {f"{claim.id}.{figure.id}" for claim in quick.claims for figure in claim.series}
    # A report of a few claims has the ratios of all, that of the catalogue those of the claims that open it.
    few = is_led(quick) and len(quick.claims) <= FEW
    led = [claim for claim in quick.claims if few or (claim.id in PLAN["opening"] and not is_led(quick))]
    every |= ratios({claim.id: claim for claim in led}).keys()
    assert {name.removeprefix(SMALL) for name in drawn} == every


@EACH_KIND
def test_the_evidence_depends_on_nothing_but_seed_and_settings(quick: RunRecord, name: str) -> None:
    """One worker instead of two, and no other claims beside it: the same record, to the last bit."""
    (alone,) = api.run([name], profile="quick", workers=1, store=False).claims
    assert alone.model_dump_json() == quick.claim(name).model_dump_json()


def test_another_seed_gives_other_draws(small: RunRecord) -> None:
    """The seed reaches every drawn estimate."""
    (other,) = api.run(["sqrt-scaling-unique"], profile="quick", seed=2, workers=1, store=False).claims
    (mine,) = small.claims
    assert not {check.estimate for check in mine.checks} & {check.estimate for check in other.checks}


def test_a_failed_derivation_ends_its_claim() -> None:
    """Nothing is drawn for what is not derived: undecided for the reader, failed for a script."""
    claim = CATALOGUE["score-variance"]
    right = claim.derived().main
    assert right is not None
    foreign = Chain(Var(2 * score), *right.lines)
    # What ``variance(Sum(q*k))`` gives, by using one and the same product d times.
    squared = Chain(right.start, *right.lines[:-1], replace(right.lines[-1], expression=d**2))

    def others_and(main: Chain) -> tuple[Chain, ...]:
        return tuple(main if chain is right else chain for chain in claim.derived().chains)

    for main, failing in ((right, 0), (foreign, 1), (squared, len(right.lines))):
        run = run_of(replace(claim, derive=partial(others_and, main)))
        (record,) = run.claims
        assert run.exit_status == bool(failing), record.reason
        if failing:
            assert record.verdict is Verdict.UNDECIDED
            for evidence in (record.checks, record.controls, record.facts, record.series, record.fits):
                assert evidence == ()
            assert "the derivation failed" in record.reason
            assert f", line {failing}: " in record.derivation.reason


def test_what_serves_one_chapter_lies_beside_its_claims() -> None:
    """A claim shares with its chapter alone."""
    shared = 0
    for path in CLAIM_FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and ".shared" in (node.module or ""):
                assert str(node.module).split(".")[2] == path.parent.name
                shared += 1
    assert shared


def test_the_bibliography_is_what_claims_cite() -> None:
    """No entry is left over, and a key names the year that its entry states."""
    cited = {reference.key: reference for claim in CATALOGUE.values() for reference in claim.references}
    assert cited == bibliography()
    dated = [key for key in cited if re.search(r"\d{4}$", key)]
    assert [key for key in dated if key[-4:] not in cited[key].text] == []


def test_a_claim_cites_by_key_or_gives_its_own_source() -> None:
    """A key that is not in the bibliography is refused with the nearest."""
    own = Reference(key="mine2026", text="A. Author, My Paper, 2026.")
    assert [source.key for source in cite("vaswani2017", own)] == ["vaswani2017", "mine2026"]
    with pytest.raises(ClaimError, match="no reference 'vaswani2018'; did you mean 'vaswani2017'"):
        cite("vaswani2018")
