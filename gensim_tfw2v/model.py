"""TFWord2Vec: gensim's Word2Vec with another engine under `train`."""

import inspect
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterable
from timeit import default_timer
from typing import Any

import numpy as np

from gensim_tfw2v._tensorflow import require

require("gensim")

from gensim.models import Word2Vec  # noqa: E402

from gensim_tfw2v.corpus.encode import encode_file, encode_sentences  # noqa: E402
from gensim_tfw2v.corpus.scan import Scan, scan_file, scan_sentences  # noqa: E402
from gensim_tfw2v.corpus.units import EncodedCorpus, WorkUnit  # noqa: E402
from gensim_tfw2v.corpus.workspace import Workspace  # noqa: E402
from gensim_tfw2v.monitor.progress import progress_bar  # noqa: E402
from gensim_tfw2v.objectives import Cbow, Objective, SkipGram  # noqa: E402
from gensim_tfw2v.options import (  # noqa: E402
    FEW_WORDS,
    UNIT_ENTRIES,
    UnitProgram,
    choose_product_dtype,
    choose_shape,
)
from gensim_tfw2v.regimes import LocalRegime, Regime, UnitReport  # noqa: E402

logger = logging.getLogger(__name__)


class TFWord2Vec(Word2Vec):
    """gensim's Word2Vec, trained by TensorFlow.

    Takes gensim's parameters, keeps gensim's attributes, and is saved, loaded and queried like
    gensim's model. The corpus is read once and kept on disk as integers while training, so it
    may be larger than memory, and later epochs cost no parsing.

    Parameters
    ----------
    *args, **kwargs
        As for :class:`gensim.models.Word2Vec`.
    progress : bool, optional
        Whether to show a progress bar; by default on terminals and in notebooks.
    encoded_dir : str, optional
        Where the temporary folder with the encoded corpus (4 bytes a word; twice that while
        the vocabulary is built) is made; by default where Python makes temporary files.

    Raises
    ------
    NotImplementedError
        For hierarchical softmax (``hs=1``), which this version does not train.
    ValueError
        If `vector_size`, `window` or `workers` is below 1, or `negative` is below 0.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> model = TFWord2Vec(common_texts, vector_size=20, min_count=1)
    >>> model.wv["computer"].shape
    (20,)
    """

    # Not part of a saved model; class attributes, so that models of plain gensim have them too.
    progress: bool | None = None
    encoded_dir: str | None = None
    _scan: tuple[Any, Scan, Workspace] | None = None
    _constructing = False
    _training: "_Training | None" = None

    def __init__(
        self,
        *args: Any,
        progress: bool | None = None,
        encoded_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        options = inspect.signature(Word2Vec).bind(*args, **kwargs)
        options.apply_defaults()
        _check_options(**options.arguments)
        self.progress = progress
        self.encoded_dir = None if encoded_dir is None else os.fspath(encoded_dir)
        self._constructing = True
        try:
            super().__init__(*args, **kwargs)
        finally:
            self._constructing = False
            self._forget_scan()

    @classmethod
    def load(cls, *args: Any, **kwargs: Any) -> "TFWord2Vec":
        """Load a model saved by this class or by gensim's Word2Vec; see gensim."""
        model = super().load(*args, **kwargs)
        if type(model) is Word2Vec:
            model.__class__ = cls  # the same attributes; what is new has class defaults
        return model

    def __getstate__(self) -> dict[str, Any]:
        transient = {"_scan", "_constructing", "_training"}
        return {name: value for name, value in self.__dict__.items() if name not in transient}

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
        again. With `max_vocab_size`, which prunes while counting, gensim's own code counts.
        """
        self._forget_scan()
        if self.max_vocab_size:
            return super().scan_vocab(
                corpus_iterable, corpus_file, progress_per, workers, trim_rule
            )
        logger.info("collecting all words and their counts")

        def progress(words: int, sentences: int, word_types: int) -> None:
            logger.info(
                "PROGRESS: at sentence #%i, processed %i words, keeping %i word types",
                sentences,
                words,
                word_types,
            )

        workspace = Workspace(self.encoded_dir)
        if corpus_file is not None:
            identity: Any = _file_identity(corpus_file)
            scan = scan_file(corpus_file, folder=workspace.folder, progress=progress)
        else:
            assert corpus_iterable is not None
            identity = corpus_iterable
            scan = scan_sentences(corpus_iterable, folder=workspace.folder, progress=progress)
        self._scan = (identity, scan, workspace)
        if corpus_file is None and not self._constructing:
            self._forget_scan()  # what an iterable gives later may be another corpus
        self.raw_vocab = scan.raw_vocab
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i sentences",
            len(scan.raw_vocab),
            scan.total_words,
            scan.corpus_count,
        )
        return scan.total_words, scan.corpus_count

    def train(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Train on a corpus; parameters, return value and callbacks as in gensim.

        Returns
        -------
        (int, int)
            Words trained on after subsampling, and raw words, of all epochs.

        Raises
        ------
        Divergence
            If training turns non-finite; the vectors of the last whole epoch are kept.
        NotImplementedError
            For hierarchical softmax and locked vectors.
        ValueError
            If the vectors to start from are not finite.
        KeyboardInterrupt
            On Ctrl-C, with the vectors trained so far in the model.
        """
        _check_options(**self.__dict__)
        _check_state(self)
        try:
            return super().train(*args, **kwargs)
        except KeyboardInterrupt:
            if self._training is not None:
                self._training.export(self)
            self._clear_post_train()
            raise
        finally:
            if self._training is not None:
                self._training.close()
                self._training = None

    def _train_epoch(  # gensim's hook for iterables
        self,
        data_iterable: Iterable[list[str]],
        cur_epoch: int = 0,
        total_examples: int | None = None,
        total_words: int | None = None,
        queue_factor: int = 2,
        report_delay: float = 1.0,
        callbacks: Any = (),
    ) -> tuple[int, int, int]:
        if self._training is None:
            self._training = _Training(
                self,
                *self._encoded(data_iterable, data_iterable, encode_sentences),
            )
        return self._run_epoch(cur_epoch, total_examples, total_words, report_delay)

    def _train_epoch_corpusfile(  # gensim's hook for files
        self,
        corpus_file: str,
        cur_epoch: int = 0,
        total_examples: int | None = None,
        total_words: int | None = None,
        callbacks: Any = (),
        report_delay: float = 1.0,
        **kwargs: Any,
    ) -> tuple[int, int, int]:
        if not total_words:
            raise ValueError("total_words must be provided alongside corpus_file argument.")
        if self._training is None:
            self._training = _Training(
                self, *self._encoded(_file_identity(corpus_file), corpus_file, encode_file)
            )
        return self._run_epoch(
            cur_epoch, total_examples, total_words, report_delay, is_corpus_file_mode=True
        )

    def _run_epoch(
        self,
        epoch: int,
        total_examples: int | None,
        total_words: int | None,
        report_delay: float,
        is_corpus_file_mode: bool = False,
    ) -> tuple[int, int, int]:
        """Train an epoch, log it in gensim's form.

        Returns
        -------
        (int, int, int)
            Words trained on, raw words, units.
        """
        assert self._training is not None
        training, corpus = self._training, self._training.corpus
        # gensim decays alpha by what it was told of the corpus, not by what it finds
        told = (
            corpus.total_sentences / total_examples
            if total_examples
            else corpus.total_raw_words / (total_words or 1)
        )
        done = np.cumsum([0] + [unit.raw_words for unit in training.units])
        reached = told * done / max(1, corpus.total_raw_words)
        alphas = [float(self._get_next_alpha(part, epoch)) for part in reached]

        no_queue: queue.Queue[None] = queue.Queue()
        start = default_timer() - 0.00001
        examples = trained = raw = 0
        next_report = 1.0
        lock = threading.Lock()

        def report(result: UnitReport) -> None:
            nonlocal examples, trained, raw, next_report
            with lock:
                examples += result.unit.sentences
                trained += result.kept
                raw += result.unit.raw_words
                self.running_training_loss += result.loss
                training.bar.update(result.unit.raw_words)
                elapsed = default_timer() - start
                if elapsed >= next_report:
                    self._log_progress(
                        None, no_queue, epoch, examples, total_examples, raw, total_words,
                        trained, elapsed,
                    )  # fmt: skip
                    next_report = elapsed + report_delay

        training.load(self)
        training.regime.train_epoch(
            corpus, training.units, epoch, list(zip(alphas, alphas[1:], strict=False)), report
        )
        training.export(self)
        # words that stand in no unit: sentences without a known word
        raw = corpus.total_raw_words
        elapsed = default_timer() - start
        self._log_epoch_end(
            epoch, corpus.total_sentences, total_examples, raw, total_words, trained, elapsed,
            is_corpus_file_mode,
        )  # fmt: skip
        self.total_train_time += elapsed
        return trained, raw, len(training.units)

    def _encoded(
        self, identity: Any, source: Any, encode: Callable[..., EncodedCorpus]
    ) -> tuple[EncodedCorpus, Workspace]:
        """The corpus in ids of the vocabulary, and the folder it is in."""
        if self._scan is not None:
            known, scan, workspace = self._scan
            if known is identity or (isinstance(known, tuple) and known == identity):
                self._scan = None
                with scan:  # the provisional ids are not needed any more
                    return scan.encode(self.wv.key_to_index), workspace
            self._forget_scan()
        workspace = Workspace(self.encoded_dir)
        try:
            return encode(source, self.wv.key_to_index, folder=workspace.folder), workspace
        except BaseException:
            workspace.close()
            raise

    def _forget_scan(self) -> None:
        if self._scan is not None:
            _, scan, workspace = self._scan
            scan.close()
            workspace.close()
            self._scan = None


TFWord2Vec.__signature__ = inspect.Signature(
    [
        *inspect.signature(Word2Vec).parameters.values(),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in ("progress", "encoded_dir")
        ),
    ]
)


