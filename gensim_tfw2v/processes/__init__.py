"""Processes of this package: start, fork, end, threads and connections."""
