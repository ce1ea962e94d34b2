"""word2vec tools side by side: ``python -m benchmarks.peers CORPUS --out FOLDER``."""
