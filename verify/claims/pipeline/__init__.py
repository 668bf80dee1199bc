"""Claims about attention as a whole: shapes, definition, and what the scores depend on."""
