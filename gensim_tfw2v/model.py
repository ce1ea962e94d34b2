"""TFWord2Vec: gensim's Word2Vec with a different implementation of training."""

from __future__ import annotations

import inspect
import logging
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.cluster.spec import Cluster, LocalTasks
from gensim_tfw2v.corpus.integer_arrays import lists_for_gensim
from gensim_tfw2v.corpus.source_checks import check_frame, check_sentences, folder_advice
from gensim_tfw2v.corpus.text_corpus import Source, is_pipe, whole_file
from gensim_tfw2v.files.temporary import TemporaryFolder, check_folder
from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.messages import COMPRESSED, quoted
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.contents import STOPPING_RESULTS
from gensim_tfw2v.options.kinds import Whole, truth
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import (
    ARGUMENTS,
    DEFAULTS,
    RENAMED,
    TRAIN_ARGUMENTS,
    attributes_of,
    option_names,
)
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.stored_model import EXPERIMENTAL, OWN, RUNNING, StoredWord2Vec
from gensim_tfw2v.training.corpus_reader import CorpusReader
from gensim_tfw2v.training.epoch import Expected
from gensim_tfw2v.training.guarded_methods import claim, guard_methods, refuse_while_used
from gensim_tfw2v.training.model_arrays import (
    array_bytes,
    complete_added_words,
    extended_outputs,
    init_weights,
    make_contiguous,
    renew_norms,
)
from gensim_tfw2v.training.model_checks import check_learns, check_overrides, check_state
from gensim_tfw2v.training.model_state import TRAINING, ModelState
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.stoppable_callbacks import StoppableCallbacks
from gensim_tfw2v.training.vocabulary import noise_table
from gensim_tfw2v.vector_norms import fill_norms  # noqa: F401  replaces gensim's
from gensim_tfw2v.word2vec_writer import save_word2vec_format  # noqa: F401  replaces gensim's

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gensim_tfw2v.merging import MergeReport
    from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
    from gensim_tfw2v.monitor.traffic import Traffic
    from gensim_tfw2v.neighbours.neighbour_index import NeighbourIndex
    from gensim_tfw2v.options.keywords import Word2VecOptions
    from gensim_tfw2v.options.kinds import Kind
    from gensim_tfw2v.options.regimes import RegimeOptions


#: Options that name a folder to write to.
FOLDERS = option_names(Use.FOLDER)

#: Parameters that constructors of this package have after those of gensim's.
OWN_PARAMETERS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS[name])
    for name in (*OWN, *RUNNING)
]

#: Attributes that `train` sets before training starts; restored if nothing was trained.
TRAIN_ATTRIBUTES = (
    "alpha",
    "min_alpha",
    "epochs",
    "compute_loss",
    "running_training_loss",
    "min_alpha_yet_reached",
    "mean_losses",
    *STOPPING_RESULTS,
)

#: Methods that gensim's training threads call, and this package's training does not.
THREAD_METHODS = (
    "_do_train_job",
    "_do_train_epoch",
    "_worker_loop",
    "_worker_loop_corpusfile",
    "_job_producer",
    "_get_thread_working_mem",
    "_log_epoch_progress",
    "_raw_word_count",
)

#: gensim's pseudo-word for positions outside of a document.
NULL_WORD = "\0"

logger = logging.getLogger(__name__)


