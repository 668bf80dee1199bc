"""Keys: what a stored value depends on changes its key, and what cannot be known is not stored."""

import pickle
import platform
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.tool import example_claim
from verify.engine import keys
from verify.engine.catalogue import BuiltIn, ClaimFile, ClaimReference, InMemoryClaim, catalogue
from verify.engine.keys import arithmetic, cell_code, chunk_key, code, derivation_key, made_by, settled_key
from verify.engine.runner import settings
from verify.engine.sources import Wanted


def file(text: str) -> ClaimFile:
    """Return a claim file of this text."""
    return ClaimFile(
        path=Path("mine.py"), text=text.encode(), id="mine", title="t", statement="s", meaning="m"
    )


def chapter_of(name: str) -> BuiltIn:
    """Return a claim that comes with the tool by its id."""
    return BuiltIn(catalogue()[name].chapter, name)


def test_every_part_of_a_chunk_is_in_its_key() -> None:
    """Another cell, seed, claim, name, beginning or end is another key; the same are the same."""
    whole = ("code", 1, "claim", "cell", 0, 64)
    others = [("other", 2, "other", "other", 64, 63)[place] for place in range(6)]
    changed = [(*whole[:place], others[place], *whole[place + 1 :]) for place in range(6)]
    found = {chunk_key(*one) for one in (whole, *changed)}  # type: ignore[arg-type]
    assert len(found) == 7
    assert chunk_key(*whole) in found


def test_a_derivation_depends_on_its_claim_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a file, or of a claim that comes with the tool; the symbolic part; the libraries."""
    one, two = chapter_of("score-variance"), chapter_of("score-mean")
    assert derivation_key(one) == derivation_key(replace(one))
    assert derivation_key(one) != derivation_key(two)
    text = example_claim()
    assert derivation_key(file(text)) != derivation_key(file(text + "\n"))
    before = derivation_key(one), derivation_key(file(text))
    monkeypatch.setattr(keys, "made_by", lambda: {**made_by(), "sympy": "0"})
    assert before[0] != derivation_key(one)
    monkeypatch.undo()
    for part in ("symbolic", "montecarlo", "spec", "evidence", "text", "errors.py"):
        monkeypatch.setattr(
            keys, "code", lambda *parts, part=part: "changed" if part in parts else code(*parts)
        )
        assert before[0] != derivation_key(one)
        assert before[1] != derivation_key(file(text))


def test_a_settled_claim_depends_on_its_settings_and_evidence() -> None:
    """Another seed, tolerance or rate, another claim, or other evidence wanted, is another record."""
    usual = settings(profile="quick")
    claims: list[ClaimReference] = [
        chapter_of("score-variance"),
        chapter_of("score-mean"),
        file(example_claim()),
    ]
    found = [settled_key(claim, usual, ()) for claim in claims]
    found += [
        settled_key(claims[0], other, ())
        for other in (settings(seed=1, profile="quick"), settings(tolerance=0.02), settings(power=0.9))
    ]
    found.append(settled_key(claims[0], usual, (Wanted("check:slope", "here"),)))
    assert len(set(found)) == 7
    assert None not in found
    assert settled_key(InMemoryClaim(catalogue()["score-mean"]), usual, ()) is None


@pytest.mark.parametrize(
    "line",
    [
        *("import mine", "from . import mine", "from mine.other import x", "import math, mine"),
        *("import os", "from importlib import import_module", "from pathlib import Path", "import random"),
        *("import verify", "from verify import api", "from verify.auditing import candidates"),
        *("import verify.claims.raw_scores.score_mean", "from verify.evidence.load import load"),
        *("x = open('table')", "import numpy\nx = numpy.loadtxt('table')", "from numpy import load as x"),
        *("exec('import mine')", "x = __import__('mine')", "x = __file__", "x ="),
    ],
)
def test_a_file_that_depends_on_others_is_not_stored(line: str) -> None:
    """Modules of the user's own, tables, the environment, parts of this tool that no claim is made of."""
    assert derivation_key(file(f"{example_claim()}\n{line}\n")) is None
    assert settled_key(file(f"{example_claim()}\n{line}\n"), settings(), ()) is None


@pytest.mark.parametrize(
    "line", ["import math", "from verify import spec", "import numpy as np", "import scipy.special, re"]
)
def test_a_file_that_depends_on_the_tool_and_its_libraries_is_stored(line: str) -> None:
    """Their versions are in its key, and so is this tool's code."""
    assert derivation_key(file(f"{example_claim()}\n{line}\n")) is not None


