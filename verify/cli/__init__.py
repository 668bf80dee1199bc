"""The command line: words come in; files, lines and an exit status go out."""
