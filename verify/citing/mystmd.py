"""A plugin for mystmd: ``{verify}`KEY``` shows a value linked to the report; an unknown key shows an error.

In ``myst.yml``, with the path of the command that is installed with this tool::

    project:
      plugins:
        - type: executable
          path: .venv/bin/sdpa-verify-myst

mystmd calls it without arguments for what it offers, and with ``--role verify`` for each role, whose text
it reads as JSON. Results and the report's address are those of ``[tool.sdpa-verify]`` in pyproject.toml, else
the last run's. A text of one's own, ``{verify}`1.001 <KEY>```, is compared with the value.
"""

import json
import sys
from typing import Any

from verify.citing.citations import link_to
from verify.citing.documents import configuration
from verify.citing.quotations import Quote, faults_of, split_role
from verify.citing.values import by_key
from verify.errors import CitationError, VerifyError
from verify.evidence.load import present

_ROLE = {
    "name": "verify",
    "doc": "A value of sdpa-verify, by its key.",
    "body": {"type": "string", "required": True},
}
_OFFERED = {"name": "sdpa-verify", "author": "The sdpa-verify authors", "license": "MIT", "roles": [_ROLE]}


def main() -> None:
    """Answer one call of mystmd: what the plugin offers, or the nodes that stand in the place of a role."""
    if "--role" not in sys.argv:
        json.dump(_OFFERED, sys.stdout)
        return
    body = ""
    try:
        body = str(json.load(sys.stdin).get("body", ""))
        settings, (text, key) = configuration(), split_role(body)
        known = by_key(present(settings.results))
        value = known[key]
        if faults := list(faults_of(known, Quote(key, 1, 0, 0, text))):
            raise CitationError("; ".join(f"{key}: {fault.what}" for fault in faults))
        nodes: list[dict[str, Any]] = [{"type": "text", "value": text or value.text}]
        if settings.report:
            address = link_to(settings.report, value.anchor, 0)
            nodes = [{"type": "link", "url": address, "title": value.key, "children": nodes}]
    except (VerifyError, ValueError) as error:
        # A status other than 0 would make mystmd drop the whole page; the error is what readers see.
        message = f"sdpa-verify: {error}"
        nodes = [
            {"type": "mystRoleError", "value": body, "message": message},
            {"type": "inlineCode", "value": message},
        ]
    json.dump(nodes, sys.stdout)
