"""The authors' language, at its door."""
