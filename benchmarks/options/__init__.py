"""A grid of options: cells are trained by gensim and by this package, and compared."""
