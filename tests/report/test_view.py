"""What the report says about a run: counts, sentences, corrections, the command to repeat it."""

from typing import Literal

import pytest

from tests.report.builders import check, exact_check
from tests.report.records import CLAIMS, PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.escapes import pieces
from verify.evidence import Proof, Settings, Verdict
from verify.report.cards import card
from verify.report.columns import aligned
from verify.report.numbers import GAP, NO_BREAK
from verify.report.tables import check_table
from verify.report.view import formulas, view
from verify.report.views import CheckTable
from verify.report.words import badge, cell_text, decisive_check, largest_deviation, sentence, tolerance_text


def spaced(text: str) -> str:
    """Return a text with plain spaces."""
    return text.replace(NO_BREAK, " ").replace(GAP, " ")


def test_counts_add_up() -> None:
    """The summary's counts are those of the record."""
    seen = view(record())
    assert sum(tally.count for tally in seen.verdicts) == seen.claims == len(CLAIMS)
    assert {tally.badge.word: tally.count for tally in seen.proofs} == {
        "proved": 2,
        "derivation failed": 1,
        "not claimed": 2,
    }
    assert (seen.controls, seen.controls_refuted) == (5, 4)
    assert (seen.statements, seen.decided) == (5, 4)
    assert [one.id for one in seen.corrections] == ["v4", "b3", "v3"]
    assert seen.more_corrections == 0
    assert [card.id for card in seen.concerns] == [
        "pairwise-estimator",
        "sqrt-scaling",
        "over-scaling",
        "double-sum",
    ]
    assert [chapter.number for chapter in seen.chapters] == [1, 2]
    assert seen.figure is not None
    assert seen.figure.key == "score-variance.line"


def test_statements_link_only_to_claims_of_the_run() -> None:
    """A part names its evidence but links only to what is there; an open one says what it awaits."""
    seen = view(record(SCORE_VARIANCE))
    parts = [part for source in seen.sources for one in source.statements for part in one.parts]
    assert {part.link for part in parts} == {""}
    assert {part.name for part in parts} == {"sqrt-scaling.softmax"}
    everything = view(record())
    links = {part.link for source in everything.sources for one in source.statements for part in one.parts}
    assert links == {"sqrt-scaling"}
    waiting = [one for source in everything.sources for one in source.open]
    assert [(one.id, one.waits_for) for one in waiting] == [("b6", ("gradient-through-layers",))]


def test_a_run_of_one_claim_without_figure_or_statements() -> None:
    """The smallest run still has a report."""
    seen = view(record(PAIRWISE, statements=()))
    assert seen.figure is None
    assert seen.sources == ()


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        (Verdict.CONFIRMED, "it lies within ±1% of the prediction and contains the derived 64."),
        (
            Verdict.APPROXIMATE,
            "it lies within ±1% of the prediction around the predicted 64, but leaves that value itself out.",
        ),
        (Verdict.REFUTED, "it lies wholly outside ±1% of the prediction around the predicted 64."),
        (
            Verdict.UNDECIDED,
            "it is neither within nor outside ±1% of the prediction around the predicted 64.",
        ),
    ],
)
def test_sentences(verdict: Verdict, ending: str) -> None:
    """One sentence holds value, error, interval, level, tolerance and prediction, for each verdict."""
    made = check("at", 64.02, 64, verdict=verdict, cell={"d_k": 64, "law": "normal"}, quantity="Var")
    assert spaced(sentence(made, derived=verdict is Verdict.CONFIRMED)) == (
        "Var at $d_{k}$ = 64, law normal: 64.02 ± 0.10, simultaneous interval [63.54, 64.52] "
        f"at level 1 − 6.1×10⁻⁷; {ending}"
    )


@pytest.mark.parametrize(
    ("relation", "verdict", "ending"),
    [
        ("≤", Verdict.CONFIRMED, "it stays below the derived bound 64 with its allowance of +1%"),
        ("≤", Verdict.APPROXIMATE, "it lies above the derived bound 64, but within its allowance of +1%"),
        ("≥", Verdict.REFUTED, "it lies wholly below the derived bound 64 with its allowance of −1%"),
        ("≥", Verdict.UNDECIDED, "it lies neither wholly above nor wholly below the derived bound 64 with"),
    ],
)
def test_sentences_about_bounds(relation: Literal["≤", "≥"], verdict: Verdict, ending: str) -> None:
    """A bound is called one, and on which side of it the value lies."""
    made = check("at", 64.02, 64, verdict=verdict, relation=relation)
    assert ending in spaced(sentence(made, derived=True))
    name = {"≤": "upper", "≥": "lower"}[relation]
    sign = {"≤": "+", "≥": "−"}[relation]
    assert spaced(tolerance_text(made)) == f"{name} bound {sign}1% of the prediction"
    assert (
        check_table("c", (made,)).groups[0].rows[0].predicted.text == f"{relation}\N{NARROW NO-BREAK SPACE}64"
    )
    assert largest_deviation((made,)) == "bounds only"
    mere = made.model_copy(update={"origin": "set"})
    assert ending.replace("derived bound", "threshold") in spaced(sentence(mere, derived=True))
    assert spaced(tolerance_text(mere)) == f"{name} threshold, set in advance, {sign}1% of the threshold"


