"""Comparison of gensim and this package on a grid of options."""
