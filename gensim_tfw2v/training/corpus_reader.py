"""Reading a model's corpus: once, to count its words and to train on it."""

import contextlib
import functools
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus import encode
from gensim_tfw2v.corpus.encode import Reading, Scan
from gensim_tfw2v.corpus.files import Extent, Source, is_pipe, text_files
from gensim_tfw2v.corpus.shards import EncodedCorpus, Progress
from gensim_tfw2v.monitor.progress import phase, reading_bar
from gensim_tfw2v.options.config import TrainingConfig

logger = logging.getLogger(__name__)


class CorpusReader:
    """Reads corpora for a model, and keeps what it has counted for the training to come."""

    item = "sentence"

    def __init__(self) -> None:
        self._scanned: tuple[Scan, object] | None = None  # and the identity of what was counted
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
                    "PROGRESS: at %s #%i, processed %i words, keeping %i word types",
                    self.item,
                    sentences,
                    words,
                    word_types,
                )
                show(words, sentences, word_types, read)

            identity = _identity_of(source)  # before it is read
            scan = self._scan(source, config, progress)
        # what an iterable gives later may be another corpus
        if isinstance(source, Path) or self._once:
            self._scanned = scan, identity
        else:
            scan.close()
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i %ss",
            len(scan.raw_vocab),
            scan.total_words,
            scan.corpus_count,
            self.item,
        )
        return scan

    def _scan(
        self,
        source: Source,
        config: TrainingConfig,
        progress: Progress,
        known: Mapping[str, int] | None = None,
    ) -> Scan:
        folder = config.encoded_dir
        if (paths := text_files(source)) is None:
            assert not isinstance(source, Path)
            return encode.scan_sentences(source, folder, progress, key_to_index=known)
        reading = reading_of(source, config)
        return encode.scan_texts(paths, folder, progress, reading, key_to_index=known)

    def encoded(
        self, source: Source, key_to_index: Mapping[str, int], config: TrainingConfig
    ) -> EncodedCorpus:
        """The corpus in ids of the vocabulary."""
        scanned = self._scanned
        self._scanned = None
        if scanned is not None:
            scan, identity = scanned
            with scan:  # the provisional ids are not needed any more
                if identity == _identity_of(source):
                    with phase("encoding the corpus", config.progress):
                        return self._encode(scan, key_to_index)
        return self.read("reading the corpus", source, key_to_index, config)

    def _encode(self, scan: Scan, key_to_index: Mapping[str, int]) -> EncodedCorpus:
        return scan.encode(key_to_index)

    def read(
        self, what: str, source: Source, key_to_index: Mapping[str, int], config: TrainingConfig
    ) -> EncodedCorpus:
        """Read a corpus of which nothing is kept; `what` is said of it on the progress bar."""
        with reading_bar(what, Extent.of(source), config.progress) as show:
            scan = self._scan(source, config, show, key_to_index)
        return self._encode(scan, key_to_index)

    def forget(self) -> None:
        """Remove what is kept."""
        if self._scanned is not None:
            self._scanned[0].close()
            self._scanned = None


def _identity_of(source: Source) -> object:
    """Identity of a file, another one once it changes; of sentences, that of the object."""
    if not isinstance(source, Path):
        return id(source), source  # which is kept, so that no other object gets its id
    status = os.stat(source)
    if not stat.S_ISREG(status.st_mode):  # a pipe's time is that of its last byte
        return (os.path.realpath(source), status.st_dev, status.st_ino)
    return (os.path.realpath(source), status.st_size, status.st_mtime_ns)


def reading_of(source: Source, config: TrainingConfig) -> Reading | None:
    """Who reads files: the hosts of a cluster too, but not a pipe, which is read where it ends."""
    is_here = isinstance(source, Path) and is_pipe(source)
    if isinstance(config.cluster, Cluster) and not is_here:
        from gensim_tfw2v.cluster.readers import find_readers

        return functools.partial(find_readers, config.cluster)
    return None
