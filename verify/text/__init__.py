"""Print: numbers, LaTeX and untrusted text come in, what readers see goes out."""