@pytest.mark.parametrize("of", ["rounding of floating-point arithmetic", "the distance from the limit"])
def test_an_allowance_says_how_much_and_for_what(of: str) -> None:
    """Computed values that need not agree to the last digit say how far they may differ, and why."""
    made = exact_check("at", 0.5, "1/2", "p").model_copy(update={"tolerance": 1e-12, "tolerance_of": of})
    assert spaced(tolerance_text(made)) == f"to 1×10⁻¹² for {of}"


@pytest.mark.parametrize(
    ("estimate", "error", "shown"), [(58.88, 0.09, "0.9200"), (63.99, 0.0005, "0.999844"), (32.0, 0.0, "0.5")]
)
def test_how_close_a_bound_is_stands_beside_it(estimate: float, error: float, shown: str) -> None:
    """The estimate over the bound is printed with the digits that its error supports, in the check's row."""
    made = check("at", estimate, 64, relation="≤", error=error)
    row = check_table("c", (made,)).groups[0].rows[0]
    assert spaced(row.remark) == f"estimate ÷ bound {shown}"
    assert check_table("c", (check("at", 64, 64),)).groups[0].rows[0].remark == ""


def test_what_keeps_a_check_open_stands_beside_it() -> None:
    """The reason of an undecided check is in its row, after how close its bound is."""
    made = check("at", 60.0, 64, relation="≤", verdict=Verdict.UNDECIDED, reason="too skewed")
    assert check_table("c", (made,)).groups[0].rows[0].remark.endswith("; too skewed")


@pytest.mark.parametrize(
    ("proof", "tone", "word", "name"),
    [
        (Proof.PROVED, "good", "proved", "derived 64"),
        (Proof.AT_EXAMPLES, "fair", "checked at examples", "predicted 64"),
        (Proof.IN_PART, "fair", "in part", "predicted 64"),
    ],
)
def test_only_what_is_proved_is_called_derived(proof: Proof, tone: str, word: str, name: str) -> None:
    """Word, colour and count of a derivation go together; green is for proofs, each has its own mark."""
    derivation = SCORE_VARIANCE.derivation.model_copy(update={"status": proof})
    claim = SCORE_VARIANCE.model_copy(update={"derivation": derivation, "checks": (check("at", 64, 64),)})
    seen = view(record(claim))
    (tally,) = seen.proofs
    made = seen.chapters[0].cards[0]
    assert (tally.badge, tally.count) == (made.proof, 1)
    assert (made.proof.tone, made.proof.word) == (tone, word)
    assert made.headline is not None
    assert name in spaced(made.headline)
    assert len({badge(one).mark for one in (Proof.PROVED, Proof.AT_EXAMPLES, Proof.IN_PART)}) == 3


def test_checks_are_counted_as_measured_and_exact() -> None:
    """Wherever their number stands it says how many rest on draws; of one kind alone, that kind."""
    exact = exact_check("e", 0.5, "1/2", "p")
    claim = SCORE_VARIANCE.model_copy(update={"checks": (check("a", 64, 64), check("b", 64, 64), exact)})
    seen = view(record(claim))
    assert seen.checks == "3 checks (2 measured, 1 exact)"
    assert spaced(seen.chapters[0].cards[0].counted) == "2 + 1"
    assert view(record(claim.model_copy(update={"checks": (exact,)}))).checks == "1 check (1 exact)"


def test_the_copied_citation_holds_all_that_it_takes_to_check_it() -> None:
    """Version, seed, profile, date, value with interval and level, and the whole digest."""
    made = next(one for chapter in view(record()).chapters for one in chapter.cards if one.id == PAIRWISE.id)
    for part in (
        "sdpa-verify 0.1.0, pairwise-estimator.at-d32",
        "1.5427, simultaneous interval [1.5382, 1.5474] at level 1 − 6.1×10⁻⁷",
        "Seed 20170612, standard profile, 2026-11-20",
        f"digest {PAIRWISE.digest}.",
    ):
        assert part in spaced(made.citation)


