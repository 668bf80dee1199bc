"""The tool as other programs meet it: what a call leaves, its processes, the examples in its documents."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

_START = (
    # Where tests run in the background, a shell makes its children ignore Ctrl-C, and nohup a hang-up.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from verify.__main__ import main; main()"
)


class Ended(NamedTuple):
    """What a call of the tool leaves."""

    status: object
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong; all other lines on standard error are progress."""
        assert "Traceback" not in self.err
        complaints = [line for line in self.err.splitlines() if line.startswith("sdpa-verify: ")]
        assert len(complaints) == 1, self.err
        assert self.err.endswith(complaints[0] + "\n")
        return complaints[0].removeprefix("sdpa-verify: ")


Tool = Callable[..., Ended]
"""What calls the tool in this process, as the fixture ``tool`` does."""


def begin(
    *arguments: object, environment: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[str]:
    """Start the tool as a process of its own."""
    command = [sys.executable, "-c", _START, *map(str, arguments)]
    settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    path = os.pathsep.join(filter(None, [(environment or {}).get("PYTHONPATH"), str(ROOT)]))
    return subprocess.Popen(
        command, env={**os.environ, **(environment or {}), "PYTHONPATH": path}, encoding="utf-8", **settings
    )


def finish(process: subprocess.Popen[str], timeout: float = 300) -> Ended:
    """Wait for a process of the tool and return what it leaves."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Ended(process.returncode, out or "", err or "")


def alive(session: int) -> set[int]:
    """Return the processes of a session that are neither gone nor waiting for their parent to notice."""
    living = set()
    for pid in (path.name for path in Path("/proc").iterdir() if path.name.isdecimal()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name in brackets may hold spaces.
            state, _, _, its_session, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(its_session) == session and state != "Z":
                living.add(int(pid))
    return living


def page(name: str = "README.md") -> str:
    """Return the text of a document, by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(language: str, name: str = "README.md") -> list[str]:
    """Return a document's code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), flags=re.DOTALL | re.MULTILINE)


def examples() -> dict[str, str]:
    """Return the files that docs/extending.md shows, by the names in their first lines."""
    texts = blocks("python", "docs/extending.md")
    return {text.partition("\n")[0].removeprefix("# "): text for text in texts}


EXAMPLE = "doubled_keys.py"
"""The claim file from which a newcomer starts; its id follows from its name."""


def example_claim() -> str:
    """Return the text of that claim file."""
    return examples()[EXAMPLE]
