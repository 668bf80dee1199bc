"""Recording the attention calls of PyTorch programs as they run, unchanged."""
