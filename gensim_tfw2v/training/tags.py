"""Reading tagged documents for a model, and the keys of its document vectors."""

import logging
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedLineDocument
from gensim.models.word2vec import LineSentence

from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus import encode
from gensim_tfw2v.corpus.documents import INTEGERS, Tags
from gensim_tfw2v.corpus.encode import Scan
from gensim_tfw2v.corpus.files import Source, text_files
from gensim_tfw2v.corpus.shards import EncodedCorpus, Progress
from gensim_tfw2v.training.reading import CorpusReader, reading_of

logger = logging.getLogger(__name__)

#: More tags than these are kept as a range, if all are integers.
MOST_LISTED = 1 << 16


class DocumentReader(CorpusReader):
    """Reads tagged documents for a model, and keeps what it has counted for the training to come.

    Each line of a file is a document, also an empty one. Its tag is the number of the line, from 0
    up, in whatever file: training on a file that has grown trains the rows of its old lines too.

    Attributes
    ----------
    dv : KeyedVectors
        The vectors whose rows the tags of encoded documents are; set it before `encoded`.
    """

    dv = KeyedVectors(0)

    def _scan(
        self,
        source: Any,
        config: TrainingConfig,
        progress: Progress,
        key_to_index: Mapping[str, int] | None = None,
    ) -> Scan:
        paths = None
        if isinstance(source, Path):
            paths = text_files(source)
        elif type(source) is TaggedLineDocument:
            paths = text_files(LineSentence(source.source))
        folder, tags = config.encoded_dir, Tags()
        if paths is None:
            return encode.scan_sentences(source, folder, progress, tags, key_to_index)
        reading = reading_of(source, config)
        return encode.scan_texts(paths, folder, progress, reading, tags, key_to_index)

    def _log_collected(self, scan: Scan) -> None:
        logger.info(
            "collected %i word types and %i unique tags from a corpus of %i examples and %i words",
            len(scan.raw_vocab),
            scan.tags.ints + len(scan.tags.counted),
            scan.corpus_count,
            scan.total_words,
        )

    def _encode(self, scan: Scan, key_to_index: Mapping[str, int]) -> EncodedCorpus:
        return scan.encode(key_to_index, scan.tags.rows(self.dv))

    def _read(
        self,
        source: Source,
        key_to_index: Mapping[str, int],
        config: TrainingConfig,
        progress: Progress,
    ) -> EncodedCorpus:
        scan = self._scan(source, config, progress, key_to_index)
        with scan:
            return self._encode(scan, key_to_index)


def take_tags(vectors: KeyedVectors, tags: Tags, documents: int, update: bool = False) -> None:
    """Make the tags of counted documents the keys of vectors, which get no rows yet.

    Integer tags are their rows, from 0 to the highest; other tags follow, in order of first
    occurrence, with their ``word_count`` and ``doc_count``. That is as in gensim, except that more
    than 65,536 keys that are all integers are a ``range`` in place of a list.

    Parameters
    ----------
    vectors : KeyedVectors
        A model's `dv`. Its `resize_vectors`, seeded, then makes the new rows.
    tags : Tags
    documents : int
        How many documents were counted: gensim's `corpus_count`.
    update : bool
        Keep the keys, and their rows; add new ones behind them, and counts to theirs. Integers
        that come behind other tags are keys like these, ``key_to_index`` gives their rows.
    """
    if len(tags.counted) > documents:
        logger.warning("More unique tags (%i) than documents (%i).", len(tags.counted), documents)
    if tags.ints - 1 > documents:
        excess = tags.ints - 1 - documents
        logger.warning(
            "Highest int doctag (%i) larger than count of documents (%i). This means "
            "at least %i excess, unused slots (%i bytes) will be allocated for vectors.",
            tags.ints - 1,
            documents,
            excess,
            excess * vectors.vector_size * np.dtype(np.float32).itemsize,
        )
    if not update:
        vectors.index_to_key, vectors.key_to_index, vectors.expandos = [], {}, {}
    keys, own = vectors.index_to_key, vectors.key_to_index
    plain = len(keys) - len(own)  # integers that are their rows
    ints = range(
        max([plain - 1, *(key for key in own if isinstance(key, INTEGERS))]) + 1, tags.ints
    )
    others = [tag for tag in tags.counted if tag not in own]
    if own:
        own.update(zip(ints, count(len(keys)), strict=False))
    own.update(zip(others, count(len(keys) + len(ints)), strict=False))
    total = len(keys) + len(ints) + len(others)
    is_range = not own and total > MOST_LISTED
    vectors.index_to_key = range(total) if is_range else [*keys, *ints, *others]
    if tags.counted:
        rows = [own[tag] for tag in tags.counted]
        for column, name in enumerate(("word_count", "doc_count")):
            vectors.allocate_vecattrs([name], [int])
            vectors.expandos[name][rows] += [counts[column] for counts in tags.counted.values()]
