"""Reading of a model's corpus: once, both to count its words and to train on it."""

import logging
import operator
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus.encode import Scan, encode_corpus, scan_corpus
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.integer_arrays import open_arrays
from gensim_tfw2v.corpus.scanner import release_memory
from gensim_tfw2v.corpus.text_files import Source, Text, bytes_of, cut_texts, text_files, whole_file
from gensim_tfw2v.monitor.progress import phase, progress_bar
from gensim_tfw2v.options.config import TrainingConfig

if TYPE_CHECKING:  # only models of documents need these
    from gensim_tfw2v.training.documents import KnownTags, Tags

logger = logging.getLogger(__name__)


#: Unit of a progress bar, and the index of its count in the arguments of a `Progress` callback.
PLACES = {"words": 0, "sentences": 1, "B": 3}


def find_text(source: Any, config: TrainingConfig, tags: "Tags | None" = None) -> Text:
    """Find the files or sentences of a corpus, and the cluster's machines that can read its files.

    With `tags`, the corpus consists of documents.

    Raises
    ------
    OSError, ValueError
        See `whole_file`.
    MissingTasks
        See `find_readers`.
    """
    tagged = tags is not None
    is_table = type(source).__module__ == "gensim_tfw2v.corpus.table_files"  # no subclass of these
    if is_table and (ranges := source.ranges) is not None:
        return Text(cut_texts(ranges), (), tagged)
    if (paths := text_files(source, tagged)) is None:
        items = open_arrays(source) if tags is None else tags.encoded(source)
        number = _length(items if tags is None else source)
        unit = "sentences" if number else "words"
        return Text(None, items, tagged, unit=unit, total=number or None)
    machines: Sequence[Any] = ()
    if isinstance(config.cluster, Cluster):
        from gensim_tfw2v.cluster.readers import find_readers

        with phase("waiting for workers that read the corpus", config.progress):
            machines = find_readers(config.cluster, paths, config.encoded_dir)
    texts = list(map(whole_file, paths))  # after the wait, in which files may grow
    size = bytes_of(texts)
    unit = "B" if size else "words"
    return Text(cut_texts(texts), (), tagged, machines, unit, size or None)


class CorpusReader:
    """Reader of a model's corpora, which keeps the result of counting for the next training.

    Attributes
    ----------
    trains_at_once : bool
        Whether training on the counted corpus follows immediately. Only then is the result for an
        iterable kept, because it may later yield different sentences.
    """

    trains_at_once = False
    _scanned: "tuple[Scan, Tags | None, object] | None" = None  # with the source's identity

    def scan(self, source: Source, config: TrainingConfig, tags: "Tags | None" = None) -> Scan:
        """Count the words of a corpus, and the `tags` of documents."""
        self._scanned = None
        logger.info("collecting all words and their counts")
        item = "sentence" if tags is None else "document"
        identity = _identity_of(source)  # before it is read
        text = find_text(source, config, tags)
        with progress_bar(
            "counting words", config.progress, unit=text.unit, total=text.total
        ) as bar:

            def progress(*state: int) -> None:
                logger.info(
                    "PROGRESS: at %s #%i, processed %i words, keeping %i word types",
                    item,
                    state[1],
                    state[0],
                    state[2],
                )
                bar.update(state[PLACES[text.unit]] - bar.n)

            scan = scan_corpus(text, config.encoded_dir, progress)
        release_memory()
        if tags is not None and text.runs is not None:
            tags.ints = scan.corpus_count
        # an iterable may later yield a different corpus
        if isinstance(source, Path) or self.trains_at_once:
            self._scanned = scan, tags, identity
        else:
            scan.close()
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i %ss",
            len(scan.raw_vocab),
            scan.total_words,
            scan.corpus_count,
            item,
        )
        return scan

    def encoded(
        self,
        source: Source,
        key_to_index: Mapping[str, int],
        config: TrainingConfig,
        tags: "KnownTags | None" = None,
    ) -> EncodedCorpus:
        """Return the corpus: words as ids of the vocabulary, and tags as rows of `tags`."""
        if self._scanned is not None:
            scan, counted, identity = self._scanned
            self._scanned = None
            is_same = identity == _identity_of(source)
            with closing(scan.temporary):  # provisional ids, which are then removed
                if is_same:
                    rows = None if counted is None or tags is None else counted.rows(tags.vectors)
                    with phase("encoding the corpus", config.progress):
                        return scan.encode(key_to_index, rows)
        return read_corpus("reading the corpus", source, key_to_index, config, tags)


def read_corpus(
    what: str,
    source: Source,
    key_to_index: Mapping[str, int],
    config: TrainingConfig,
    tags: "KnownTags | None" = None,
) -> EncodedCorpus:
    """Read and encode a corpus that has not been counted; `what` labels the progress bar."""
    text = find_text(source, config, tags)
    rows = None if tags is None or text.runs is None else tags.rows(tags.vectors)
    with progress_bar(what, config.progress, unit=text.unit, total=text.total) as bar:

        def progress(*state: int) -> None:
            bar.update(state[PLACES[text.unit]] - bar.n)

        return encode_corpus(text, key_to_index, config.encoded_dir, progress, rows)


def _identity_of(source: Source) -> object:
    """Return an identity of a file, which changes with its content, or of an iterable object."""
    if not isinstance(source, Path):
        return id(source), source  # keeping the object keeps its id from being reused
    status = os.stat(source)
    identity = (os.path.realpath(source), status.st_dev, status.st_ino)
    if stat.S_ISREG(status.st_mode):  # a pipe's time changes with each byte
        return (*identity, status.st_size, status.st_mtime_ns)
    return identity


def _length(source: Any) -> int:
    """Return the number of sentences for the progress bar; 0 if it is unknown.

    gensim never asks for the length of a corpus, so an error of its `__len__` must not end a
    training.
    """
    try:
        return operator.length_hint(source, 0)
    except Exception:
        return 0
