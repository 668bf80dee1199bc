"""Processes and threads that work for this one."""
