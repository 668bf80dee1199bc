"""Claims about what the softmax makes of the scores."""
