"""What today's models do to scores."""