def test_the_decisive_check_is_the_most_serious_then_the_tightest() -> None:
    """An undecided check goes before confirmed ones; among equals the one nearest its band's edge."""
    calm, close = check("calm", 64, 64), check("close", 64.1, 64)
    undecided = check("undecided", 64, 64, verdict=Verdict.UNDECIDED)
    assert decisive_check((calm, close)) is close
    assert decisive_check((calm, undecided, close)) is undecided
    assert decisive_check(()) is None


def test_cells_read_well() -> None:
    """Symbols are set as mathematics, words as words."""
    assert spaced(cell_text({"d_k": 1000, "n_keys": 20000, "sigma": 0.5, "block": "64×64"})) == (
        "$d_{k}$ = 1000, $n_{\\mathrm{keys}}$ = 20 000, $\\sigma$ = 0.5, block 64×64"
    )


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (Settings(), "sdpa-verify report --seed 20170612 --profile standard"),
        (Settings(profile="quick", tolerance=0.05), "sdpa-verify report --seed 20170612 --profile quick"),
        (
            Settings(seed=1, profile="deep", tolerance=0.01, false_alarm=1e-4, power=0.9),
            "sdpa-verify report --seed 1 --profile deep --tolerance 0.01 --false-alarm 0.0001 --power 0.9",
        ),
    ],
)
def test_command_repeats_the_run(settings: Settings, command: str) -> None:
    """The colophon's command names every setting that differs from the default."""
    made = record()
    again = made.model_copy(update={"run": made.run.model_copy(update={"settings": settings})})
    assert view(again).command == command


def test_command_names_the_claims_asked_for_and_files_of_the_users_own() -> None:
    """A run of some claims, and of claims that are not in the catalogue, is repeated as such."""
    made = record()
    run = made.run.model_copy(update={"claims": ("score-mean", "my-claim"), "claim_files": 1})
    seen = view(made.model_copy(update={"run": run}))
    assert seen.command == (
        "sdpa-verify report score-mean my-claim --claims FILE --seed 20170612 --profile standard"
    )
    assert seen.claim_files == 1


def test_alarms_are_raised_for_failed_derivations_and_standing_controls() -> None:
    """What nobody may overlook stands on the card, in words of its own."""
    alarms = {card.id: card.alarms for card in view(record()).concerns}
    assert alarms["double-sum"] == ("The derivation failed.",)
    assert alarms["over-scaling"] == (
        "A version that is wrong on purpose was not refuted: the measurement settles nothing.",
    )
    assert alarms["pairwise-estimator"] == ()


@pytest.mark.parametrize(
    ("agreement", "latex", "sentence"),
    [
        ("2 routes end in the same result", "d_k", "Two routes end in (1.1)."),
        ("the route ends in the stated result", "d_k", "The route ends in (1.1)."),
        ("the routes do not all end in the stated result", "d_k", "The routes do not all end in (1.1)."),
        ("the route ends in the stated result", "", "The route ends in the stated result."),
        ("12 routes end in the same result", "d_k", "12 routes end in (1.1)."),
        ("", "d_k", ""),
    ],
)
def test_routes_end_in_the_numbered_result(agreement: str, latex: str, sentence: str) -> None:
    """The sentence names the equation where there is one."""
    derivation = SCORE_VARIANCE.derivation.model_copy(update={"agreement": agreement, "latex": latex})
    (chapter,) = view(record(SCORE_VARIANCE.model_copy(update={"derivation": derivation}))).chapters
    assert chapter.cards[0].agreement == sentence


def test_largest_deviation_is_the_one_that_uses_most_of_its_tolerance() -> None:
    """The share of the tolerance decides, not the share of the prediction."""
    sharp = check("sharp", 64.32, 64)
    blunt = check("blunt", 65.28, 64, tolerance=0.1)
    assert spaced(largest_deviation((sharp, blunt))) == "0.5% of ±1%"
    assert largest_deviation((exact_check("at", 0.5, "1/2", "p"),)) == "exact"


def test_decimal_points_line_up() -> None:
    """What stands right of the point, and its padding, is equally wide in all cells of a column."""
    cells = aligned(["1", "22.5", "3.125", ""])
    assert [cell.pad for cell in cells] == [1.74, 0.994, 0.0, 0.0]
    assert [cell.pad for cell in aligned(["1", "0.25", "−7.1×10⁻⁸"])] == [1.243, 0.0, 0.0]


