"""Sentences to vocabulary ids on disk, in bounded memory.

A corpus is read once, by `scan_file` or `scan_sentences` where the vocabulary is still to be
counted, by `encode_file` or `encode_sentences` where it is known. What comes out, an
`EncodedCorpus`, is a folder of int32 shards that is cut into `WorkUnit` slices for training.

Nothing here imports TensorFlow or gensim.
"""

from gensim_tfw2v.corpus.encode import encode_file, encode_sentences
from gensim_tfw2v.corpus.scan import Scan, scan_file, scan_sentences
from gensim_tfw2v.corpus.sentences import CorpusDecodeError
from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit

__all__ = [
    "CorpusDecodeError",
    "EncodedCorpus",
    "Scan",
    "WorkUnit",
    "encode_file",
    "encode_sentences",
    "scan_file",
    "scan_sentences",
]
