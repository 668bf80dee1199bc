"""Files: paths come in, bytes go out or the other way round, whole or not at all."""
