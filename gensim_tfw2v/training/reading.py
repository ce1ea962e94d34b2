"""Reading a model's corpus: once, to count its words and to train on it."""

import contextlib
import functools
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from gensim_tfw2v.cluster.readers import open_readers
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.cached import (
    CachedScan,
    Extent,
    Reading,
    Source,
    encode_source,
    reading_here,
)
from gensim_tfw2v.corpus.scan import Scan
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.monitor.progress import phase, reading_bar

logger = logging.getLogger(__name__)


class CorpusReader:
    """Reads corpora for a model, and keeps what it has read, encoded, for the training to come."""

    def __init__(self) -> None:
        self._cached: CachedScan | None = None
        self._once = False

    @contextlib.contextmanager
    def once(self) -> Iterator[None]:
        """Within it, what is counted will be trained on at once, also sentences."""
        self._once = True
        try:
            yield
        finally:
            self._once = False
            self.forget()

    def scan(self, source: Source, config: TrainingConfig) -> Scan:
        """Count the words of a corpus."""
        logger.info("collecting all words and their counts")
        with reading_bar("counting words", Extent.of(source), config.progress) as show:

            def progress(words: int, sentences: int, word_types: int, read: int) -> None:
                logger.info(
                    "PROGRESS: at sentence #%i, processed %i words, keeping %i word types",
                    sentences,
                    words,
                    word_types,
                )
                show(words, sentences, word_types, read)

            self._cached = CachedScan(source, config.encoded_dir, progress, _reading_of(config))
        scan = self._cached.scan
        if not isinstance(source, Path) and not self._once:
            self.forget()  # what an iterable gives later may be another corpus
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i sentences",
            len(scan.raw_vocab),
            scan.total_words,
            scan.corpus_count,
        )
        return scan

    def encoded(
        self, source: Source, key_to_index: Mapping[str, int], config: TrainingConfig
    ) -> tuple[EncodedCorpus, Workspace]:
        """The corpus in ids of the vocabulary, and the folder it is in."""
        cached, self._cached = self._cached, None
        if cached is not None:
            if cached.is_of(source):
                with phase("encoding the corpus", config.progress):
                    return cached.encode(key_to_index)
            cached.close()
        with reading_bar("reading the corpus", Extent.of(source), config.progress) as show:
            return encode_source(
                source, key_to_index, config.encoded_dir, _reading_of(config), show
            )

    def forget(self) -> None:
        """Remove what is kept."""
        if self._cached is not None:
            self._cached.close()
            self._cached = None


def _reading_of(config: TrainingConfig) -> Reading:
    """Who reads the files of a corpus: the hosts of a cluster too."""
    if isinstance(config.cluster, Cluster):
        return functools.partial(open_readers, config.cluster)
    return reading_here
