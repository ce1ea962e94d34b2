"""Comparison of word2vec tools: ``python -m benchmarks.peers CORPUS --out FOLDER``."""
