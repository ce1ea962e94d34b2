"""Reading a model's corpus: once, to count its words and to train on it."""

import logging
import operator
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus.encode import Scan, encode_corpus, scan_corpus
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.text_files import Source, Text, bytes_of, cut_texts, find_texts, text_files
from gensim_tfw2v.monitor.progress import phase, progress_bar
from gensim_tfw2v.options.config import TrainingConfig

if TYPE_CHECKING:  # which only models of documents need
    from gensim_tfw2v.training.documents import KnownTags, Tags

logger = logging.getLogger(__name__)


#: Units of progress, with their places in what a `Progress` is told.
PLACES = {"words": 0, "sentences": 1, "B": 3}


def find_text(source: Any, config: TrainingConfig, tags: "Tags | None" = None) -> Text:
    """Look at a corpus, of documents with `tags`, and at the machines of a cluster that see it too.

    Raises
    ------
    OSError, ValueError
        As `find_texts`.
    MissingTasks
        As `find_readers`.
    """
    tagged = tags is not None
    if (paths := text_files(source, tagged)) is None:
        items = source if tags is None else tags.packed(source)
        number = operator.length_hint(source, 0)
        unit = "sentences" if number else "words"
        return Text(None, items, tagged, unit=unit, total=number or None)
    machines: Sequence[Any] = ()
    if isinstance(config.cluster, Cluster):
        from gensim_tfw2v.cluster.readers import find_readers

        with phase("waiting for workers that read the corpus", config.progress):
            machines = find_readers(config.cluster, paths, config.encoded_dir)
    texts = find_texts(paths)  # once machines have looked: texts may grow
    size = bytes_of(texts)
    unit = "B" if size else "words"
    return Text(cut_texts(texts), (), tagged, machines, unit, size or None)


class CorpusReader:
    """Reads corpora for a model, and keeps what it has counted for the training to come.

    Attributes
    ----------
    trains_at_once : bool
        Whether what is counted will be trained on at once, also sentences.
    """

    trains_at_once = False
    _scanned: "tuple[Scan, Tags | None, object] | None" = None  # and the identity of the source

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
        if tags is not None and text.runs is not None:
            tags.ints = scan.corpus_count
        # what an iterable gives later may be another corpus
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
        """Return the corpus in ids of the vocabulary, and in rows of the `tags` of documents."""
        if self._scanned is not None:
            scan, counted, identity = self._scanned
            self._scanned = None
            is_same = identity == _identity_of(source)
            with scan.temporary:  # the provisional ids are not needed any more
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
    """Read a corpus of which nothing is kept; `what` is said of it on the progress bar."""
    text = find_text(source, config, tags)
    rows = None if tags is None or text.runs is None else tags.rows(tags.vectors)
    with progress_bar(what, config.progress, unit=text.unit, total=text.total) as bar:

        def progress(*state: int) -> None:
            bar.update(state[PLACES[text.unit]] - bar.n)

        return encode_corpus(text, key_to_index, config.encoded_dir, progress, rows)


def _identity_of(source: Source) -> object:
    """Identity of a file, another one once it changes; of sentences, that of the object."""
    if not isinstance(source, Path):
        return id(source), source  # which is kept, so that no other object gets its id
    status = os.stat(source)
    identity = (os.path.realpath(source), status.st_dev, status.st_ino)
    if stat.S_ISREG(status.st_mode):  # a pipe's time is that of its last byte
        return (*identity, status.st_size, status.st_mtime_ns)
    return identity
