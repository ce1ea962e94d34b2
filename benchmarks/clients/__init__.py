"""Other people's programs with `TFWord2Vec` in the place of gensim's class."""
