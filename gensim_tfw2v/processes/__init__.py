"""Processes of this package: how they start, fork, end, and what they leave behind."""
