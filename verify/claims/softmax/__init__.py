"""Claims about the weights that the softmax makes of the scores."""
