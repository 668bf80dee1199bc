"""The catalogue of claims: one claim, one file, in the folder of its chapter."""
