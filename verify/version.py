"""The version of the tool."""

__version__ = "1.0.0"
