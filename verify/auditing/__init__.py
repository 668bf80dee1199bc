"""Audits: a program's attention calls come in, judgements with their causes go out."""

from verify.errors import SettingsError

try:
    import ml_dtypes  # noqa: F401 - what reads files and arrays needs them, and all of an audit does so
    import safetensors  # noqa: F401
except ModuleNotFoundError as error:
    needed = f"auditing: needs {error.name}, which is not installed"
    raise SettingsError(f"{needed}; install it with `pip install '.[audit]'` in the clone") from error
