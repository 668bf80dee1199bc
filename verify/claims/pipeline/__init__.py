"""Claims about attention as a whole: shapes, definition, and the inputs of the scores."""