class _Training:
    """What one call of `train` holds: the encoded corpus, a regime and a progress bar."""

    def __init__(self, model: TFWord2Vec, corpus: EncodedCorpus, workspace: Workspace) -> None:
        self.corpus = corpus
        self.workspace = workspace
        self.units: list[WorkUnit] = corpus.units(UNIT_ENTRIES)
        if not self.units:
            logger.warning(
                "no word of the corpus is in the vocabulary: there is nothing to train on "
                "(build_vocab(corpus, update=True) adds its words)."
                if corpus.total_raw_words
                else "train() called with an empty iterator (if not intended, be sure to provide "
                "a corpus that offers restartable iteration = an iterable)."
            )
        keep = _keep_probability(model)
        counts = model.wv.expandos["count"].astype(np.float64)
        tokens = corpus.total_tokens * float((counts * keep).sum() / max(1.0, counts.sum()))
        self.regime: Regime = LocalRegime(
            UnitProgram(
                objective=_objective(model),
                shape=choose_shape(int(tokens), model.window, model.negative, bool(model.sg)),
                vector_size=model.vector_size,
                id_bits=max(2, (len(model.wv) - 1).bit_length()),
                max_entries=UNIT_ENTRIES,
                shrink_windows=bool(model.shrink_windows),
                with_loss=bool(model.compute_loss),
                skip_targets=len(model.wv) <= FEW_WORDS,
                product_dtype=choose_product_dtype(bool(model.sg)),
            ),
            inputs=model.wv.vectors,
            outputs=model.syn1neg,
            keep_probability=keep,
            cum_table=model.cum_table.astype(np.int32),
            workers=model.workers,
            # another seed for each call of `train`, or all would draw the same
            seed=model.seed + 1_000_003 * model.train_count,
        )
        self.bar = progress_bar(corpus.total_raw_words * model.epochs, model.progress)

    def load(self, model: TFWord2Vec) -> None:
        """Start from the model's vectors, which a callback may have changed."""
        self.regime.load(model.wv.vectors, model.syn1neg)

    def export(self, model: TFWord2Vec) -> None:
        """Put the trained vectors into the model's arrays, if they are finite."""
        inputs, outputs = self.regime.tables()
        if not (np.isfinite(inputs).all() and np.isfinite(outputs).all()):
            return
        model.wv.vectors = _copied(inputs, model.wv.vectors)
        model.syn1neg = _copied(outputs, model.syn1neg)
        model.wv.norms = None

    def close(self) -> None:
        self.bar.close()
        self.regime.close()
        self.corpus.close()
        self.workspace.close()


