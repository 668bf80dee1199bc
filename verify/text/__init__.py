"""What report, citations and command line print with: numbers, LaTeX and escapes."""
