"""Encoding of sentences as vocabulary ids on disk, in bounded memory.

A user's object is first opened as a `Corpus`, by the first of the `KINDS` that accepts it. The
corpus is then read once: by `scan_corpus`, which counts its words, or by `encode_corpus`, which
needs a vocabulary. The result is an `EncodedCorpus`, a folder of int32 shards, which is cut into
`WorkUnit` slices for training.

No module here imports TensorFlow or gensim.
"""

from gensim_tfw2v.corpus.text_streams import CorpusDecodeError

__all__ = ["CorpusDecodeError"]