class TFWord2Vec(StoredWord2Vec):
    """gensim's Word2Vec, trained by compiled kernels and, on a cluster, by TensorFlow.

    It accepts gensim's parameters, has gensim's attributes, and is saved, loaded and queried like
    gensim's model. The corpus is read only once, and kept on disk as integers during training. So
    the corpus may be larger than memory, and its text is parsed only once, not in each epoch.

    Parameters
    ----------
    sentences : iterable of sequences of str, optional
        The corpus: sentences, each a sequence of words. Words are usually strings, but may be any
        objects that can be keys of a dictionary. Pass a list, or another object that can be
        iterated several times. A generator, which can be iterated only once, is refused. Sentences
        of more than 10,000 words are split. If the words are integers, the corpus may also be an
        array [sentences, words], a tuple of arrays (values, offsets), or a pyarrow or polars column
        of lists: see docs/integers.md. If you pass no corpus, the model has no vocabulary until you
        call `build_vocab`, and is not trained until you call `train`.
    corpus_file : str or path, optional
        The corpus as a text file in UTF-8, instead of `sentences`, with one sentence per line, and
        words separated by white space. The file may be compressed (.gz, .bz2, .xz, .zst, .lz4), or
        be a pipe. A file is read faster than `sentences`.
    vector_size : int, default 100
        Number of dimensions D of the vectors, from 1 up. 100 to 300 are usual. Vectors with more
        dimensions need more text, and training needs time and memory in proportion to D.
    window : int, default 5
        Maximum distance, in words, between a word and its context, from 1 up. With a small window
        (2), the nearest words tend to be those that could replace each other in a sentence. With a
        larger one (5), more of them are about the same topic (Levy and Goldberg 2014,
        "Dependency-Based Word Embeddings", section 4.1).
    shrink_windows : bool, default True
        Draw the size of each window at random from 1 to `window`, so that words near the centre
        count more than distant ones. If False, all windows have the full size. Set it to False if
        the order of words in a sentence means nothing, for example if sentences are shopping
        baskets.
    sg : 0 or 1, default 0
        Objective: 1 for skip-gram, which predicts each word of the context from the word in the
        middle, or 0 for CBOW, which predicts the word in the middle from its whole context.
        Skip-gram takes longer than CBOW, and is better for small corpora and rare words (Mikolov et
        al. 2013, "Efficient Estimation of Word Representations in Vector Space", section 3).
    hs : 0 or 1, default 0
        Train with hierarchical softmax (1), in addition to negative sampling unless `negative` is
        0. Hierarchical softmax predicts a word by a path through a binary tree of all words,
        without random negatives. It is slower than negative sampling. Use it if you want to call
        `score`, which needs it.
    negative : int, default 5
        Number of negative samples ("noise words") for each predicted word, from 0 to 8,388,608. 5
        to 20 negatives suit small corpora, and 2 to 5 suit large ones (Mikolov et al. 2013,
        "Distributed Representations of Words and Phrases and their Compositionality", section 2.2).
        With 0, there is no negative sampling, and `hs` must be 1.
    ns_exponent : float, default 0.75
        Any finite number. The probability that a word is drawn as a negative is proportional to its
        count raised to this power: with 1, words are drawn as often as they occur in the text, and
        with 0, all words equally often. For the items of a recommender, other values than 0.75,
        even negative ones, may be better (Caselles-Dupré et al. 2018, "Word2vec applied to
        Recommendation: Hyperparameters Matter").
    cbow_mean : 0 or 1, default 1
        Use the mean (1) or the sum (0) of the context's vectors in CBOW. It has no effect on
        skip-gram.
    alpha : float, default 0.025
        Learning rate at the start of training. Any finite number is accepted, but the model learns
        only with numbers above 0. Lower it if training diverges. word2vec.c, the original program,
        uses 0.05 for CBOW.
    min_alpha : float, default 0.0001
        Learning rate at the end of training, any finite number. The learning rate falls linearly
        from `alpha` to `min_alpha`. If `min_alpha` is not below `alpha`, the learning rate is
        `min_alpha` throughout training. With `corpus_file` and N workers, the learning rate falls
        in steps, as in gensim: within an epoch, it falls by only 1 / N of its decrease per epoch,
        and by the rest before the next epoch.
    epochs : int, default 5
        Number of passes over the corpus, from 1 up. Small corpora need more epochs than large ones,
        for example about 20 for some tens of thousands of words.
    sample : float, default 0.001
        Threshold of subsampling, from 0 up. Occurrences of frequent words are dropped at random, so
        that training spends less time on words such as "the" (section 2.3 of the paper that
        `negative` names, in the form of word2vec.c). If a word's share of the text is f, each of
        its occurrences is kept with probability (sqrt(f / `sample`) + 1) * `sample` / f, so
        occurrences are dropped only of words whose share is above 2.6 * `sample`. Useful values are
        1e-3 to 1e-5, and the smaller ones of these are for large corpora. With 0 or None, no
        occurrences are dropped. Use this for corpora without function words, such as walks on a
        graph. A number from 1 up is compared with counts instead of shares: f is then the word's
        count, and 2.6 * `sample` replaces `sample` in the formula.
    seed : int, default 1
        Seed of the initial vectors and of all random draws: a number from 0 to 4,294,967,295, a
        sequence of such numbers, or None for different draws in each run. With ``workers=1`` or
        with `deterministic`, two runs with the same seed give the same vectors on the same kind of
        processor.
    compute_loss : bool, default False
        Compute the loss of all predictions: see `mean_losses`.
    callbacks : iterable of CallbackAny2Vec, default ()
        Objects, such as an `EarlyStopping`, whose methods are called at the start and at the end of
        training and of each epoch. The model does not keep these objects. So if you pass no corpus
        to the constructor, pass the callbacks to `train` instead.
    workers : int, default 3
        Number of threads, from 1 up. On a cluster, it is the number of threads of each worker task.
        Each thread uses one core. Set it to the number of cores of the machine, because the default
        does not depend on this number.
    batch_words : int, default 10000
        Size of gensim's batches, any number. It has hardly any effect, because training uses work
        units instead of batches, so there is no need to change it. Only the learning rate at the
        end of training depends on it: this is the learning rate at the start of a last batch of
        this size. gensim's last batch is usually shorter, so its learning rate at the end is lower
        by up to the decrease of one batch.
    min_count : int, default 5
        Words that occur fewer times than this are dropped, because a few occurrences are not enough
        for a good vector. Any number is accepted; with 1 or less, all words are kept. Use 1 if
        every word needs a vector, for example if the words are nodes of a graph.
    max_vocab_size : int, optional
        Maximum number of distinct words while words are counted, from 1 up. Whenever there are more
        distinct words, the rarest are dropped, so the counts of rare words become too low. It
        limits the memory that counting needs, but makes counting slow, because gensim's own code
        then counts the words. By default there is no limit.
    max_final_vocab : int, optional
        Maximum number of words in the vocabulary, from 1 up. `min_count` is raised until at most
        this many words are left. Words with the same count are either all kept or all dropped, so
        there may be fewer words. Use it if memory is limited and you don't know which `min_count`
        would be high enough.
    trim_rule : callable, optional
        Function of a word, its count and `min_count` that returns ``gensim.utils.RULE_KEEP``,
        ``RULE_DISCARD`` or ``RULE_DEFAULT``, which applies `min_count`. Use it to keep certain rare
        words, or to drop certain frequent ones. The function is not saved with the model.
    sorted_vocab : 0 or 1, default 1
        Order the words by descending count (1), or keep the order of their first occurrence (0). On
        a cluster, keep the default: with it, frequent words are distributed evenly over the ps
        tasks.
    null_word : 0 or 1, default 0
        Add gensim's null word, ``chr(0)``, to the vocabulary. Only Doc2Vec with `dm_concat` uses
        this word, for positions outside of a document, and it adds the word automatically.
    hashfxn : callable, default hash
        Hash function, kept for compatibility: initial vectors do not depend on it, as in gensim 4.
    comment : str, optional
        Any text that describes the model. The text is saved with the model.
    corrected_cbow : bool, default False
        Update CBOW's input rows by the exact gradient of the loss. With `cbow_mean`, the gradient
        contains the factor 1 / (number of words in the window), which gensim omits (Irsoy, Benton
        and Stratos 2021, "Corrected CBOW Performs as well as Skip-gram"). The smaller updates need
        a larger `alpha`: the authors' program, kōan, uses 0.075 in its example.
    deterministic : bool, default False
        Produce bit-identical results from the same `seed` with any number of `workers` and of
        tasks of a `cluster`. (Results on one machine and on a cluster differ.) Training is slower.
        Cannot be combined with `regime`.
    cluster : str or Cluster, optional
        Cluster on which to train. With ``"local:ps=2,worker=4"``, each call of `train` starts tasks
        on this machine. With ``"TF_CONFIG"``, the running tasks that the environment variable
        ``TF_CONFIG`` describes are used, and with a `Cluster`, the running tasks at its addresses.
        By default, the model is trained in this process, without a cluster.
    regime : RegimeOptions or str, optional
        Distributed training strategy: `Asynchronous`, `Synchronous`, `Downpour`, `SubModels` or
        `Sandblaster`, or its name, with or without options (``"downpour:n_fetch=8"``). The default
        on a cluster is ``"asynchronous"``; without a cluster, threads share the rows by default. If
        you set a regime without a cluster, `workers` threads take the place of the worker tasks.
    layout : "rows" or "columns", default "rows"
        Distribution of the arrays over a cluster's ps tasks. With ``"rows"``, workers fetch and
        push rows. With ``"columns"``, each ps task holds some columns of every row, and computes
        with these columns itself (Ordentlich et al. 2016, "Network-Efficient Distributed Word2vec
        Training System for Large Vocabularies"). Try columns if the network is the bottleneck,
        `vector_size` is 1,000 or more, and there are at most four ps tasks.
    wire : "int8", "bfloat16" or "float32", default "int8"
        Type of the numbers in which rows and their changes are sent between a cluster's workers and
        its ps tasks. (The ps tasks keep rows as float32.) With ``"int8"``, each row has a scale,
        and changes are rounded up or down at random. With ``"bfloat16"``, numbers are rounded less,
        and traffic is twice as much. With ``"float32"``, numbers are not rounded, and traffic is
        four times as much. If the TensorFlow fallback trains instead of the compiled kernels,
        ``"int8"`` means ``"bfloat16"``.
    checkpoint_dir : str or path, optional
        Folder for checkpoints. If the folder contains a checkpoint of the same training run,
        `train` resumes from this checkpoint, so after a crash, you only have to run the program
        again. (Corpus, vocabulary and options are compared to find out whether it is the same run.)
        The numbers of workers, threads and ps tasks may be different the second time. But with
        `deterministic`, train on a cluster both times, or without one both times.
    checkpoint_minutes : float, default 10.0
        Minutes between checkpoints, above 0. Besides, there is a checkpoint after each epoch; with
        ``float("inf")``, there are only these. On a cluster, checkpoints are kept in memory even
        without `checkpoint_dir`: if a ps task is lost, training continues from the last checkpoint.
        With fewer minutes, less has to be trained again after a failure, but checkpoints take more
        time.
    log_dir : str, path or TensorBoardLog, optional
        Folder to which `train` writes what TensorBoard shows: the loss, the learning rate, the
        speed, neighbours of some words, the vectors for TensorBoard's projector, and the CPU time,
        memory and network traffic of each process. To set further options, pass a `TensorBoardLog`.
        Use a separate folder for each training run.
    progress : bool, optional
        Whether to show on stderr the progress of counting words, of starting a cluster and of
        training. By default, progress is shown on terminals and in notebooks.
    encoded_dir : str or path, optional
        Folder in which a temporary folder for the encoded corpus is made; by default Python's
        folder for temporary files. The encoded corpus takes 4 bytes per word, and twice as much
        while the vocabulary is built. If the workers of a cluster can access both this folder and
        the corpus, they read the corpus in parallel.
    tables_dir : str or path, optional
        Folder for the files in which the arrays of the model (``wv.vectors``, ``syn1neg``,
        ``syn1``) are kept and mapped into memory. Use it to train a model on a cluster whose arrays
        are larger than the memory of this machine. By default, the arrays of a model that is
        trained on a cluster are kept in a temporary folder if they are larger than a quarter of
        this machine's memory. The files take 4 bytes per number, and twice as much while new rows
        are written. See docs/large-models.md.

    Raises
    ------
    ValueError
        If `vector_size`, `window` or `workers` is below 1, `negative` is below 0 or too large,
        `checkpoint_minutes` is not above 0, or a number is not finite; if `regime`, `layout`,
        `wire` or `log_dir` is invalid; if both `hs` and `negative` are 0, or `epochs` is below 1,
        when training starts; or if the regime cannot train this objective.
    TypeError
        If a value is of the wrong type: `sentences`, too, if it is a path, a data frame or a
        generator; or if both `sentences` and `corpus_file` are set.
    ClusterError
        If `cluster` or ``TF_CONFIG`` is not a valid description of a cluster.

    Attributes
    ----------
    wv : gensim.models.KeyedVectors
        Vectors of the words: ``wv["word"]``, ``wv.most_similar("word")``, ``wv.vectors`` [V, D].
    mean_losses : list of float
        Mean loss per prediction in each epoch of the last `train`, in nats, if `compute_loss` is
        set. Here, the prediction of a word from one word of its window (skip-gram) or from all
        words of its window (CBOW) counts as one prediction. With `log_dir` but without
        `compute_loss`, the mean covers a sixteenth of the predictions. ``running_training_loss`` is
        the sum over all epochs, as in gensim.
    learn_hidden : bool
        False if `train` updates only ``wv.vectors``, and does not change ``syn1neg`` and ``syn1``.
        This is the case in models that `train_slice` returns. Such models can't be trained on a
        cluster or with a `regime`.
    stop_training : bool
        If a callback sets it to True, training ends after the current epoch.
    history, best_epoch, best_score
        Results of the last `EarlyStopping`. Without one, `history` is empty, and the other two are
        None.
    kernel : str, optional
        Instruction set of the kernel that `deterministic` training used, such as ``"avx2"``.
    traffic : Traffic, optional
        Bytes that were sent, repeated work units, staleness and times of the last `train`, if it
        was on a cluster or with a `regime`; otherwise None.
    merge_report : MergeReport, optional
        Numbers of words that were in all sub-models, or in only some of them. `merge_models` sets
        it, and so does `train` with the regime `SubModels`.

    Notes
    -----
    `copy.copy`, `copy.deepcopy` and pickle keep all parameters. `save` leaves out the parameters
    from `cluster` on, which determine only how a model is trained. If you train a model and its
    copy at the same time, set a different `checkpoint_dir` for the copy, because otherwise its
    training is refused. Set a different `log_dir`, too, because otherwise TensorBoard shows both
    curves as one.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> model = TFWord2Vec(common_texts, vector_size=20, min_count=1)
    >>> model.wv["computer"].shape
    (20,)
    """

    _kinds = attributes_of("Word2Vec")
    _signature = inspect.Signature(
        [*inspect.signature(Word2Vec).parameters.values(), *OWN_PARAMETERS]
    )
    __signature__ = _signature
    wv: KeyedVectors
    # The end of this module sets the defaults as class attributes, so that models that gensim's
    # class has saved have them, too.
    cluster: str | Cluster | None
    regime: RegimeOptions | str | None
    layout: str
    wire: str
    checkpoint_dir: str | os.PathLike[str] | None
    checkpoint_minutes: float
    log_dir: str | os.PathLike[str] | TensorBoardLog | None
    progress: bool | None
    encoded_dir: str | os.PathLike[str] | None
    tables_dir: str | os.PathLike[str] | None
    corrected_cbow: bool
    deterministic: bool
    negative_shards: int  # an experiment: see docs/layouts.md
    learn_hidden: bool
    kernel: str | None = None
    mean_losses: Sequence[float] = ()
    history: Sequence[float] = ()
    best_epoch: int | None = None
    best_score: float | None = None
    stop_training = False
    traffic: Traffic | None = None
    merge_report: MergeReport | None = None
    _state: ModelState
    _known_tags: Any = None  # TFDoc2Vec overrides it by a property: the tags of `dv`

    def __init__(self, *args: Any, **kwargs: Unpack[Word2VecOptions]) -> None:
        arguments = self._bind_arguments(*args, **kwargs)
        own_options = {name: arguments.pop(name) for name in (*OWN, *RUNNING)}
        if own_options["tables_dir"] is not None and self.has_subwords:
            raise ValueError(
                f"tables_dir cannot be used with {self._gensim_class.__name__}, which has further "
                "arrays, always kept in memory: leave it out"
            )
        for name, value in own_options.items():
            if isinstance(value, os.PathLike):
                own_options[name] = os.fspath(value)
            elif ARGUMENTS[name] is truth:
                own_options[name] = bool(value)
        self._parse(arguments | own_options, ARGUMENTS)
        self.__dict__.update(own_options)
        self._check_folders()
        if self._overrides:
            check_overrides(self, self._overrides)  # raises before a corpus is read
        self._state.corpus_reader.keeps_scan = True
        try:
            super().__init__(**arguments)
        finally:
            self._state.corpus_reader = CorpusReader()  # dropping the old one frees the corpus

    @classmethod
    def _bind_arguments(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return all arguments of the constructor by name, including defaults."""
        refuse_renamed(f"{cls.__name__}()", kwargs)
        try:
            bound_arguments = cls._signature.bind(*args, **kwargs)
        except TypeError as error:
            unknown_names = [name for name in kwargs if name not in cls._signature.parameters]
            similar_names = get_close_matches(
                next(iter(unknown_names), ""), cls._signature.parameters, 1, 0.75
            )
            hint = f"; did you mean {similar_names[0]}?" if similar_names else ""
            raise TypeError(f"{cls.__name__}() {error}{hint}") from None
        bound_arguments.apply_defaults()
        return bound_arguments.arguments

    def index(self, documents: bool = False, **options: Any) -> NeighbourIndex:
        """Build an index of the vectors, for fast ``wv.most_similar(..., indexer=index)``.

        Parameters
        ----------
        documents : bool, default False
            Use the vectors of documents (``dv``) of a `TFDoc2Vec`, instead of the vectors of words.
        **options
            Parameters of `NeighbourIndex`: `dtype`, `connectivity`, `expansion_add`,
            `expansion_search`, `workers` and `progress`. By default, `workers` and `progress` are
            those of the model.

        Returns
        -------
        NeighbourIndex
            The index. If the vectors change later, the index does not change with them.
        """
        from gensim_tfw2v.neighbours.neighbour_index import NeighbourIndex

        options = {"workers": self.workers, "progress": self.progress} | options
        return NeighbourIndex(self.dv if documents else self.wv, **options)

    def init_weights(self) -> None:
        """Initialize the weights as gensim does, in files of `tables_dir` if it is set."""
        refuse_while_used(self._state)
        self._state.is_new = True
        if self.has_subwords:
            with extended_outputs(self):
                super().init_weights()
        else:
            folder = self._choose_tables_folder()
            location = "" if folder is None else f", in files of {folder}"
            logger.info("resetting layer weights%s", location)
            init_weights(self, folder)

    def _choose_tables_folder(self) -> Path | None:
        """Return the folder for files of the arrays; None to keep these in memory.

        It is `tables_dir`, or a temporary folder for a model that a cluster trains, and that would
        take more than `MEMORY_SHARE` of this machine's memory.
        """
        self._state.tables_folder = None
        config = self._current_config()
        if config.tables_dir is not None:
            return config.tables_dir
        if config.cluster is None or config.regime_of_workers.trains_apart:
            return None
        import psutil

        from gensim_tfw2v.files.mapped import MEMORY_SHARE

        n_bytes = array_bytes(self)
        if n_bytes <= MEMORY_SHARE * psutil.virtual_memory().total:
            return None
        self._state.tables_folder = TemporaryFolder("tables", self.encoded_dir)
        logger.info(
            "the model's arrays take %i MiB, too much of this machine's memory: only the ps tasks "
            "hold them, and they are exchanged through files of a temporary folder (tables_dir "
            "chooses a different one)",
            n_bytes >> 20,
        )
        return self._state.tables_folder.folder

    def make_cum_table(self, domain: int = 2**31 - 1) -> None:
        """Make gensim's table of the noise distribution, [V], faster, with bit-identical values.

        `build_vocab` calls this method. Call it yourself after you have changed `ns_exponent` or
        counts of words. Words whose count is 0, such as those that `wv.add_vector` has added, are
        never drawn.

        Parameters
        ----------
        domain : int, default 2147483647
            Last value of the table, from 1 up. There is no need to change it.

        Raises
        ------
        ValueError
            If the counts raised to `ns_exponent` are all 0 or not finite.
        """
        counts = self.wv.expandos.get("count", ())
        self.cum_table = noise_table(counts, self.ns_exponent, domain)

    def score(
        self,
        sentences: Iterable[Sequence[str]],
        total_sentences: int = 1_000_000,
        chunksize: int = 100,
        queue_factor: int = 2,
        report_delay: float = 1,
    ) -> np.ndarray:
        """Compute how probable sentences are for a model of hierarchical softmax, by gensim's code.

        Parameters
        ----------
        sentences : iterable of sequences of str
            Sentences to score. Words that are not in the vocabulary are skipped.
        total_sentences : int, default 1000000
            Maximum number of sentences to score, from 1 up. Further sentences are ignored.
        chunksize : int, default 100
            Number of sentences that a thread scores at a time, from 1 up.
        queue_factor : int, default 2
            Number of chunks that are read in advance for each thread, from 1 up.
        report_delay : float, default 1
            Seconds between two messages of progress in the log, any number.

        Returns
        -------
        ndarray [n], float32
            For each sentence, the sum of the logarithms of its predictions' probabilities. To
            compare sentences of different lengths, divide each score by the number of words.

        Raises
        ------
        RuntimeError
            If the model has no hierarchical softmax (``hs=0``) or no vocabulary.
        """
        make_contiguous(self)
        return super().score(
            lists_for_gensim(sentences), total_sentences, chunksize, queue_factor, report_delay
        )

    # `guard_methods`, at the end of this module, replaces these three by methods with the same
    # signatures and docstrings that call gensim's, safely.

    def build_vocab(
        self,
        corpus_iterable: Iterable[Sequence[str]] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        update: bool = False,
        progress_per: int = 10000,
        keep_raw_vocab: bool = False,
        trim_rule: Callable[[str, int, int], int] | None = None,
        **kwargs: Any,
    ) -> None:
        """Count the words of a corpus, and choose those that get vectors.

        The constructor does this with its corpus. Call it to look at the vocabulary before
        training, or, with `update`, to add the words of a new text to a trained model. A call that
        fails or is interrupted leaves the model as it was.

        Parameters
        ----------
        corpus_iterable : iterable of sequences of str, optional
            The corpus, as for the constructor's `sentences`. It is read only once, so it may also
            be a generator.
        corpus_file : str or path, optional
            The corpus, as for the constructor's `corpus_file`. Pass either `corpus_iterable` or
            `corpus_file`.
        update : bool, default False
            Add the new words of this corpus to the vocabulary, and keep the vectors of known words.
            A new word must occur at least `min_count` times in this corpus. If False, a new
            vocabulary replaces the old one, and all vectors are initialized.
        progress_per : int, default 10000
            Number of sentences between two messages of the log, from 1 up. It has an effect only
            with `max_vocab_size`, because gensim's own code then counts the words.
        keep_raw_vocab : bool, default False
            Keep the counts of all words, including the dropped ones, in ``model.raw_vocab``.
        trim_rule : callable, optional
            Rule that decides which words are kept and which are dropped, as for the constructor's
            `trim_rule`.
        **kwargs
            Values of `min_count` and `sample`, if they should differ from those of the model.

        Raises
        ------
        TypeError, ValueError, CorpusDecodeError
            If the corpus cannot be read, as for `scan_vocab`.
        RuntimeError
            If the model is being trained.
        """

    def build_vocab_from_freq(
        self,
        word_freq: dict[str, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: Callable[[str, int, int], int] | None = None,
        update: bool = False,
    ) -> None:
        """Build the vocabulary from counts of words instead of a corpus.

        Parameters
        ----------
        word_freq : dict from str to int
            Count of each word, from 1 up.
        keep_raw_vocab : bool, default False
            Keep the counts of all words, including the dropped ones, in ``model.raw_vocab``.
        corpus_count : int, optional
            Number of sentences of the corpus that will be trained on, from 0 up. It is only stored,
            as ``model.corpus_count``, for ``train(total_examples=model.corpus_count)``; 0 by
            default.
        trim_rule : callable, optional
            Rule that decides which words are kept and which are dropped, as for the constructor's
            `trim_rule`.
        update : bool, default False
            Add the new words to the vocabulary, and keep the vectors of known words, as
            `build_vocab` does.

        Raises
        ------
        RuntimeError
            If the model is being trained.
        """

    def reset_from(self, other_model: Word2Vec) -> None:
        """Take over the vocabulary of another model, and initialize all vectors.

        Use it to train several models with different options on one corpus, without counting its
        words again. Both models then share words, counts and the noise distribution, so don't
        change the vocabulary of either model afterwards.

        Parameters
        ----------
        other_model : Word2Vec
            Model with the vocabulary, of the same class.

        Raises
        ------
        RuntimeError
            If the model is being trained.
        """

    def __getattr__(self, name: str) -> Any:
        if name == "_state":  # a new, copied, loaded or converted model has no state
            # setdefault is atomic, so that concurrent threads get the same state
            return self.__dict__.setdefault(name, ModelState())
        if name in RENAMED:
            raise AttributeError(f"no attribute {name!r}: gensim 4 calls it {RENAMED[name]}")
        return super().__getattribute__(name)  # raises Python's AttributeError

    def __repr__(self) -> str:
        return str(self)  # gensim's: number of words, vector_size, alpha

    def add_null_word(self) -> None:
        """Add gensim's null word, unless the vocabulary has it: gensim would add it again."""
        if NULL_WORD not in self.wv.key_to_index:
            super().add_null_word()

    def scan_vocab(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        progress_per: int = 10000,
        workers: int | None = None,
        trim_rule: Any = None,
    ) -> tuple[int, int]:
        """Count the words of a corpus, the first step of `build_vocab`.

        The encoded text is kept, so training on the same corpus doesn't read it again. With
        `max_vocab_size`, which prunes while counting, or if a subclass overrides `_scan_vocab`,
        gensim's own code counts.

        Parameters
        ----------
        corpus_iterable : iterable of sequences of str, optional
            The corpus, as for `build_vocab`.
        corpus_file : str or path, optional
            The corpus, as for `build_vocab`.
        progress_per : int, default 10000
            Number of sentences between two messages of the log, from 1 up, if gensim's own code
            counts. Otherwise it has no effect.
        workers : int, optional
            No effect, as in gensim; any number.
        trim_rule : callable, optional
            Rule for words to keep or to drop while gensim's own code counts.

        Returns
        -------
        (int, int)
            Numbers of words and of sentences in the corpus.

        Raises
        ------
        TypeError
            If `corpus_iterable` is a path or a data frame; or if gensim's own code counts, and
            `corpus_file` is a pipe, or `corpus_iterable` is an iterator that is also trained on.
        ValueError
            If `corpus_file` is not a text, but a table, for example, or a PDF document.
        CorpusDecodeError
            If the corpus is not UTF-8.
        """
        refuse_while_used(self._state)
        if corpus_iterable is not None:
            check_sentences(corpus_iterable)
        is_overridden = type(self)._scan_vocab is not self._gensim_class._scan_vocab
        uses_gensim = self.max_vocab_size or is_overridden
        if uses_gensim and corpus_file is not None and is_pipe(corpus_file):
            raise TypeError(
                "with max_vocab_size, or an overridden _scan_vocab, a corpus is read twice, but "
                f"{corpus_file} is a pipe, which can be read only once: write the text to a file"
            )
        is_read_again = self._state.corpus_reader.keeps_scan and (uses_gensim or self._overrides)
        if is_read_again and isinstance(corpus_iterable, Iterator):
            raise TypeError(
                "with max_vocab_size, or an overridden method of gensim's, a corpus is read twice, "
                f"but an iterator ({type(corpus_iterable).__name__}) can be read only once: pass a "
                "list, or another object that can be iterated several times"
            )
        if uses_gensim and corpus_file is not None:
            whole_file(os.fspath(corpus_file))  # raises an error for files that are not texts
        config = self._current_config()
        self._open_process_launcher(config)  # tasks start while the corpus is read
        if uses_gensim:
            corpus_iterable = lists_for_gensim(corpus_iterable)
            with phase("counting words", self.progress):
                return super().scan_vocab(
                    corpus_iterable, corpus_file, progress_per, trim_rule=trim_rule
                )
        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        if source is None:
            raise TypeError("no corpus: pass corpus_iterable or corpus_file")
        scan = self._state.corpus_reader.scan(source, config, self._state.new_tags)
        self.raw_vocab = scan.raw_vocab
        return scan.total_words, scan.corpus_count

    def train(
        self,
        corpus_iterable: Iterable[Sequence[str]] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        word_count: int = 0,
        queue_factor: int = 2,
        report_delay: float = 1.0,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        **kwargs: Any,
    ) -> tuple[int, int]:
        """Train on a corpus; parameters, return value and callbacks are gensim's.

        If you pass a corpus to the constructor, it calls this method. Call `train` yourself after
        `build_vocab`, or to train a model further, as in ``model.train(corpus,
        total_examples=model.corpus_count, epochs=model.epochs)``.

        Parameters
        ----------
        corpus_iterable : iterable of sequences of str, optional
            The corpus, as for the constructor's `sentences` (for `TFDoc2Vec`, its `documents`).
            Words that are not in the vocabulary are skipped.
        corpus_file : str or path, optional
            The corpus, as for the constructor's `corpus_file`. Pass either `corpus_iterable` or
            `corpus_file`.
        total_examples : int, optional
            Number of sentences in the corpus, from 1 up: ``model.corpus_count`` if `build_vocab`
            has read the same corpus. The learning rate falls with the share of the corpus that has
            been trained on, so this or `total_words` is required.
        total_words : int, optional
            Number of words in the corpus, from 1 up: ``model.corpus_total_words`` if `build_vocab`
            has read the same corpus. Required with `corpus_file`.
        epochs : int
            Number of passes over the corpus, from 1 up. It must be passed, usually as
            ``model.epochs``. The model's `epochs` is set to this number.
        start_alpha : float, optional
            Learning rate at the start, any finite number; by default, or if 0, the model's `alpha`.
            The model's `alpha` is set to this number.
        end_alpha : float, optional
            Learning rate at the end, any finite number; by default, or if 0, the model's
            `min_alpha`. The model's `min_alpha` is set to this number.
        word_count : int, default 0
            No effect; any number.
        queue_factor : int, default 2
            No effect; any number.
        report_delay : float, default 1.0
            Seconds between two messages of progress in the log, any number.
        compute_loss : bool, default False
            Compute the loss of all predictions: see `mean_losses`. It replaces the model's own
            `compute_loss`, so pass True in each call that should compute the loss.
        callbacks : iterable of CallbackAny2Vec, default ()
            Objects whose methods are called at the start and the end of training and of each epoch.
        **kwargs
            Arguments for the method `_train_epoch` of a subclass that overrides it. Otherwise,
            there must be none.

        Returns
        -------
        (int, int)
            Words trained on after subsampling, and raw words, summed over the epochs.

        Raises
        ------
        Divergence
            If training diverges. The vectors of the last complete epoch are kept, unless a model's
            first training run diverges on one machine (see docs/regimes/local.md): they are lost.
        ValueError
            If `epochs` is missing or below 1, or both `total_examples` and `total_words` are
            missing; if `corpus_file` is not a text, but a table, for example, or a PDF document; if
            the initial vectors are not finite, or the length of ``wv.vectors_lockf`` is neither 1
            nor V.
        TypeError
            If `corpus_iterable` is not an iterable of sentences, but a path or a data frame; if
            both or neither of `corpus_iterable` and `corpus_file` are passed.
        RuntimeError
            If the vocabulary was not built, or has no word of the corpus; if the model is already
            being trained, by another thread or by the `train` that runs this callback; or if a
            callback or another thread changes something that must not change during training, such
            as the vocabulary.
        CorpusDecodeError
            If the corpus is not UTF-8.
        CheckpointError
            If `checkpoint_dir` belongs to a different training run or is in use.
        MissingTasks, TaskEnded, OtherVersion, MissingKernels
            If the cluster cannot be used.
        ClusterLost
            If a cluster has repeatedly lost its parameters, or has lost all of its workers.
        KeyboardInterrupt
            On Ctrl-C, when the running work units are trained. The vectors trained so far are in
            the model, and in a checkpoint if `checkpoint_dir` is set.
        """
        arguments = locals() | kwargs
        refuse_renamed("train()", kwargs)
        for name in ("self", "kwargs", "__class__"):
            del arguments[name]
        attributes = vars(self).copy()
        n_events = len(attributes.get("lifecycle_events") or ())
        state = self._state
        claim(state, TRAINING)
        try:
            config = self._check(arguments)
            if self._overrides:
                reason = check_overrides(self, self._overrides)
                logger.warning("%s: gensim's code trains this model, at gensim's speed", reason)
                make_contiguous(self)
                arguments["corpus_iterable"] = lists_for_gensim(corpus_iterable)
            self._open_process_launcher(config)
            self.mean_losses = []
            for name in STOPPING_RESULTS:
                self.__dict__.pop(name, None)
            self.stop_training = False
            state.report_delay = report_delay
            if callbacks:
                arguments["callbacks"] = [StoppableCallbacks(callbacks)]
            counts = super().train(**arguments)
            if self.stop_training and state.training is not None:
                state.training.finish()
            return counts
        except BaseException as error:
            if state.training is None and not self._overrides:  # nothing was trained
                for name in TRAIN_ATTRIBUTES:
                    self.__dict__.pop(name, None)
                    if name in attributes:
                        self.__dict__[name] = attributes[name]
                del (self.lifecycle_events or [])[n_events:]
            elif not isinstance(error, Exception):  # Ctrl-C, or SystemExit from a signal's handler
                if state.training is not None:
                    state.training.interrupt()
                self._clear_post_train()
            raise
        finally:
            self._end_training()

    @defer_interrupts()
    def _end_training(self) -> None:
        """Free what `train` has used; afterwards, nothing is written or trained any longer."""
        state = self._state
        training = state.training
        try:
            if training is not None:
                self.traffic = training.traffic
                if training.log is not None:
                    state.logged_until = training.log.reached
                state.is_new = False
                if self.checkpoint_dir is not None:
                    state.restored_words = training.restored[0]
                training.close()
            if state.process_launcher is not None:
                state.process_launcher.close()
        finally:
            state.training = None
            state.source = None
            state.process_launcher = None
            self.__dict__.pop("stop_training", None)
            state.user = None

    def partial_fit(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        epochs: int = 1,
        alpha: float | None = None,
        end_alpha: float | None = None,
        compute_loss: bool | None = None,
        callbacks: Iterable[Any] = (),
    ) -> tuple[int, int]:
        """Train on the next part of a stream, after adding its new words to the vocabulary.

        The part is read only once. It may be a generator if `epochs` is 1 and `max_vocab_size` is
        None. The options of the model do not change. A new word is added if it occurs at least
        `min_count` times in the part, so parts should not be small.

        Parameters
        ----------
        corpus_iterable : iterable of sequences of str, optional
            The next part of the stream: sentences, or for `TFDoc2Vec`, documents.
        corpus_file : str or path, optional
            The next part of the stream, as a text file with one sentence per line. Pass either
            `corpus_iterable` or `corpus_file`.
        epochs : int, default 1
            Number of passes over the part, from 1 up. With more passes, the model learns more from
            this part, but forgets more of the earlier parts.
        alpha : float, optional
            Learning rate, any finite number; by default the model's `alpha`.
        end_alpha : float, optional
            Learning rate at the end, any finite number; by default `alpha`. The learning rate is
            then constant, which suits a stream whose end is not known.
        compute_loss : bool, optional
            Compute the loss, as for `train`; by default the model's `compute_loss`.
        callbacks : iterable of CallbackAny2Vec, default ()
            Objects whose methods are called at the start and the end of training and of each epoch.

        Returns
        -------
        (int, int)
            Words trained on after subsampling, and raw words, as `train` returns them.

        Raises
        ------
        ValueError, TypeError
            If `epochs`, `alpha` or `end_alpha` is invalid, or the corpus, as in `train`.
        RuntimeError, Divergence
            As in `train`.
        """
        refuse_while_used(self._state)
        Whole(1, exact=True)("epochs", epochs)
        self._check({"start_alpha": alpha, "end_alpha": end_alpha, "callbacks": callbacks})
        if self._overrides:  # gensim's code reads the part again for each epoch
            check_overrides(self, self._overrides)
            self._check_corpus_sanity(corpus_iterable, corpus_file, passes=1 + epochs)
        names = ("alpha", "min_alpha", "epochs", "compute_loss")  # `train` sets them
        options: dict[str, Any] = {name: vars(self)[name] for name in names}
        alpha = options["alpha"] if alpha is None else alpha
        try:
            self._state.corpus_reader.keeps_scan = True
            self.build_vocab(corpus_iterable, corpus_file, update=len(self.wv) > 0)
            return self.train(
                corpus_iterable,
                corpus_file,
                total_examples=self.corpus_count,
                total_words=self.corpus_total_words,
                epochs=epochs,
                start_alpha=alpha,
                end_alpha=alpha if end_alpha is None else end_alpha,
                compute_loss=self.compute_loss if compute_loss is None else compute_loss,
                callbacks=callbacks,
            )
        finally:
            self._state.corpus_reader = CorpusReader()
            self.__dict__.update(options)

    def held_out_loss(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
    ) -> float:
        """Compute the loss on a text that the model was not trained on; the model does not change.

        Parameters
        ----------
        corpus_iterable : iterable of sequences of str, optional
            The text: sentences, or for `TFDoc2Vec`, documents. Words that are not in the vocabulary
            are skipped, and so are unknown tags of documents. DBOW predicts nothing for documents
            without known tags.
        corpus_file : str or path, optional
            The text, as a file with one sentence per line. Pass either `corpus_iterable` or
            `corpus_file`.

        Returns
        -------
        float
            Mean loss per prediction, in nats, as in `mean_losses`; lower is better. Without `hs`,
            it is about (1 + `negative`) ln 2 for a new model. Losses are comparable if vocabulary,
            objective, window, `negative` and `sample` are the same.

        Raises
        ------
        TypeError
            If neither or both are passed, or the file does not exist, as in gensim's `train`; or
            if `corpus_iterable` is a path or a data frame.
        ValueError
            If `corpus_file` is not a text; if no sentence has two known words, so that nothing is
            predicted; or if the model's vectors are not finite.
        """
        from gensim_tfw2v.training.held_out import held_out_loss

        self._check_corpus_sanity(
            corpus_iterable=corpus_iterable, corpus_file=corpus_file, passes=1
        )
        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        assert source is not None
        return held_out_loss(self, source)

    def _check_folders(self) -> None:
        for name in FOLDERS:
            if folder := getattr(self, name):
                check_folder(name, getattr(folder, "folder", folder))

    def _parse(self, options: Mapping[str, Any], kinds: Mapping[str, Kind]) -> TrainingConfig:
        """Validate options, and cache the result for `_current_config`."""
        config = TrainingConfig.parse(options, kinds, self.has_subwords, self.has_documents)
        self._state.config = config
        self._state.option_values = [options.get(name, DEFAULTS[name]) for name in self._kinds]
        return config

    def _current_config(self) -> TrainingConfig:
        """Return the validated options; validate them again if an attribute was replaced."""
        config = self._state.config
        options = {name: getattr(self, name) for name in self._kinds}
        is_same = all(map(operator.is_, options.values(), self._state.option_values))
        # the environment variable TF_CONFIG may have changed
        if config is not None and is_same and self.cluster != "TF_CONFIG":
            return config
        return self._parse(options, self._kinds)

    def _check(self, arguments: Mapping[str, Any]) -> TrainingConfig:
        """Complete the attributes of words that were added, and raise if training cannot run."""
        for name, kind in TRAIN_ARGUMENTS.items():
            if name in arguments:
                kind(name, arguments[name])
        config = self._current_config()
        self._check_folders()
        complete_added_words(self)
        check_state(self, config)
        check_learns(self)
        return config

    def _check_corpus_sanity(
        self, corpus_iterable: Any = None, corpus_file: Any = None, passes: int = 1
    ) -> None:
        """Run gensim's checks, but also accept compressed files and pipes.

        Raises
        ------
        TypeError
            As gensim's; also if the corpus is a path instead of sentences, or a data frame.
        """
        is_file = corpus_iterable is None and corpus_file is not None
        if corpus_iterable is not None:
            check_sentences(corpus_iterable)
        if is_file and not isinstance(corpus_file, str | os.PathLike):
            check_frame(corpus_file)
            raise TypeError(
                "Parameter corpus_file must be a valid path to a file, got "
                f"{quoted(corpus_file)} instead"
            )
        try:
            super()._check_corpus_sanity(
                corpus_iterable=corpus_iterable, corpus_file=corpus_file, passes=passes
            )
        except TypeError as error:
            if is_file and os.path.isdir(corpus_file):
                raise TypeError(f"{error}: it is a folder; {folder_advice(corpus_file)}") from None
            if not is_file or self._overrides:  # gensim's code reads only plain files
                raise
            suffix = os.path.splitext(corpus_file)[1].lower()
            if not (suffix in COMPRESSED if os.path.isfile(corpus_file) else is_pipe(corpus_file)):
                raise
        if is_file and self._overrides:  # unlike our reader, gensim's does not check the file
            whole_file(os.fspath(corpus_file))

    @property
    def _overrides(self) -> list[str]:
        """Methods that only gensim's code calls, and that the class or object overrides.

        If there are any, gensim's code trains the model.
        """
        return [
            name
            for name in THREAD_METHODS
            if getattr(getattr(self, name), "__func__", None)
            is not getattr(self._gensim_class, name)
        ]

    def _open_process_launcher(self, config: TrainingConfig) -> None:
        """Start a local cluster's processes in the background, if the model trains on one."""
        if isinstance(config.cluster, LocalTasks) and self._state.process_launcher is None:
            from gensim_tfw2v.cluster.launcher import ProcessLauncher

            self._state.process_launcher = ProcessLauncher()

    def _clear_post_train(self) -> None:
        """Recompute the norms; unlike gensim's hook, never leave them None for other threads."""
        renew_norms(self)

    def _log_train_end(  # gensim calls this method when training has ended
        self, raw_word_count: int, trained_word_count: int, total_elapsed: float, job_tally: int
    ) -> None:
        training = self._state.training
        n_raw_words, n_trained_words = (0, 0) if training is None else training.restored
        super()._log_train_end(
            raw_word_count - n_raw_words,
            trained_word_count - n_trained_words,
            total_elapsed,
            job_tally,
        )

    def _train_epoch(  # gensim calls this method if the corpus is an iterable
        self, data_iterable: Iterable[list[str]], *args: Any, **kwargs: Any
    ) -> tuple[int, int, int]:
        if self.stop_training:
            return 0, 0, 0
        if self._overrides:
            return super()._train_epoch(data_iterable, *args, **kwargs)
        return self._train_on(data_iterable, *args, **kwargs)

    def _train_epoch_corpusfile(  # gensim calls this method if the corpus is a file
        self, corpus_file: str, *, total_words: int | None = None, **kwargs: Any
    ) -> tuple[int, int, int]:
        if self.stop_training:
            return 0, 0, 0
        if self._overrides:
            return super()._train_epoch_corpusfile(corpus_file, total_words=total_words, **kwargs)
        if not total_words:
            raise ValueError("total_words must be provided alongside corpus_file argument.")
        epoch = kwargs.get("cur_epoch", 0)
        examples = kwargs.get("total_examples")
        return self._train_on(
            Path(corpus_file),
            epoch,
            examples,
            total_words,
            report_delay=self._state.report_delay,
            callbacks=kwargs.get("callbacks"),
        )

    def _train_on(
        self,
        source: Source,
        cur_epoch: int = 0,
        total_examples: int | None = None,
        total_words: int | None = None,
        queue_factor: int = 2,  # gensim passes it to each epoch; it has no effect
        report_delay: float = 1.0,
        callbacks: Any = (),
    ) -> tuple[int, int, int]:
        """Train an epoch; the first call of a training run also encodes the corpus."""
        state = self._state
        if state.training is not None:
            is_same = source is state.source
            if isinstance(source, Path):  # made again in each epoch
                is_same = source == state.source
            if not is_same and state.source is not None:
                state.source = None  # one warning is enough
                logger.warning(
                    "an overridden _train_epoch passes another object as the corpus than in the "
                    "first epoch, but train() reads a corpus only once, so all epochs train on the "
                    "first one; call train() for each corpus if they differ"
                )
            state.training.renew()
        else:
            # `train` has checked the model, but callbacks may have changed it since
            is_checked = state.user == TRAINING and not callbacks
            config = self._current_config() if is_checked else self._check({})
            corpus = state.corpus_reader.encode(
                source, self.wv.key_to_index, config, self._known_tags
            )
            class_: type[Training] = Training
            if config.regime_of_workers.trains_apart:
                from gensim_tfw2v.training.sub_model_training import SubModelTraining

                class_ = SubModelTraining
            state.training = class_(self, config, corpus, state.process_launcher)
            state.source = source
        is_file = isinstance(source, Path) and source.suffix.lower() not in COMPRESSED
        expected = Expected(total_examples, total_words, report_delay, is_file)
        return state.training.train_epoch(cur_epoch, expected)


guard_methods(TFWord2Vec)
for _name in (*OWN, *EXPERIMENTAL, *RUNNING):
    setattr(TFWord2Vec, _name, DEFAULTS[_name])


def refuse_renamed(function: str, names: Iterable[str]) -> None:
    """Raise a TypeError for arguments of gensim 3, with their new names."""
    for name in sorted(RENAMED.keys() & names):
        raise TypeError(f"{function} has no {name!r}: gensim 4 calls it {RENAMED[name]}")
