"""Tests of the authors' language."""
