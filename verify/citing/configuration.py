"""What a project sets once for all commands that quote: ``[tool.sdpa-verify]`` in its pyproject.toml."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from verify.errors import SettingsError, unknown, what_is_wrong
from verify.evidence import Record
from verify.files.reading import MEGABYTE, InputKind, read_text

_KIND = InputKind(MEGABYTE, SettingsError, "give TOML in UTF-8 of at most 1 MB")


class Configuration(Record):
    """A project's settings, all of them optional; paths are relative to its ``folder``.

    ``results`` is the results file that documents quote, ``documents`` are files, folders or patterns that
    ``check-docs`` checks, ``report`` is where the report is published, ``site`` where its site is,
    and ``authors`` are those of the project's own claims.
    """

    folder: Path = Path()
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
    place = next((place for place in (start, *start.parents) if (place / "pyproject.toml").is_file()), None)
    if place is None:
        return Configuration()
    # In messages, a file of the present folder has no path.
    place = Path() if place == start and folder is None else place
    path = place / "pyproject.toml"
    names = [name for name in Configuration.model_fields if name != "folder"]
    try:
        given = tomllib.loads(read_text(path, _KIND)).get("tool", {}).get("sdpa-verify", {})
        for name in given:
            if name not in names:
                what = unknown("setting", name, names, f"known are {', '.join(names)}")
                raise SettingsError(f"{path}: [tool.sdpa-verify] {what}")
        return Configuration.model_validate({"folder": place, **given})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML ({error}); correct the line") from error
    except (ValidationError, TypeError) as error:
        what = what_is_wrong(error)
        raise SettingsError(f"{path}: [tool.sdpa-verify] {what}; correct it") from error
