"""Sentences to vocabulary ids on disk, in bounded memory.

A corpus is found as a `Text`. It is read once: by `scan_corpus`, which counts its words, or by
`encode_corpus`, which has a vocabulary. What comes out in the end, an `EncodedCorpus`, is a folder
of int32 shards that is cut into `WorkUnit` slices for training.

Nothing here imports TensorFlow or gensim.
"""

from gensim_tfw2v.corpus.text_files import CorpusDecodeError

__all__ = ["CorpusDecodeError"]
