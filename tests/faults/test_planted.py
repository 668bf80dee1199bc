"""Every check is refuted under a planted fault, and faults that once passed are caught."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.catalogue import CATALOGUE
from tests.faults import known, mutations
from tests.faults.equivalents import EQUIVALENT
from tests.faults.known import KNOWN
from tests.faults.planted import FAULTS, Bench, everywhere, first_faults
from tests.faults.plants import mutants
from verify.montecarlo import attention, rows
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.statistics import Reduced

QUICKEST = {"attention-definition", "softmax-identities", "sqrt-scaling-unique"}
"""Claims that take a second or less."""
CLAIMS = list(CATALOGUE)[1::12]
"""A part of the others, tried among the longer studies; the campaign tries all, by hand."""


@pytest.mark.parametrize(
    "name",
    [
        *sorted(QUICKEST),
        *(pytest.param(one, marks=pytest.mark.slow) for one in CLAIMS if one not in QUICKEST),
    ],
)
def test_every_check_is_refuted_under_some_fault(name: str) -> None:
    """None is vacuous."""
    assert [check for check, fault in first_faults(Bench(name)).items() if fault is None] == []


def test_without_a_fault_nothing_is_refuted() -> None:
    """A bench refutes no check of a claim that holds."""
    bench = Bench("sqrt-scaling-unique")
    assert bench.refuted(bench.checks) == set()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_gone_when_it_was_tried(name: str) -> None:
    """Array code, laws and samplers are again what they were."""
    before = [
        attention.softmax,
        attention.gradients,
        vars(rows)["softmax"],
        Distribution.draw,
        Reduced.sample,
    ]
    with pytest.MonkeyPatch.context() as patch:
        FAULTS[name].plant(patch)
    assert before == [
        attention.softmax,
        attention.gradients,
        vars(rows)["softmax"],
        Distribution.draw,
        Reduced.sample,
    ]


def test_a_fault_is_planted_under_every_name() -> None:
    """Modules that import a function have a name of their own for it."""
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, attention.softmax, np.zeros_like)
        assert vars(rows)["softmax"] is attention.softmax is np.zeros_like


def test_spoiled_components_have_what_is_said_of_them() -> None:
    """Larger, shifted, correlated, of twice the kurtosis; and otherwise as they were."""
    with pytest.MonkeyPatch.context() as patch:
        found = {}
        for name in ("components-larger", "shifted", "heavier", "correlated"):
            with patch.context() as inner:
                FAULTS[name].plant(inner)
                found[name] = NORMAL.draw(np.random.default_rng(1), (20_000, 4))
    spreads = {name: float(x.std()) for name, x in found.items()}
    assert spreads == pytest.approx(
        {"components-larger": 1.1, "shifted": 1.0, "heavier": 1.0, "correlated": 1.0}, abs=0.02
    )
    assert found["shifted"].mean() == pytest.approx(0.5, abs=0.02)
    assert np.mean(found["heavier"] ** 4) == pytest.approx(6, abs=0.5)
    correlations = np.atleast_2d(np.corrcoef(found["correlated"].T))
    assert correlations[0, 1:] == pytest.approx([0.1] * 3, abs=0.05)


SAMPLE = ("same-scores-for-shifted", "triu-as-causal")
"""Faults in claims that take a moment."""


def planted(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the campaigns, as a process that has not loaded the tool."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=mutations.ROOT,
        env={**os.environ, "PYTHONPATH": str(mutations.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_fault_is_planted_where_its_code_is(name: str) -> None:
    """Its text is found once, and what comes of it is Python."""
    fault = KNOWN[name].mutant()
    source = (mutations.ROOT / fault.path).read_bytes()
    compile(fault.applied(source), fault.path, "exec")
    assert fault.applied(source) != source


def test_a_misspelt_fault_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, and nothing is planted."""
    with pytest.raises(SystemExit) as ended:
        known.main(["triu-as-casual"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("no fault 'triu-as-casual'; did you mean 'triu-as-causal'?\n")


@pytest.mark.slow
def test_known_faults_are_caught() -> None:
    """A few of those that once passed; all of them by hand."""
    ended = planted("tests.faults.known", *SAMPLE)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_sample_of_faults_is_caught() -> None:
    """A few faults of a fixed sample; the whole by hand, as ``mutations`` says."""
    ended = planted("tests.faults.mutations", "--sample", "2", "--seed", "2", "--fresh")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 of 2 faults survived" in ended.stdout


@pytest.mark.parametrize("key", EQUIVALENT, ids=lambda key: f"{Path(key[0]).name}: {key[2]}")
def test_what_is_listed_as_equivalent_is_there(key: tuple[str, str, str]) -> None:
    """A line that has changed takes its entry with it; and every entry has a reason."""
    path, before, after = key
    lines = [line.strip() for line in (mutations.ROOT / path).read_text(encoding="utf-8").splitlines()]
    assert before in lines
    assert before != after
    assert EQUIVALENT[key]


def test_faults_are_planted_in_code_alone(tmp_path: Path) -> None:
    """Numbers, operators, names and relations; not documentation, types or words for readers."""
    path = tmp_path / "module.py"
    path.write_text(
        '"""At most 3."""\n'
        "from math import pi\n"
        "FACTOR, OTHER = 2.0, 3\n"
        "def area(radius: float = 1.0, height: float = 2.0) -> float:\n"
        '    """Return 5."""\n'
        '    label = Claim(title="7 words", order=7)\n'
        '    return min(-radius, height) * pi if radius < height else bound("≤", label)\n',
        encoding="utf-8",
    )
    source = path.read_bytes()
    found = {(one.line, one.kind, one.old, one.new) for one in mutants(path, "module.py")}
    assert {line for line, *_ in found} == {3, 4, 6, 7} - {6}
    assert {
        (3, "number", "2.0", "2.02"),
        (3, "number", "3", "4"),
        (7, "sign", "-radius", "radius"),
        (7, "function", "min", "max"),
        (7, "comparison", "radius < height", "radius <= height"),
        (7, "relation", '"≤"', "'≥'"),
        (7, "dropped", "min(-radius, height) * pi", "pi"),
        (7, "arguments", "-radius, height", "height, -radius"),
        (7, "neighbour", "radius", "height"),
    } <= found
    for one in mutants(path, "module.py"):
        compile(one.applied(source), "module.py", "exec")


@pytest.mark.slow
def test_a_sample_is_the_same_for_the_same_seed() -> None:
    """Faults of every kind, each once, in files of every folder."""
    paths = mutations.files()[::7]
    one, again, other = (mutations.chosen(paths, 60, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == len(one) == 60
    assert {path.split("/")[1] for path in {fault.path for fault in one}} >= {
        "claims",
        "montecarlo",
        "symbolic",
    }


def test_every_place_of_the_campaign_is_there() -> None:
    """A module that has moved takes its entry with it; a place that is misspelt is refused in one line."""
    planted_in = {str(path.relative_to(mutations.ROOT)) for path in mutations.files()}
    for place in mutations.PATHS:
        assert any(path.startswith(place) for path in planted_in), place
    with pytest.raises(SystemExit, match=r"verify/no_such\.py is no file or folder"):
        mutations.files(["verify/no_such.py"])


def test_claims_through_a_module_are_those_that_import_it() -> None:
    """A claim's own file concerns itself; the judge concerns all, of which a few are asked."""
    assert mutations.claims_through("verify/claims/limits/causal_rows.py") == ["causal-rows"]
    assert mutations.claims_through("verify/claims/gradients/shared/training.py") == ["training-stability"]
    assert len(mutations.claims_through("verify/evidence/judging.py")) == mutations.CLAIMS_EACH
