"""Processes and threads that work for this process."""
