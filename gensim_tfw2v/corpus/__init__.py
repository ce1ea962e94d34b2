"""Sentences to vocabulary ids on disk, in bounded memory.

A corpus is read once, by `scan_texts` or `scan_sentences`, which count its words or use a
vocabulary. What comes out in the end, an `EncodedCorpus`, is a folder of int32 shards that is cut
into `WorkUnit` slices for training.

Nothing here imports TensorFlow or gensim.
"""

from gensim_tfw2v.corpus.files import CorpusDecodeError

__all__ = ["CorpusDecodeError"]
