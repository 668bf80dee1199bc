"""Keys and values of runs and audits: each finding has some, texts and figures agree; forms asked for."""

from pathlib import Path

import pytest
from scipy import stats

import verify
from tests.auditing.records import bad, good
from tests.report.records import record
from verify.citing.forms import written
from verify.citing.lookup import by_key, chosen, lookup
from verify.citing.quotations import fault_of
from verify.citing.values import Value, level_text, reading
from verify.citing.values import values_of as values
from verify.errors import CitationError
from verify.evidence import RunRecord, Verdict
from verify.evidence.audits import AuditRecord
from verify.text import numbers


@pytest.fixture(scope="module")
def run() -> RunRecord:
    """Return a run with a claim of every outcome."""
    return record()


MODES = {"nearest": "ROUND_HALF_EVEN", "down": "ROUND_FLOOR", "up": "ROUND_CEILING"}


def assert_own_text(known: dict[str, Value], value: Value) -> None:
    """Assert that a value's own text is right of it."""
    assert written(known, value.key, "default") == value.text
    for one in value.figures:
        if one.rounding == "fixed":
            assert one.exact == one.printed
        else:
            place = int(one.printed.as_tuple().exponent)
            assert one.printed == numbers.rounded(one.exact, place, MODES[one.rounding]), value.key
    if len(value.figures) == 1 and value.figures[0].rounding != "fixed":
        assert reading(value.text) == value.figures[0].printed, value.key
    if not any(sign in value.text for sign in "×%"):
        assert fault_of(known, value.key, value.text) == "", value.key


def test_a_text_agrees_with_its_own_value(reference: RunRecord) -> None:
    """What is listed is right when quoted as it is, and each figure is printed as it is rounded."""
    known = by_key(reference)
    for value in known.values():
        assert_own_text(known, value)


def test_parts_of_a_check(run: RunRecord) -> None:
    """The bare key gives estimate and interval; its parts are the same figures alone."""
    check = next(one for one in run.claims[0].checks if one.blocks)
    key = f"{run.claims[0].id}.{check.id}"
    whole = lookup(run, key)
    assert whole.text == f"{lookup(run, f'{key}:estimate').text} {lookup(run, f'{key}:interval').text}"
    assert float(whole.figures[0].exact) == check.estimate
    assert [figure.rounding for figure in whole.figures] == ["nearest", "down", "up"]
    assert lookup(run, f"{key}:verdict").text == check.verdict
    assert whole.anchor == key


def test_the_95_per_cent_interval_is_of_one_value_alone(reference: RunRecord) -> None:
    """Around the estimate; none where the simultaneous one is of another kind."""
    for claim in reference.claims:
        known = by_key(reference, claim.id)
        for check in claim.checks:
            value = known.get(f"{claim.id}.{check.id}:interval95")
            assert (value is None) is (not check.blocks or not check.standard_error or bool(check.basis))
            if value is not None:
                ends = [float(figure.exact) for figure in value.figures]
                half = stats.norm.ppf(0.975) * check.standard_error
                wanted = (check.estimate - half, check.estimate + half)
                assert ends == pytest.approx(wanted, abs=1e-4 * half)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("score-varience.slope", "score-variance"),
        ("score-variance:digset", "score-variance:digest"),
        ("run:clams", "run:claims"),
    ],
)
def test_an_unknown_key_is_reported_with_the_nearest(run: RunRecord, key: str, near: str) -> None:
    """A typing mistake is fixed in one step."""
    with pytest.raises(CitationError, match=f"no value '{key}' in these results; did you mean '{near}"):
        lookup(run, key)


def test_values_are_chosen_by_claim_or_by_key(run: RunRecord) -> None:
    """A claim stands for all of its values, a key for its own and those of its parts; none comes twice."""

    def keys(*names: str) -> list[str]:
        return [value.key for value in chosen(run, names)]

    slope = keys("score-variance.slope")
    assert slope[0] == "score-variance.slope"
    assert "score-variance.slope:interval" in slope
    assert all(key.startswith("score-variance.slope:") for key in slope[1:])
    assert keys("run:seed") == ["run:seed"]
    assert keys("score-variance:verdict") == ["score-variance:verdict"]
    statement = f"source.{run.statements[0].id}"
    assert keys(statement)[:2] == [statement, f"{statement}:outcome"]
    others = [key for key in keys("score-variance") if key not in slope]
    assert keys("score-variance.slope", "score-variance") == slope + others
    assert keys() == [value.key for value in values(run)]


RUN = record()
VALUES = {value.key: value for value in values(RUN)}


