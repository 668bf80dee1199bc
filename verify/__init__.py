"""Statistical verification of what is said about scaled dot-product attention."""

__version__ = "0.1.0"
