"""Claims about changes that today's models make to scores."""
