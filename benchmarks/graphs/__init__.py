"""Comparison of node2vec tools: ``python -m benchmarks.graphs --graph EDGES LABELS P Q``."""
