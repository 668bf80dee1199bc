"""Claims about the raw scores q·k."""
