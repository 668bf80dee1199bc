"""What a project sets once for all commands that quote: ``[tool.sdpa-verify]`` in its pyproject.toml."""

import difflib
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from verify.errors import SettingsError
from verify.files.reading import MEGABYTE, InputKind, read_text

_FILE, _TABLE = "pyproject.toml", "[tool.sdpa-verify]"
_KIND = InputKind(MEGABYTE, SettingsError, "give TOML in UTF-8 of at most 1 MB")


@dataclass(frozen=True)
class Configuration:
    """A project's settings, all of them optional; paths are relative to its ``folder``.

    ``results`` is the results file that documents quote, ``documents`` are files, folders or patterns that
    ``check-docs`` checks, ``report`` is where the report is published, ``site`` where its site is,
    and ``authors`` are those of the project's own claims.
    """

    folder: Path = field(default_factory=Path)
    results: str = ""
    documents: tuple[str, ...] = ()
    report: str = ""
    site: str = ""
    authors: tuple[str, ...] = ()

    @property
    def results_file(self) -> Path | None:
        """The results file, None if none is set."""
        return self.folder / self.results if self.results else None


def configuration(folder: Path | None = None) -> Configuration:
    """Return the settings of the project that a folder, by default the present one, is in.

    Raises:
        SettingsError: its pyproject.toml is malformed, or has settings that are none of ours.
    """
    start = (folder or Path()).absolute()
    place = next((place for place in (start, *start.parents) if (place / _FILE).is_file()), None)
    if place is None:
        return Configuration()
    # In messages, a file of the present folder has no path.
    place = Path() if place == start and folder is None else place
    path = place / _FILE
    try:
        given = tomllib.loads(read_text(path, _KIND)).get("tool", {}).get("sdpa-verify", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML ({error}); correct the line") from error
    if not isinstance(given, dict):
        raise SettingsError(f"{path}: tool.sdpa-verify is not a table; write {_TABLE}")
    defaults = {setting.name: setting.default for setting in fields(Configuration)[1:]}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(defaults)}"
            raise SettingsError(f"{path}: {_TABLE} has {name!r}, which is no setting; {hint}")
        is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not (is_texts if defaults[name] == () else isinstance(value, str)):
            wanted = "a list of texts" if defaults[name] == () else "a text"
            raise SettingsError(f"{path}: {_TABLE} {name} is {value!r}; give {wanted}")
        settings[name] = tuple(value) if is_texts else value
    return Configuration(folder=place, **settings)
