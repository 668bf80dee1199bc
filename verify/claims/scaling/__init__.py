"""Claims about scaling the scores."""
