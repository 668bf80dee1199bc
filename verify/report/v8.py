"""MathJax in V8, as a program: it answers each formula on its input with a line of what it made of it.

V8 ends its whole process where memory is short, so it is a process of its own; nothing of this package is
loaded there. A line of input is a JSON list of LaTeX and whether it is displayed; a line of output is a list
of SVG and MathML, or of null and why there are none.
"""

import json
import os
import sys
from pathlib import Path

from py_mini_racer import MiniRacer

_SETTINGS = {
    "startup": {"adaptor": "liteAdaptor", "typeset": False},
    "loader": {"load": []},
    "tex": {"packages": ["base", "ams", "newcommand", "boldsymbol", "braket", "mathtools"]},
    "svg": {"fontCache": "local"},
}
_COMPONENTS = ("startup", "core", "adaptors/liteDOM", "input/tex-full", "output/svg", "output/svg/fonts/tex")


def main(folder: Path) -> None:
    """Answer lines until there are no more; ``folder`` holds the components of MathJax."""
    engine = MiniRacer()
    engine.eval(f"var MathJax = {json.dumps(_SETTINGS)};")
    for path in (*(folder / f"{name}.js" for name in _COMPONENTS), Path(__file__).with_suffix(".js")):
        engine.eval(path.read_text(encoding="utf-8"))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(engine.call("typeset", *json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    status = 1
    try:
        main(Path(sys.argv[1]))
        status = 0
    finally:
        # Taking V8 down may wait without end, for what is in its queue or for a thread that it lacks.
        os._exit(status)
