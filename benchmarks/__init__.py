"""Benchmarks of this package, most of them against gensim; start with `benchmarks.compare`."""
