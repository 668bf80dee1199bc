"""Claims about the gradients that attention sends back."""
