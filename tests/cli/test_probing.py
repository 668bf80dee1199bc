"""``sdpa-verify probe``: what it prints, its statuses, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from verify.cli.auditing import probe
from verify.errors import SettingsError

FUNCTION = """
import numpy as np

def attend(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""

SIZES = ("--d-k", "8", "--heads", "1")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a file with attention in it; imports are undone."""
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.delitem(__import__("sys").modules, "kernel", raising=False)
    path = tmp_path / "kernel.py"
    path.write_text(FUNCTION)
    return str(path)


def test_what_a_function_does_is_printed(kernel: str) -> None:
    """What is as it is expected ends well."""
    done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES, "--intended", "1/sqrt(d)", "--not-causal"])
    assert done.exit_code == 0
    assert "scale          0.353553 = 1/sqrt(d)" in done.output
    assert "softmax over   keys" in done.output


def test_what_is_expected_decides_the_status(kernel: str) -> None:
    """Each option says what is expected, and the status is 1 where anything is otherwise."""
    options = ("--intended", "1/d", "--causal", "--sink", "--softcap", "30")
    done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES, *options])
    assert done.exit_code == 1
    for said in (
        "✗ the scale is 1/√8 = 1/√d_k: the default 1/√d_k is applied",
        "✗ it is not causal",
        "✗ the softmax has no sink",
        "✗ soft-cap: none, not 30",
    ):
        assert said in done.output


def test_what_no_attention_does_ends_with_1(kernel: str) -> None:
    """A softmax over the keys need not be expected for one over the queries to be wrong."""
    path = Path(kernel)
    path.write_text(FUNCTION.replace("axis=-1", "axis=-2"))
    done = CliRunner().invoke(probe, [f"{kernel}:attend", *SIZES])
    assert done.exit_code == 1
    assert "wrong          the softmax is over the queries, not the keys" in done.output


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("attend", "name it as package.module:function"),
        ("no_such_module:attend", "cannot be imported: ModuleNotFoundError"),
        ("{kernel}:nothing", "has no attribute 'nothing'"),
        ("{kernel}x.py:attend", "there is no such file"),
        ("{kernel}:np", "kernel.py:np: is not a function"),
    ],
)
def test_what_cannot_be_found_ends_in_one_line(kernel: str, named: str, message: str) -> None:
    """A name without a function is refused, with what to give instead."""
    done = CliRunner().invoke(probe, [named.format(kernel=kernel)])
    assert isinstance(done.exception, SettingsError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
