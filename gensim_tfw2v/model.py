"""TFWord2Vec: gensim's Word2Vec with another engine under `train`."""

import contextlib
import inspect
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gensim.models import KeyedVectors, Word2Vec

from gensim_tfw2v.checks import check_options, check_state
from gensim_tfw2v.cluster import Cluster
from gensim_tfw2v.cluster.nursery import Nursery
from gensim_tfw2v.corpus.held import HeldScan, Source, encode_source
from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.corpus.workspace import Workspace
from gensim_tfw2v.engine import open_nursery, reading_of
from gensim_tfw2v.epoch import train_epoch
from gensim_tfw2v.held_out import held_out_loss
from gensim_tfw2v.mapped import map_weights
from gensim_tfw2v.merging import MergeReport
from gensim_tfw2v.monitor.options import TensorBoardLog
from gensim_tfw2v.regimes import ClusterLost, RegimeOptions, Traffic
from gensim_tfw2v.training import Training
from gensim_tfw2v.vectors import take_vectors

#: Options that say how a program runs, not what a model is: they are not saved with it.
RUNNING = (
    *("cluster", "regime", "layout", "checkpoint_dir", "checkpoint_minutes", "log_dir", "progress"),
    *("encoded_dir", "tables_dir"),
)

#: Options of a model that gensim's class has not.
OWN = ("corrected_cbow", "negative_shards")

logger = logging.getLogger(__name__)


