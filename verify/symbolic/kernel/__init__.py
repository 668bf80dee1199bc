"""The kernel: alone makes theorems, by rules that are written down. Imports SymPy and nothing of ours."""
