"""What report, citations and command line print with: numbers, LaTeX, speech, and escapes."""
