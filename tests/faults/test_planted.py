"""Every check is refuted under a planted fault, and one-line faults in claims are planted as they should."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.catalogue import CATALOGUE
from tests.faults.mutations import ROOT, chosen, mutants
from tests.faults.planted import Bench, everywhere, first_faults
from verify.montecarlo import attention, compiling

QUICKEST = {"attention-definition", "softmax-identities", "sqrt-scaling-unique"}
"""Claims that take a second or less."""
CLAIMS = list(CATALOGUE)[1::12]
"""A part of the others, tried among the longer studies; the campaign tries all, by hand."""


@pytest.mark.parametrize(
    "name",
    [
        *sorted(QUICKEST),
        *(pytest.param(name, marks=pytest.mark.slow) for name in CLAIMS if name not in QUICKEST),
    ],
)
def test_every_check_is_refuted_under_some_fault(name: str) -> None:
    """None is vacuous."""
    assert [check for check, fault in first_faults(Bench(name)).items() if fault is None] == []


def test_without_a_fault_nothing_is_refuted() -> None:
    """A bench refutes no check of a claim that holds, also when faults were planted before."""
    bench = Bench("sqrt-scaling-unique")
    assert bench.under("components 10% larger", bench.checks) != set()
    assert bench.refuted(bench.checks) == set()


def test_a_fault_is_planted_under_every_name() -> None:
    """Modules that import a function have a name of their own for it."""
    right = attention.softmax
    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, right, np.zeros_like)
        assert vars(compiling)["softmax"] is attention.softmax is np.zeros_like
    assert vars(compiling)["softmax"] is attention.softmax is right


def test_mutations_are_of_code_alone(tmp_path: Path) -> None:
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
    faults = {(fault.kind, source[fault.start : fault.end].decode(), fault.new) for fault in mutants(path)}
    assert {
        ("number", "2.0", "2.02"),
        ("number", "3", "4"),
        ("sign", "-radius", "(radius)"),
        ("function", "min", "max"),
        ("comparison", "radius < height", "radius >= height"),
        ("relation", '"≤"', "'≥'"),
        ("dropped", "min(-radius, height) * pi", "min(-radius, height)"),
        ("arguments", "-radius", "height"),
    } <= faults
    assert {source[: fault.start].count(b"\n") + 1 for fault in mutants(path)} == {3, 4, 7}
    for fault in mutants(path):
        compile(fault.applied(), "module.py", "exec")


def test_a_sample_of_mutations_is_the_same_for_the_same_seed() -> None:
    """Each once, and of the claims that are named."""
    first, again, other = (chosen(["causal-rows"], 20, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 20
    assert {fault.claim for fault in first} == {"causal-rows"}


@pytest.mark.slow
def test_a_sample_of_mutations_is_caught() -> None:
    """A few faults of a fixed sample, in a process that has not loaded the tool; the whole by hand."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.mutations", "--sample", "2", "--seed", "2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "2 faults; caught by" in ended.stdout
    assert "SURVIVED" not in ended.stdout
