"""Reading of a model's corpus, once for both counting its words and training on it."""

import logging
import os
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus.corpus_kinds import KINDS
from gensim_tfw2v.corpus.encode import Scan, encode_corpus, scan_corpus
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.protocol import Corpus
from gensim_tfw2v.corpus.scanner import release_memory
from gensim_tfw2v.corpus.sentence_corpus import SentenceCorpus
from gensim_tfw2v.corpus.text_corpus import Source, open_paths, text_paths
from gensim_tfw2v.monitor.progress import phase, progress_bar
from gensim_tfw2v.options.config import TrainingConfig

if TYPE_CHECKING:  # only models of documents import training.documents
    from gensim_tfw2v.training.documents import KnownTags, Tags

logger = logging.getLogger(__name__)


#: For each unit of progress, the index of its count among the arguments of a `Progress` callback.
PROGRESS_INDEX = {"words": 0, "sentences": 1, "walks": 1, "B": 3}


def find_corpus(source: Any, config: TrainingConfig, tags: "Tags | None" = None) -> Corpus:
    """Open a corpus, and find the cluster's machines that can read its files.

    With `tags`, the corpus consists of documents.

    Raises
    ------
    OSError, ValueError
        If a file is missing or not a text, or arrays have a wrong shape.
    MissingTasks
        See `find_readers`.
    """
    tagged = tags is not None
    if isinstance(config.cluster, Cluster) and (paths := text_paths(source, tagged)):
        from gensim_tfw2v.cluster.readers import find_readers

        with phase("waiting for workers that read the corpus", config.progress):
            remote_readers = find_readers(config.cluster, paths, config.encoded_dir)
        # after the wait, in which the files may grow
        return open_paths(paths, tagged, remote_readers)
    for kind in KINDS:
        corpus = kind.opener(source, tagged)
        if corpus is not None:
            break
    assert corpus is not None  # the last kind opens any iterable
    if isinstance(corpus, SentenceCorpus) and tags is not None:
        corpus.sentences = tags.encode_documents(corpus.sentences)
    return corpus


class CorpusReader:
    """Reader of a model's corpora, which keeps the result of counting for the next training run.

    Attributes
    ----------
    keeps_scan : bool
        Whether the result for an iterable is kept, too. It is if training on the counted corpus
        follows immediately; later, the iterable may yield different sentences.
    """

    keeps_scan = False
    #: Last scan, with the tags of its documents and the identity of its source.
    _kept_scan: "tuple[Scan, Tags | None, object] | None" = None

    def scan(self, source: Source, config: TrainingConfig, tags: "Tags | None" = None) -> Scan:
        """Count the words of a corpus, and the `tags` of documents."""
        self._kept_scan = None
        logger.info("collecting all words and their counts")
        item = "sentence" if tags is None else "document"
        identity = _identity_of(source)  # before reading: a change during it is then noticed
        corpus = find_corpus(source, config, tags)
        label = "counting nodes" if corpus.unit == "walks" else "counting words"
        with progress_bar(label, config.progress, unit=corpus.unit, total=corpus.total) as bar:

            def progress(*state: int) -> None:
                n_words, n_sentences, n_word_types, _ = state
                logger.info(
                    "PROGRESS: at %s #%i, processed %i words, keeping %i word types",
                    item,
                    n_sentences,
                    n_words,
                    n_word_types,
                )
                bar.update(state[PROGRESS_INDEX[corpus.unit]] - bar.n)

            scan = scan_corpus(corpus, config.encoded_dir, progress)
        release_memory()
        if tags is not None and corpus.has_line_tags:
            tags.n_integers = scan.corpus_count
        # an iterable may later yield a different corpus: keep its scan only if training follows now
        if isinstance(source, Path) or self.keeps_scan:
            self._kept_scan = scan, tags, identity
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

    def encode(
        self,
        source: Source,
        key_to_index: Mapping[str, int],
        config: TrainingConfig,
        tags: "KnownTags | None" = None,
    ) -> EncodedCorpus:
        """Return the corpus: words as ids of the vocabulary, and tags as rows of `tags`."""
        if self._kept_scan is not None:
            scan, scanned_tags, identity = self._kept_scan
            self._kept_scan = None
            is_same = identity == _identity_of(source)
            with closing(scan.temporary):  # removes the provisional ids
                if is_same:
                    rows = None
                    if scanned_tags is not None and tags is not None:
                        rows = scanned_tags.rows(tags.vectors)
                    with phase("encoding the corpus", config.progress):
                        return scan.encode(key_to_index, rows)
        return read_corpus("reading the corpus", source, key_to_index, config, tags)


def read_corpus(
    label: str,
    source: Source,
    key_to_index: Mapping[str, int],
    config: TrainingConfig,
    tags: "KnownTags | None" = None,
) -> EncodedCorpus:
    """Read and encode a corpus without counting its words; the progress bar shows `label`."""
    corpus = find_corpus(source, config, tags)
    rows = tags.rows(tags.vectors) if tags is not None and corpus.has_line_tags else None
    with progress_bar(label, config.progress, unit=corpus.unit, total=corpus.total) as bar:

        def progress(*state: int) -> None:
            bar.update(state[PROGRESS_INDEX[corpus.unit]] - bar.n)

        return encode_corpus(corpus, key_to_index, config.encoded_dir, progress, rows)


def _identity_of(source: Source) -> object:
    """Return an identity of a file, which changes with its content, or of an iterable object."""
    if not isinstance(source, Path):
        return id(source), source  # while this tuple exists, no other object has the same id
    status = os.stat(source)
    identity = (os.path.realpath(source), status.st_dev, status.st_ino)
    if stat.S_ISREG(status.st_mode):  # the time of a pipe changes with each byte
        return (*identity, status.st_size, status.st_mtime_ns)
    return identity
