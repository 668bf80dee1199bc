"""Programs that are recorded: they run as they would alone."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from verify.auditing.record import program, record
from verify.errors import RecordingError, SettingsError

SHOWS = """
import sys, neighbour
print(__name__, __file__, sys.argv, neighbour.VALUE, sys.modules["__main__"].VALUE if VALUE else None)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, a package and the script that imports the module."""
    (tmp_path / "neighbour.py").write_text("VALUE = 'next door'\n")
    (tmp_path / "script.py").write_text("VALUE = 3" + SHOWS)
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "__init__.py").write_text("")
    (tmp_path / "bundle" / "__main__.py").write_text("from . import part\nVALUE = part.VALUE" + SHOWS)
    (tmp_path / "bundle" / "part.py").write_text("VALUE = 4\n")
    monkeypatch.delitem(sys.modules, "neighbour", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(text: str, folder: Path) -> int:
    """Return the status of a program with this text."""
    (folder / "text.py").write_text(text)
    return program(str(folder / "text.py"), [])


def test_a_script(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its own arguments and imports its neighbours; afterwards ours are back."""
    monkeypatch.chdir("/")
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    name = str(folder / "script.py")
    assert program(name, ["--option", "x"]) == 0
    assert capsys.readouterr().out == f"__main__ {name} {[name, '--option', 'x']} next door 3\n"
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before


def test_a_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A package runs by its ``__main__``, with imports relative to it."""
    assert program("bundle", ["x"], is_module=True) == 0
    name = str(folder / "bundle" / "__main__.py")
    assert capsys.readouterr().out == f"__main__ {name} {[name, 'x']} next door 4\n"
    assert program("bundle.none", [], is_module=True) == 1
    assert "No module named bundle.none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "status", "shown"),
    [
        ("", 0, ""),
        ("import sys; sys.exit()", 0, ""),
        ("exit(3)", 3, ""),
        ("raise SystemExit(-1)", 255, ""),
        ("exit(True)", 1, ""),
        ("import sys; sys.exit('why not')", 1, "why not\n"),
        ("this is no Python", 1, "SyntaxError: invalid syntax\n"),
        ("def f():\n    1 // 0\nf()\n", 1, "ZeroDivisionError: integer division or modulo by zero\n"),
    ],
)
def test_its_end(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, status: int, shown: str
) -> None:
    """Status and last words are those that Python would end with, without frames of ours."""
    assert ran(text, folder) == status
    err = capsys.readouterr().err
    assert err.endswith(shown)
    assert bool(err) == bool(shown)
    assert "verify" not in err.replace(str(folder), "")


def test_signals(folder: Path) -> None:
    """An interruption passes, unless the program handles it; TERM ends it with the status of shells."""
    kill = "import os, signal\nos.kill(os.getpid(), signal.{})\n"
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert ran(kill.format("SIGTERM"), folder) == 128 + signal.SIGTERM
    with pytest.raises(KeyboardInterrupt):
        ran(kill.format("SIGINT"), folder)
    handled = "try:\n    import os, signal\n    os.kill(os.getpid(), signal.SIGINT)\n"
    assert ran(handled + "except KeyboardInterrupt:\n    pass\n", folder) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_what_is_no_script(tmp_path: Path) -> None:
    """It is refused before anything runs."""
    with pytest.raises(RecordingError, match=r"cannot be read \(Is a dir.*give a Python script, or -m"):
        program(str(tmp_path), [])


def test_what_cannot_be_recorded_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are whole numbers; without PyTorch it is said what to install, and nothing of it is imported."""
    for limit in ({"max_sequences": 0}, {"max_bytes": True}, {"max_sequences": "1"}):
        with pytest.raises(SettingsError) as caught, record(**limit):
            pass
        ((name, bad),) = limit.items()
        assert str(caught.value) == f"{name} {bad!r}: give a whole number of at least 1"
    monkeypatch.setattr(importlib.util, "find_spec", {"torch": None}.__getitem__)
    with pytest.raises(RecordingError) as error, record():
        pass
    assert str(error.value) == "record: needs PyTorch; install it with `pip install '.[torch]'` in the clone"


def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path) -> None:
    """An audit ends with one line where its libraries are missing."""
    program = "import sys; sys.modules['safetensors'] = None; from verify.__main__ import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "audit", "a.npz"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ended.returncode == 2
    assert " ".join(ended.stderr.split()) == (
        "sdpa-verify: auditing: needs safetensors, which is not installed; "
        "install it with `pip install '.[audit]'` in the clone"
    )
