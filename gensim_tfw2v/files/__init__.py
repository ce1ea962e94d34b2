"""Atomic replacement of files and sets of files, memory-mapped files, and temporary folders."""
