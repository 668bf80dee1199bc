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

_COMPONENTS = ("startup", "core", "adaptors/liteDOM", "input/tex-full", "output/svg", "output/svg/fonts/tex")
_PACKAGES = ("base", "ams", "newcommand", "boldsymbol", "braket", "mathtools")
_BEFORE = f"""
var MathJax = {{
  startup: {{adaptor: 'liteAdaptor', typeset: false}},
  loader: {{load: []}},
  tex: {{packages: {json.dumps(_PACKAGES)}}},
  svg: {{fontCache: 'local'}},
}};
"""
_AFTER = """
MathJax.config.startup.adaptor = 'liteAdaptor';
MathJax.startup.getComponents();
MathJax.startup.makeMethods();
function typeset(latex, display) {
  const {document: page, adaptor, toMML} = MathJax.startup;
  const item = new page.options.MathItem(latex, page.inputJax[0], display);
  item.start.node = adaptor.body;
  item.setMetrics(16, 8, 80 * 16, 1e7, 1);
  try {
    item.convert(page, MathJax._.core.MathItem.STATE.CONVERT);
    const spelled = toMML(item.root);
    item.typeset(page);
    return [adaptor.innerHTML(item.typesetRoot), spelled];
  } catch (error) {
    return [null, String(error)];
  }
}
"""


def main(folder: Path) -> None:
    """Answer lines until there are no more; ``folder`` holds the components of MathJax."""
    engine = MiniRacer()
    engine.eval(_BEFORE)
    for name in _COMPONENTS:
        engine.eval((folder / f"{name}.js").read_text(encoding="utf-8"))
    engine.eval(_AFTER)
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
