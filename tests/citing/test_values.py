"""Keys and values of runs and audits: each finding has some, texts and figures agree; forms asked for."""

from pathlib import Path

import pytest
from scipy import stats

import verify
from tests.auditing.records import bad, good
from tests.report.records import record
from verify.citing.values import by_key, chosen, written
from verify.citing.quotations import fault_of
from verify.citing.values import Evidence, level_text, reading, values_of
from verify.errors import CitationError
from verify.evidence import Verdict
from verify.evidence.load import shipped
from verify.text import numbers

RUN, BAD = record(), bad(2, 2)
LAYER, LAST = (layer.id for layer in BAD.layers)
MODES = {"nearest": "ROUND_HALF_EVEN", "down": "ROUND_FLOOR", "up": "ROUND_CEILING"}


@pytest.mark.parametrize("evidence", [shipped(), BAD, good(1, 1)], ids=["run", "audit", "one head"])
def test_texts_agree_with_their_values(evidence: Evidence) -> None:
    """What is listed is right when quoted as it is, each key once, each figure printed as it is rounded."""
    known, listed = by_key(evidence), list(values_of(evidence))
    assert len(known) == len(listed)
    for value in listed:
        assert written(known, value.key, "default") == value.text
        for figure in value.figures:
            place = int(figure.printed.as_tuple().exponent)
            mode = MODES.get(figure.rounding)
            rounded = numbers.rounded(figure.exact, place, mode) if mode else figure.exact
            assert figure.printed == rounded, value.key
        if len(value.figures) == 1 and value.figures[0].rounding != "fixed":
            assert reading(value.text) == value.figures[0].printed, value.key
        if not any(sign in value.text for sign in "×%"):
            assert fault_of(known, value.key, value.text) == "", value.key


def test_the_95_per_cent_interval_is_of_one_value_alone() -> None:
    """Around the estimate; none where the simultaneous one is of another kind."""
    known = by_key(shipped())
    for claim in shipped().claims:
        for check in claim.checks:
            value = known.get(f"{claim.id}.{check.id}:interval95")
            assert (value is None) is (not check.blocks or not check.standard_error or bool(check.basis))
            if value is not None:
                half = stats.norm.ppf(0.975) * check.standard_error
                wanted = (check.estimate - half, check.estimate + half)
                assert [float(end.exact) for end in value.figures] == pytest.approx(wanted, abs=1e-4 * half)


def test_an_unknown_key_is_reported_with_the_nearest() -> None:
    """A typing mistake is fixed in one step."""
    for evidence, key, near in (
        (RUN, "score-varience.slope", "score-variance"),
        (RUN, "run:clams", "run:claims"),
        (RUN, "v1", "source.v1"),
        (BAD, f"{LAST}.scale:high", LAST),  # an open end
    ):
        with pytest.raises(CitationError, match=f"no value '{key}' in these results; did you mean '{near}"):
            by_key(evidence)[key]
    for key in ("UNKNOWN", "some-claim.some-check", "softmax", "attention-zzz"):
        with pytest.raises(CitationError, match=f"no value '{key}' in these results; `sdpa-verify values`"):
            by_key(shipped())[key]


def test_values_are_chosen_by_claim_or_by_key() -> None:
    """A claim stands for all of its values, a key for its own and those of its parts; none comes twice."""
    slope, both, every = (
        [value.key for value in chosen(RUN, names)]
        for names in (["score-variance.slope"], ["score-variance.slope", "score-variance"], [])
    )
    assert slope[0] == "score-variance.slope"
    assert all(key.startswith("score-variance.slope:") for key in slope[1:])
    assert both[: len(slope)] == slope
    assert {*both} == {key for key in every if key.startswith("score-variance")}
    assert len(both) == len({*both})
    assert every == [value.key for value in values_of(RUN)]


def test_what_is_not_confirmed_may_be_quoted_in_doubt_alone() -> None:
    """Its verdicts may always be."""
    for claim in RUN.claims:
        for value in chosen(RUN, [claim.id]):
            doubtful = claim.verdict is not Verdict.CONFIRMED and not value.key.endswith(":verdict")
            assert bool(value.doubt) is doubtful


def test_what_keys_stand_for() -> None:
    """Counts, settings, parts of findings."""
    for key, text in (
        ("audit", "refuted"),
        ("audit:refuted", "2"),
        (f"{LAYER}:scale", "0.125"),
        (f"{LAYER}.scale:fix", "divide by √64, not √512: every score is 2.83 times too small"),
        (f"{LAST}.scale:low", "−1.2"),
    ):
        assert by_key(BAD)[key].text == text


def test_a_level_near_1_has_no_other_form() -> None:
    """Others are percentages."""
    for level, exact, rounding in (
        (0.95, 95, "nearest"),
        (0.5, 50, "nearest"),
        (1.0, 1, "fixed"),
        (1 - 6.1e-7, 1 - 6.1e-7, "fixed"),
    ):
        text, (figure,) = level_text(level)
        assert (float(figure.exact), figure.rounding) == (exact, rounding)
        assert text.endswith("%") is (rounding == "nearest")


def test_a_value_is_text_and_number(tmp_path: Path) -> None:
    """With all its digits, from a record or the file of one; an interval and a word are no number."""
    path, key = tmp_path / "results.json", "score-variance.slope:estimate"
    path.write_text(RUN.to_json(), encoding="utf-8")
    check = next(check for check in RUN.claims[0].checks if check.id == "slope")
    for values in (verify.values(RUN), verify.values(path), verify.values(str(path))):
        slope = values[key]
        assert str(slope) == by_key(RUN)[key].text
        assert float(slope) == check.estimate
        assert str(values[f"{key}|.2g"]) == by_key(RUN)[f"{key}|.2g"].text
        assert (f"{slope:.3f}", f"{slope:>8}") == (f"{check.estimate:.3f}", f"{slope!s:>8}")
    for name in ("score-variance.slope", "score-variance:verdict"):
        with pytest.raises(CitationError, match="not one number"):
            float(values[name])
    with pytest.raises(verify.VerifyError, match="did you mean 'score-variance"):
        values["score-variance.slop"]
    assert values.get("nothing") is None
    assert str(verify.values(BAD)["audit"]) == "refuted"
