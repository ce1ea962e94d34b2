"""gensim's Word2Vec whose corpus is read once, and kept on disk as integers."""

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gensim.models import Word2Vec

from gensim_tfw2v.cluster.opening import LocalTasks
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.files import is_compressed, is_pipe
from gensim_tfw2v.corpus.held import Extent, HeldScan, Source, encode_source
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.hooks import overridden_hooks
from gensim_tfw2v.monitor.progress import phase, reading_bar
from gensim_tfw2v.training.opening import reading_of

logger = logging.getLogger(__name__)


class ScanningWord2Vec(Word2Vec):
    """gensim's class, but for how a corpus is read."""

    encoded_dir: str | None = None
    progress: bool | None = None
    _held: HeldScan | None = None
    _process_launcher: ProcessLauncher | None = None
    _one_corpus = False  # what is scanned will be trained on at once

    def scan_vocab(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | None = None,
        progress_per: int = 10000,
        workers: int | None = None,
        trim_rule: Any = None,
    ) -> tuple[int, int]:
        """Count the words of a corpus; see gensim.

        What was read is kept, encoded, so that training on the same corpus need not read it
        again. With `max_vocab_size`, which prunes while counting, and where `_scan_vocab` is
        overridden, gensim's own code counts; else progress is logged now and then, not every
        `progress_per` sentences.

        Raises
        ------
        TypeError
            If `corpus_file` is a pipe, and gensim's own code counts.
        """
        self._forget_scan()
        by_gensim = self.max_vocab_size or type(self)._scan_vocab is not Word2Vec._scan_vocab
        if by_gensim and corpus_file is not None and is_pipe(corpus_file):
            raise TypeError(
                f"with max_vocab_size, or a _scan_vocab of one's own, a corpus is read twice, but "
                f"{corpus_file} is a pipe, which can be read once: write the text to a file"
            )
        config = TrainingConfig.of(self)
        self._open_process_launcher(config)  # tasks get ready while the corpus is read
        if by_gensim:
            with phase("counting words", self.progress):
                return super().scan_vocab(
                    corpus_iterable, corpus_file, progress_per, workers, trim_rule
                )
        logger.info("collecting all words and their counts")
        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        assert source is not None
        with reading_bar("counting words", Extent.of(source), self.progress) as show:

            def progress(words: int, sentences: int, word_types: int, read: int) -> None:
                logger.info(
                    "PROGRESS: at sentence #%i, processed %i words, keeping %i word types",
                    sentences,
                    words,
                    word_types,
                )
                show(words, sentences, word_types, read)

            self._held = HeldScan(source, self.encoded_dir, progress, reading_of(config.cluster))
        scan = self._held.scan
        if corpus_file is None and not self._one_corpus:
            self._forget_scan()  # what an iterable gives later may be another corpus
        self.raw_vocab = scan.raw_vocab
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i sentences",
            len(scan.raw_vocab),
            scan.total_words,
            scan.corpus_count,
        )
        return scan.total_words, scan.corpus_count

    @contextlib.contextmanager
    def _reading_once(self) -> Iterator[None]:
        """Within it, what is scanned will be trained on at once."""
        self._one_corpus = True
        try:
            yield
        finally:
            self._one_corpus = False
            self._forget_scan()

    def _encoded(self, source: Source, config: TrainingConfig) -> tuple[EncodedCorpus, Workspace]:
        """The corpus in ids of the vocabulary, and the folder it is in."""
        held, self._held = self._held, None
        if held is not None:
            if held.is_of(source):
                with phase("encoding the corpus", self.progress):
                    return held.encode(self.wv.key_to_index)
            held.close()
        with reading_bar("reading the corpus", Extent.of(source), self.progress) as show:
            return encode_source(
                source, self.wv.key_to_index, self.encoded_dir, reading_of(config.cluster), show
            )

    def _check_corpus_sanity(
        self, corpus_iterable: Any = None, corpus_file: Any = None, passes: int = 1
    ) -> None:
        """Gensim's checks, without what it has against compressed files and pipes."""
        if corpus_iterable is None and corpus_file is not None and not overridden_hooks(self):
            if not isinstance(corpus_file, str | os.PathLike):
                raise TypeError(
                    f"Parameter corpus_file must be a valid path to a file, got {corpus_file!r} "
                    "instead"
                )
            if is_pipe(corpus_file) or (is_compressed(corpus_file) and os.path.isfile(corpus_file)):
                return
        super()._check_corpus_sanity(
            corpus_iterable=corpus_iterable, corpus_file=corpus_file, passes=passes
        )

    def _open_process_launcher(self, config: TrainingConfig) -> None:
        """Let a local cluster's processes get ready, if the model trains on one."""
        if isinstance(config.cluster, LocalTasks) and self._process_launcher is None:
            self._process_launcher = ProcessLauncher()

    def _forget_scan(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