def test_a_claim_made_in_this_process_is_not_stored() -> None:
    """It may hold anything."""
    made = InMemoryClaim(catalogue()["score-variance"])
    assert derivation_key(made) is None
    assert cell_code(made, b"x", ("__main__",)) == ""
    assert cell_code(made, b"x", ("verify.claims.raw_scores.score_mean",)) == ""


def test_a_cell_depends_on_the_code_that_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn by this tool depends on its drawing code alone; a claim's own, on the claim as well."""
    claim = chapter_of("score-variance")
    own = f"verify.claims.{claim.chapter}.score_variance"
    drawing, mine = ("verify.montecarlo.inputs", "builtins", "fractions"), (own,)
    before = cell_code(claim, b"x", drawing), cell_code(claim, b"x", mine)
    assert "" not in before
    assert len({*before, cell_code(claim, b"y", drawing)}) == 3
    monkeypatch.setattr(keys, "_source", lambda _: "edited")
    assert cell_code(claim, b"x", drawing) == before[0]
    assert cell_code(claim, b"x", mine) != before[1]
    assert cell_code(claim, b"x", ("torch",)) == cell_code(claim, b"", drawing) == ""


def test_the_cells_of_the_catalogue_have_lasting_keys() -> None:
    """A cell made again is the same pickle, and what it refers to is known."""
    from verify.engine.evaluate import _to_draw  # noqa: PLC0415
    from verify.montecarlo.blocks import Request  # noqa: PLC0415
    from verify.montecarlo.experiment import cells_of, every_comparison  # noqa: PLC0415

    claim = catalogue()["over-scaling"]
    first, again = (cells_of(every_comparison(claim.experiment(claim.derive(), 0.05))) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        asked, again_asked = (_to_draw(Request(cell, 9)) for cell in (one, other))
        assert asked == again_asked
        assert pickle.loads(asked.pickled) == one  # noqa: S301 - made here
        assert cell_code(chapter_of("over-scaling"), asked.pickled, asked.modules)
    local = type("Local", (type(first[0].sampler),), {})
    unsent = _to_draw(Request(replace(first[0], sampler=local(**vars(first[0].sampler))), 9))
    assert (unsent.pickled, unsent.modules) == (b"", ())


def test_the_code_of_a_part_is_that_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed byte, one more file or another name makes another digest."""
    monkeypatch.setattr(keys, "PACKAGE", tmp_path)
    (tmp_path / "part").mkdir()
    seen = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "1"), ("sub.txt", "")):
        (tmp_path / "part" / name).write_text(text)
        code.cache_clear()
        seen.add(code("part"))
    code.cache_clear()
    assert len(seen) == 3


def test_what_computes_is_in_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another C library, whose logarithms are drawn with, or asserts that -O leaves out, as another NumPy."""
    one, usual = chapter_of("score-variance"), settings()

    def found() -> tuple[object, ...]:
        return derivation_key(one), settled_key(one, usual, ()), cell_code(one, b"x", ())

    before, here = found(), arithmetic()
    monkeypatch.setattr(sys, "flags", SimpleNamespace(optimize=here["level of -O"] + "1"))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("musl", "1.2"))
    there = arithmetic.__wrapped__()
    changed = {name for name in here if here[name] != there[name]}
    assert changed == {"level of -O", "C library"}
    for name in (*changed, "numpy"):
        monkeypatch.setattr(keys, "arithmetic", lambda name=name: {**here, name: "other"})
        assert not set(before) & set(found())


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_a_change_of_the_code_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Other files play no part."""
    monkeypatch.setattr(keys, "PACKAGE", tmp_path)
    (tmp_path / "sub").mkdir()
    module = tmp_path / "sub" / "module.py"
    module.write_text("x = 1")
    monkeypatch.setattr(keys, "_LOADED", keys._state())
    (tmp_path / "notes.txt").write_text("x")
    assert keys.is_as_loaded()
    if change == "edit":
        module.write_text("x = 10")
    elif change == "add":
        (tmp_path / "other.py").write_text("")
    else:
        module.unlink()
    assert not keys.is_as_loaded()


def test_this_process_has_loaded_the_code_that_is_there() -> None:
    """It is not edited while tests run."""
    assert keys.is_as_loaded()