def _copied(values: np.ndarray, into: np.ndarray) -> np.ndarray:
    """`values` in the array `into`, which others may look at, where it can be written."""
    if into.flags.writeable and into.shape == values.shape and into.dtype == values.dtype:
        into[...] = values
        return into
    return values.copy()


def _objective(model: Word2Vec) -> Objective:
    if model.sg:
        return SkipGram(model.negative)
    return Cbow(model.negative, mean=bool(model.cbow_mean))


def _keep_probability(model: Word2Vec) -> np.ndarray:
    """Chance of each word to survive subsampling, [V]."""
    if not model.sample or "sample_int" not in model.wv.expandos:
        return np.ones(len(model.wv), np.float32)
    return ((model.wv.expandos["sample_int"].astype(np.float64) + 1) / 2**32).astype(np.float32)


def _file_identity(path: str) -> tuple[str, int, int]:
    """Tells a file from another, and from itself once changed."""
    status = os.stat(path)
    return (os.path.realpath(path), status.st_size, status.st_mtime_ns)


def _check_options(**options: Any) -> None:
    """Find options that training cannot run with, before any work is done."""
    for name, least in (("vector_size", 1), ("window", 1), ("workers", 1), ("negative", 0)):
        if int(options[name]) < least:
            raise ValueError(f"{name} must be at least {least}, got {options[name]!r}")
    if options["hs"]:
        raise NotImplementedError(
            "TFWord2Vec does not train hierarchical softmax (hs=1) in this version. "
            "Use negative sampling (hs=0, negative=5), or gensim.models.Word2Vec for hs=1."
        )


def _check_state(model: TFWord2Vec) -> None:
    """Find vectors that training cannot start from."""
    if not np.all(getattr(model.wv, "vectors_lockf", 1.0) == 1.0):
        raise NotImplementedError(
            "TFWord2Vec does not train with locked vectors (wv.vectors_lockf other than 1) in "
            "this version. Set model.wv.vectors_lockf = np.ones(1, dtype=np.float32), or use "
            "gensim.models.Word2Vec for this training."
        )
    if not len(model.wv.vectors):
        return  # gensim says what is missing
    for name, rows in (
        ("wv.vectors", model.wv.vectors),
        ("syn1neg", getattr(model, "syn1neg", None)),
    ):
        if rows is None:
            continue  # gensim says that there is nothing to train
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{name} holds {len(bad)} rows that are not finite, the first for "
                f"{model.wv.index_to_key[bad[0]]!r}: replace them before training on "
                "(model.init_weights() starts anew)"
            )
