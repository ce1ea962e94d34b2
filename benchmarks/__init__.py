"""Measurements beside gensim; ``python -m benchmarks.compare --help``."""
