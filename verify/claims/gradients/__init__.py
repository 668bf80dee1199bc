"""Claims about the gradients that pass through softmax and attention."""