def test_what_is_not_confirmed_may_be_quoted_in_doubt_alone() -> None:
    """Its verdicts may always be."""
    for claim in RUN.claims:
        for value in values(RUN, claim.id):
            doubtful = claim.verdict is not Verdict.CONFIRMED and not value.key.endswith(":verdict")
            assert bool(value.doubt) is doubtful


BAD = bad(2, 2)
LAYER, LAST = (layer.id for layer in BAD.layers)


@pytest.mark.parametrize("audit", [BAD, good(1, 1)], ids=["bad", "one head"])
def test_keys_of_an_audit_are_unique_and_texts_agree(audit: AuditRecord) -> None:
    """What is listed is right when quoted as it is, and each figure is printed as it is rounded."""
    known = by_key(audit)
    listed = list(values(audit))
    keys = [value.key for value in listed]
    assert len(set(keys)) == len(keys)
    for value in listed:
        assert_own_text(known, value)
        assert lookup(audit, value.key) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("audit", "refuted"),
        ("audit:layers", "2"),
        ("audit:heads", "4"),
        ("audit:refuted", "2"),
        ("audit:date", "2026-11-21"),
        (f"{LAYER}:scale", "0.125"),
        (f"{LAYER}:intended", "1/sqrt(d)"),
        (f"{LAYER}.scale:fix", "divide by √64, not √512: every score is 2.83 times too small"),
        (f"{LAST}.scale:low", "−1.2"),
    ],
)
def test_what_keys_stand_for(key: str, text: str) -> None:
    """Counts, settings, parts of findings."""
    assert lookup(BAD, key).text == text


def test_open_ends_and_missing_parts_have_no_keys() -> None:
    """What is not there cannot be quoted, and the nearest key is suggested."""
    with pytest.raises(CitationError, match="did you mean"):
        lookup(BAD, f"{LAST}.scale:high")
    with pytest.raises(CitationError, match=r"did you mean 'decoder-layers-0-self-attn\.overflow"):
        lookup(BAD, f"{LAYER}.overfow")
    layer = good().layers[0]
    nothing = layer.findings[0].model_copy(update={"estimate": None})
    bare = good().model_copy(update={"layers": (layer.model_copy(update={"findings": (nothing,)}),)})
    assert lookup(bare, f"{layer.id}.mask").text == "confirmed"


@pytest.mark.parametrize(
    ("level", "exact", "rounding"),
    [(0.95, 95, "nearest"), (0.5, 50, "nearest"), (1.0, 1, "fixed"), (1 - 6.1e-7, 1 - 6.1e-7, "fixed")],
)
def test_a_level_near_1_has_no_other_form(level: float, exact: float, rounding: str) -> None:
    """Others are percentages."""
    _, text, (figure,) = level_text(level)
    assert (float(figure.exact), figure.rounding) == (exact, rounding)
    assert text.endswith("%") is (rounding == "nearest")


KEY = "score-variance.slope:estimate"


def test_a_value_is_text_and_number() -> None:
    """With all its digits; an interval and a word are no number."""
    values = verify.values(RUN)
    slope = next(check for check in RUN.claims[0].checks if check.id == "slope")
    assert str(values[KEY]) == lookup(RUN, KEY).text
    assert float(values[KEY]) == slope.estimate
    assert values["score-variance.slope"].numbers == (slope.estimate, *slope.interval)
    assert str(values[f"{KEY}|.2g"]) == lookup(RUN, f"{KEY}|.2g").text
    for key in ("score-variance.slope", "score-variance:verdict"):
        with pytest.raises(CitationError, match="not one number"):
            float(values[key])
    assert (f"{values[KEY]:.3f}", f"{values[KEY]:>8}") == (f"{slope.estimate:.3f}", f"{values[KEY]!s:>8}")
    assert repr(values[KEY]) == f"Value(key={KEY!r}, text={str(values[KEY])!r}, doubt='')"


def test_it_is_a_mapping() -> None:
    """All keys, and an error with the nearest one."""
    values = verify.values(RUN)
    assert set(values) == set(by_key(RUN))
    assert len(values) == len(by_key(RUN))
    assert KEY in values
    assert "nothing" not in values
    assert values.get("nothing") is None
    with pytest.raises(verify.VerifyError, match="did you mean 'score-variance"):
        values["score-variance.slop"]


def test_files_and_audits_have_values(tmp_path: Path) -> None:
    """By their paths, as text too, or as they are."""
    path = tmp_path / "results.json"
    path.write_text(RUN.to_json(), encoding="utf-8")
    assert str(verify.values(path)[KEY]) == str(verify.values(str(path))[KEY])
    assert str(verify.values(bad(2, 2))["audit"]) == "refuted"
