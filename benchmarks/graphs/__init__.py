"""Comparison of node2vec tools: ``python -m benchmarks.graphs --graphs EDGES LABELS P Q``."""