class TFWord2Vec(Word2Vec):
    """gensim's Word2Vec, trained by TensorFlow.

    Takes gensim's parameters, keeps gensim's attributes, and is saved, loaded and queried like
    gensim's model. The corpus is read once and kept on disk as integers while training, so it
    may be larger than memory, and later epochs cost no parsing.

    Parameters
    ----------
    *args, **kwargs
        As for gensim's `Word2Vec`.
    corrected_cbow : bool
        Whether CBOW's input rows get the gradient of the loss: with `cbow_mean`, divided by the
        number of words in the window, which gensim leaves out (Irsoy, Benton and Stratos 2021,
        "Corrected CBOW Performs as well as Skip-gram"). It wants a larger `alpha`: the
        example of their program, kōan, has .075.
    negative_shards : int
        Of so many shards (word r is in shard r mod S, as rows are on ps tasks) a target's negatives
        are drawn from its own alone: target negative sampling (Stergiou et al. 2017, "Distributed
        Negative Sampling for Word Embeddings"). By default one: from all words.
    cluster : str or Cluster, optional
        Where to train: ``"local:ps=2,worker=4"`` starts tasks on this machine for each call of
        `train`, ``"TF_CONFIG"`` takes those that the environment variable describes. Then
        `workers` is the number of threads of each worker task. By default, in this process.
    regime : RegimeOptions or str, optional
        Who trains which piece of the corpus when, and when updates meet: `Asynchronous`,
        `Synchronous`, `Downpour`, `SubModels`, `Sandblaster`, or its name, with options or
        without (``"downpour:n_fetch=8"``). By default threads that share the rows; on a cluster,
        ``"asynchronous"``. Without a cluster, `workers` threads take the part of its workers.
    layout : {"rows", "columns"}
        What is spread over the ps tasks of a cluster: rows, which workers fetch and push; or the
        columns of every row, which stay where they are (Ordentlich et al. 2016, "Network-Efficient
        Distributed Word2vec Training System for Large Vocabularies"). Columns are for rows that are
        long and too many for what travels of them; see docs/layouts.
    checkpoint_dir : str, optional
        A folder for checkpoints. If it holds one of this very training (corpus, vocabulary and
        options are compared), `train` goes on from it: run the same program again after a crash.
    checkpoint_minutes : float
        How often a checkpoint is written, beside those at the end of each epoch; above 0. Where
        a cluster loses its parameters, training goes on from what the last one would have held,
        even without a folder.
    log_dir : str or TensorBoardLog, optional
        A folder where `train` logs for TensorBoard: loss, step size, words/s, neighbours of some
        words, the vectors for its projector; and what each process takes of its machine. A
        `TensorBoardLog` says what else. Give each training a folder of its own.
    progress : bool, optional
        Whether to show a progress bar; by default on terminals and in notebooks.
    encoded_dir : str, optional
        Where the temporary folder with the encoded corpus (4 bytes a word; twice that while
        the vocabulary is built) is made; by default where Python makes temporary files. If the
        machines of a cluster's workers see it and the corpus, they read the corpus together.
    tables_dir : str, optional
        A folder in whose files the model's new arrays are (``wv.vectors``, ``syn1neg``, ``syn1``),
        mapped into memory: for a vocabulary whose arrays are larger than memory, trained on a
        cluster. `save` copies them, as always.

    Raises
    ------
    ValueError
        If `vector_size`, `window`, `workers` or `negative_shards` is below 1, `negative` is below
        0, or `checkpoint_minutes` is not above 0; if `regime`, `layout` or `log_dir` is none; or if
        the regime cannot train this objective.
    ClusterError
        If `cluster` or ``TF_CONFIG`` names none.

    Attributes
    ----------
    mean_losses : list of float
        With `compute_loss`, for each epoch of the last `train` the loss of a prediction: of a
        word from one word of its window (skip-gram) or from all (CBOW). With `log_dir` alone, of
        the first step of each work unit.
        ``running_training_loss`` is gensim's: the sum over all epochs.
    traffic : Traffic, optional
        Of the last `train` on a cluster: bytes, units repeated, staleness, and where time went.
    merge_report : MergeReport, optional
        Of the last `train` by sub-models, or of `merge_models`: which words were missing in how
        many.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> model = TFWord2Vec(common_texts, vector_size=20, min_count=1)
    >>> model.wv["computer"].shape
    (20,)
    """

    # Class attributes, so that models of plain gensim have them too.
    cluster: str | Cluster | None = None
    regime: RegimeOptions | str | None = None
    layout = "rows"
    checkpoint_dir: str | None = None
    checkpoint_minutes = 10.0
    log_dir: str | TensorBoardLog | None = None
    progress: bool | None = None
    encoded_dir: str | None = None
    tables_dir: str | None = None
    corrected_cbow = False
    negative_shards = 1
    mean_losses: Sequence[float] = ()
    traffic: Traffic | None = None
    merge_report: MergeReport | None = None
    _held: HeldScan | None = None
    _one_corpus = False  # what is scanned will be trained on at once
    _training: Training | None = None
    _nursery: Nursery | None = None
    _logged_words = 0  # of this model's runs for TensorBoard

    def __init__(
        self,
        *args: Any,
        corrected_cbow: bool = False,
        negative_shards: int = 1,
        cluster: str | Cluster | None = None,
        regime: RegimeOptions | str | None = None,
        layout: str = "rows",
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_minutes: float = 10.0,
        log_dir: str | os.PathLike[str] | TensorBoardLog | None = None,
        progress: bool | None = None,
        encoded_dir: str | os.PathLike[str] | None = None,
        tables_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        options = inspect.signature(Word2Vec).bind(*args, **kwargs)
        options.apply_defaults()
        check_options(
            **options.arguments,
            corrected_cbow=corrected_cbow,
            negative_shards=negative_shards,
            cluster=cluster,
            regime=regime,
            layout=layout,
            checkpoint_minutes=checkpoint_minutes,
            log_dir=log_dir,
        )
        self.cluster = cluster
        self.regime = regime
        self.layout = layout
        self.checkpoint_dir = None if checkpoint_dir is None else os.fspath(checkpoint_dir)
        self.checkpoint_minutes = checkpoint_minutes
        self.log_dir = os.fspath(log_dir) if isinstance(log_dir, os.PathLike) else log_dir
        self.corrected_cbow = bool(corrected_cbow)
        self.negative_shards = int(negative_shards)
        self.progress = progress
        self.encoded_dir = None if encoded_dir is None else os.fspath(encoded_dir)
        self.tables_dir = None if tables_dir is None else os.fspath(tables_dir)
        self._one_corpus = True
        try:
            super().__init__(*args, **kwargs)
        finally:
            self._one_corpus = False
            self._forget_scan()

    @classmethod
    def load(cls, *args: Any, **kwargs: Any) -> "TFWord2Vec":
        """Load a model saved by this class or by gensim's Word2Vec; see gensim."""
        model = super().load(*args, **kwargs)
        if type(model) is Word2Vec:
            model.__class__ = cls  # the same attributes; what is new has class defaults
        return model

    @classmethod
    def from_vectors(
        cls, vectors: KeyedVectors, counts: Mapping[str, int] | None = None, **options: Any
    ) -> "TFWord2Vec":
        """A model that goes on from vectors alone, such as those of a file in word2vec's form.

        It has all their words; ``build_vocab(corpus, update=True)`` adds those of a corpus. The
        other layer (``syn1neg``, ``syn1``) starts from 0, as in a new model.

        Parameters
        ----------
        vectors : KeyedVectors
            They are copied.
        counts : mapping from words to counts, optional
            By default the vectors' own, if they have any, else by Zipf's law from their order.
        **options
            As for the class, but for the corpus and for `vector_size`.

        Raises
        ------
        ValueError
            If `counts` lacks a word.
        """
        model = cls(vector_size=vectors.vector_size, **options)
        take_vectors(model, vectors, counts)
        return model

    def init_weights(self) -> None:
        """Give the model new weights; see gensim, and `tables_dir`."""
        if self.tables_dir is None:
            super().init_weights()
        else:
            logger.info("resetting layer weights, in files of %s", self.tables_dir)
            map_weights(self, Path(self.tables_dir))

    def partial_fit(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | None = None,
        epochs: int = 1,
        alpha: float | None = None,
    ) -> tuple[int, int]:
        """Train on the next part of a stream; its new words are added.

        The part is read once, so a generator will do for one epoch. A new word is added if the
        part has it `min_count` times: parts should not be small.

        Parameters
        ----------
        corpus_iterable, corpus_file
            The part, as for `train`.
        epochs : int
            Passes over it.
        alpha : float, optional
            Step size, which stays the same; by default the model's.

        Returns
        -------
        (int, int)
            As of `train`.
        """
        before: dict[str, float] = {name: vars(self)[name] for name in ("alpha", "min_alpha")}
        alpha = before["alpha"] if alpha is None else alpha
        self._one_corpus = True
        try:
            self.build_vocab(corpus_iterable, corpus_file, update=len(self.wv) > 0)
            return self.train(
                corpus_iterable,
                corpus_file,
                total_examples=self.corpus_count,
                total_words=self.corpus_total_words,
                epochs=epochs,
                start_alpha=alpha,
                end_alpha=alpha,
            )
        finally:
            self.__dict__.update(before)
            self._one_corpus = False
            self._forget_scan()

    def held_out_loss(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | None = None,
    ) -> float:
        """How badly the model predicts a text that it was not trained on.

        Parameters
        ----------
        corpus_iterable, corpus_file
            The text, as for `train`; give one of both. Words that the model does not know are left
            out. The model stays as it is, and a callback may ask after each epoch.

        Returns
        -------
        float
            Mean loss of a prediction, in nats, as in `mean_losses`. A new model's is nearly
            (1 + `negative`) ln 2, without `hs`. Losses can be compared if vocabulary, objective,
            window and `sample` are the same.

        Raises
        ------
        TypeError
            If none or both are given, or the file is not there; as gensim's `train`.
        ValueError
            If nothing is predicted, as no two known words stand together in a sentence; or if the
            model's vectors are not finite.
        """
        self._check_corpus_sanity(
            corpus_iterable=corpus_iterable, corpus_file=corpus_file, passes=1
        )
        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        assert source is not None
        return held_out_loss(self, source)

    def to_gensim(self) -> Word2Vec:
        """The same model as gensim's class: saved, it loads where this package is not installed.

        Returns
        -------
        gensim.models.Word2Vec
            It shares this model's arrays: training either changes both.
        """
        model = Word2Vec.__new__(Word2Vec)
        model.__dict__.update(self.__getstate__())
        for name in (*OWN, "mean_losses"):
            model.__dict__.pop(name, None)
        return model

    def __getstate__(self) -> dict[str, Any]:
        transient = {"_held", "_one_corpus", "_training", "_nursery", "_logged_words"}
        transient |= {"traffic", "merge_report", *RUNNING}
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
        again. With `max_vocab_size`, which prunes while counting, gensim's own code counts;
        else progress is logged now and then, not every `progress_per` sentences.
        """
        self._forget_scan()
        open_nursery(self)  # tasks get ready while the corpus is read
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

        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        assert source is not None
        self._held = HeldScan(source, self.encoded_dir, progress, reading_of(self))
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
        ValueError
            If the vectors to start from are not finite, or ``wv.vectors_lockf`` has another
            length than 1 or V.
        MissingTasks
            If tasks of the cluster do not answer.
        ClusterLost
            If a cluster has lost its parameters again and again.
        KeyboardInterrupt
            On Ctrl-C, with the vectors trained so far in the model.
        """
        check_options(**{name: getattr(self, name) for name in (*RUNNING, *OWN)} | self.__dict__)
        check_state(self)
        self.mean_losses = []
        open_nursery(self)
        try:
            return super().train(*args, **kwargs)
        except KeyboardInterrupt:
            if self._training is not None:
                with contextlib.suppress(ClusterLost):
                    self._training.export(self)
                self._training.save(self)
            self._clear_post_train()
            raise
        finally:
            if self._training is not None:
                self.traffic = self._training.traffic
                if self.log_dir is not None:
                    self._logged_words = self._training.logged_words
                self._training.close()
                self._training = None
            if self._nursery is not None:
                self._nursery.close()
                self._nursery = None

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
            self._training = Training(self, *self._encoded(data_iterable))
        return train_epoch(
            self, self._training, cur_epoch, total_examples, total_words, report_delay
        )

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
            self._training = Training(self, *self._encoded(Path(corpus_file)))
        return train_epoch(
            self,
            self._training,
            cur_epoch,
            total_examples,
            total_words,
            report_delay,
            is_corpus_file_mode=True,
        )

    def _encoded(self, source: Source) -> tuple[EncodedCorpus, Workspace]:
        """The corpus in ids of the vocabulary, and the folder it is in."""
        held, self._held = self._held, None
        if held is not None:
            if held.is_of(source):
                return held.encode(self.wv.key_to_index)
            held.close()
        return encode_source(source, self.wv.key_to_index, self.encoded_dir, reading_of(self))

    def _forget_scan(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


TFWord2Vec.train.__signature__ = inspect.signature(Word2Vec.train)  # type: ignore[attr-defined]
TFWord2Vec.__signature__ = inspect.Signature(
    [
        *inspect.signature(Word2Vec).parameters.values(),
        *(
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in inspect.signature(TFWord2Vec.__init__).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        ),
    ]
)
