"""The catalogue of claims: a file for each claim, in the folder of its chapter."""
