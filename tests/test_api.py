"""The tool as a library: the names it promises, and that they do what the command line does."""

import os
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import verify
from tests.tool import ROOT, blocks, example_claim
from verify import Claim
from verify.engine.store import default_path
from verify.errors import ClaimError


@pytest.fixture
def doubled() -> Claim:
    """Return the example of a claim as its code makes it, in this process, with an id."""
    made: dict[str, Any] = {}
    exec(example_claim(), made)  # noqa: S102 - a notebook does no other
    return cast("Claim", made["CLAIM"]).placed("doubled-keys", "", made)


def test_the_public_names_are_there() -> None:
    """Every promised name can be had, and no other."""
    assert all(getattr(verify, name) is not None for name in verify.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        verify.runn  # type: ignore[attr-defined]  # noqa: B018 - asking is the test


def test_a_run_uses_the_store_unless_told_not_to() -> None:
    """It is that of the command line; what is wrong with it is a warning, and never the end of a run."""
    given: dict[str, Any] = {"claims": ["sqrt-scaling-unique"], "profile": "quick", "workers": 1}
    first, again = (verify.run(**given) for _ in range(2))
    without = verify.run(**given, store=False)
    assert default_path().is_file()
    spent = [
        record.run.spent_s["sqrt-scaling-unique"]["simulation"] > 0 for record in (first, again, without)
    ]
    assert spent == [True, False, True]
    assert len({record.claims[0].digest for record in (first, again, without)}) == 1
    default_path().write_bytes(b"no store" * 100)
    with pytest.warns(UserWarning, match=r"^store .*; continuing without it$") as warned:
        assert verify.run(**given).claims == first.claims
    assert [Path(warning.filename).name for warning in warned] == [Path(__file__).name]


def test_a_claim_made_in_this_process_stays_in_it(doubled: Claim) -> None:
    """Its functions may be closures, which no other process could be handed; errors in them are one line."""
    derived: list[int] = []

    def derive() -> Any:
        derived.append(os.getpid())
        return doubled.derived()

    verify.run([replace(doubled, derive=derive), "worked-dot-products"], profile="quick", workers=2)
    assert derived == [os.getpid()]

    def fail() -> Any:
        return 1 / 0

    message = r"^claim doubled-keys: ZeroDivisionError: .*; correct the claim$"
    with pytest.raises(ClaimError, match=message):
        verify.run([replace(doubled, derive=fail)], profile="quick")


def test_an_id_that_a_claim_cannot_have(doubled: Claim) -> None:
    """A claim needs an id of its own, for it seeds the draws and names the record."""
    for change, message in (
        ({"id": ""}, "^Claim 'Doubling the keys .*': has no id; give it one, such as"),
        ({"id": "score-mean"}, "^Claim 'Doubling .*': claim id 'score-mean' is taken by verify"),
        ({"id": "run"}, "^Claim 'Doubling .*': claim id 'run' means something else"),
    ):
        with pytest.raises(ClaimError, match=message):
            verify.run([replace(doubled, **change)])  # type: ignore[arg-type]


def test_a_variant_of_a_shipped_claim_is_a_claim_of_its_own() -> None:
    """It takes another id, and is put among the user's own."""
    shipped = verify.list_claims()["score-mean"].claim
    (record,) = verify.run([replace(shipped, id="mine", title="Mine")], profile="quick").claims
    assert (record.id, record.chapter, record.title) == ("mine", "user", "Mine")


@pytest.mark.slow
def test_the_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the README shows is what the library does."""
    (example,) = [block for block in blocks("python") if "verify.run(" in block]
    program = tmp_path / "example.py"
    program.write_text(example.replace('profile="standard"', 'profile="quick"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program))
    assert "score-variance: confirmed (" in capsys.readouterr().out
    assert (tmp_path / "my-report" / "report.pdf").is_file()


def test_misuse_is_one_line() -> None:
    """Whatever is given in the place of something else, the error says what is wanted."""
    given: dict[str, Any] = {"claims": ["score-mean"], "profile": "quick"}
    for misuse, message in (
        ({"claims": "score-mean"}, r"claims 'score-mean': give a list, such as \['score-mean'\]"),
        ({"claims": ROOT / "mine.py"}, "give a list, such as"),
        ({"claims": [ROOT / "no.py"]}, r"no\.py: cannot be read"),
        ({"sources": "none.toml"}, r"none\.toml"),
        ({"profile": 3}, "no profile 3"),
    ):
        with pytest.raises(verify.VerifyError, match=message) as caught:
            verify.run(**(given | misuse))
        assert "\n" not in str(caught.value)
