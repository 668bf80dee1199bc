"""The version of the tool."""

__version__ = "2.0.0"
