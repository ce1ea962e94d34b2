"""Benchmark of third-party programs with `TFWord2Vec` in place of gensim's class."""