def test_checks_of_one_fit_stand_together() -> None:
    """A fit's slope, intercept and so on share a title that says what was fitted."""
    last = check_table("c", SCORE_VARIANCE.checks).groups[-1]
    assert last.title is not None
    assert last.title.quantity == "Weighted fit"
    assert [row.anchor for row in last.rows][:2] == ["c.slope", "c.intercept"]


def test_settings_may_hold_formulas() -> None:
    """A cell's value with LaTeX between dollar signs is typeset, in tables and sentences."""
    cells = [{"scale": r"$1/\sqrt{d_k}$", "d_k": d} for d in (1, 2)]
    made = tuple(check(f"c{n}", 1, 1, cell={**cell}) for n, cell in enumerate(cells))
    (group,) = check_table("c", made).groups
    assert group.title is not None
    assert [piece.text for piece in pieces(group.title.note) if piece.is_formula] == [r"1/\sqrt{d_k}"]


def test_every_formula_is_found() -> None:
    """The walk over a view finds titles, steps and cells that hold LaTeX, and only those."""
    found = list(formulas(view(record(SCORE_VARIANCE))))
    assert any("\\varphi" in text for text in found)
    assert "The variance of a score is $d_k$" in found
    assert all("$" in text or "\\" in text or "=" in text for text in found)


def test_titles_of_routes_are_read_out_in_words() -> None:
    """What names a list of steps to a screen reader holds no LaTeX."""
    derivation = SCORE_VARIANCE.derivation
    route = derivation.routes[0].model_copy(update={"title": r"One step, times $\sqrt{c}$"})
    claim = SCORE_VARIANCE.model_copy(
        update={"derivation": derivation.model_copy(update={"routes": (route,)})}
    )
    assert card(record(claim), claim, "1.1").routes[0].label == "Steps: One step, times square root of c"


def test_settings_of_all_checks_are_printed_once() -> None:
    """What all checks, or all simulated ones, have alike stands above the table and not in each title."""
    long: dict[str, int | float | str] = {
        "task": "find the copied one of many tokens, noise 0.3",
        "goal": "mean loss below 0.2",
    }
    made = [check(f"c{n}", 1, 1, quantity=f"share {n}", cell={"d_k": n, **long}) for n in (1, 2)]
    other = check("e", 1, 1, method="exact", cell={"d_k": 3})
    table = check_table("c", [*made, other])
    (line,) = table.common
    assert line.startswith(
        "In all simulated checks: task find the copied one of many tokens, noise 0.3; goal"
    )
    titles = [row.title for group in table.groups for row in group.rows]
    assert all(title is not None and "task" not in title.note for title in titles)
    assert check_table("c", []) == CheckTable((), (), ())
    assert check_table("c", made[:1]).common == ()


def test_neighbours_with_the_same_long_settings_share_a_head() -> None:
    """Where not all checks have the settings, those that follow one another print them once."""
    long: dict[str, int | float | str] = {
        "task": "find the copied one of many tokens, noise 0.3",
        "goal": "mean loss below 0.2",
    }
    made = [check(f"c{n}", 1, 1, quantity=f"share {n}", cell=long) for n in (1, 2)]
    (head, rest) = check_table("c", [*made, check("c3", 1, 1, quantity="share 3", cell={"d_k": 3})]).groups
    assert head.title is not None
    assert "noise 0.3" in head.title.note
    assert [row.title.quantity for row in head.rows if row.title] == ["share 1", "share 2"]
    assert all("noise" not in row.title.note for row in head.rows if row.title)
    assert len(rest.rows) == 1


def test_columns_follow_their_numbers() -> None:
    """A long number widens its column, and a table without rows has none."""
    short = check_table("c", [check("c", 1, 1)]).widths
    long = check_table("c", [exact_check("c", 6.882544915e-5, "x", "c")]).widths
    assert long[1] > short[1] + 1


def test_a_definition_stands_beside_the_start() -> None:
    """Where a chain starts at what is defined there, the report says so, and in words what it is."""
    derivation = SCORE_VARIANCE.derivation
    first, *others = derivation.routes
    named = first.model_copy(update={"definition": "the mean of a score"})
    claim = SCORE_VARIANCE.model_copy(
        update={"derivation": derivation.model_copy(update={"routes": (named, *others)})}
    )
    drawn = card(record(claim), claim, "1.1").routes
    assert drawn[0].opening == "Definition: the mean of a score"
    assert all(one.opening == "Start" for one in drawn[1:])
