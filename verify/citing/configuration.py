"""What a project sets once for all commands that quote: ``[tool.sdpa-verify]`` in its pyproject.toml."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from verify.errors import SettingsError, what_is_wrong
from verify.evidence import Record
from verify.files.reading import MEGABYTE, InputKind, read_text

_KIND = InputKind(MEGABYTE, SettingsError, "give TOML in UTF-8 of at most 1 MB")


class Configuration(Record):
    """A project's settings, all of them optional; paths are relative to its folder.

    ``results`` is the results file that documents quote, ``documents`` are files, folders or patterns that
    ``check-docs`` checks, ``report`` is where the report is published, and ``site`` where its site is.
    """

    results: Path | None = None
    documents: tuple[Path, ...] = ()
    report: str = ""
    site: str = ""


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
    try:
        given = tomllib.loads(read_text(path, _KIND)).get("tool", {}).get("sdpa-verify", {})
        settings = Configuration.model_validate(given)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML ({error}); correct the line") from error
    except ValidationError as error:
        raise SettingsError(f"{path}: [tool.sdpa-verify] {what_is_wrong(error)}; correct it") from error
    results = place / settings.results if settings.results else None
    documents = tuple(place / document for document in settings.documents)
    return settings.model_copy(update={"results": results, "documents": documents})
