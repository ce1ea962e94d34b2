"""Plan of a training run: the choice of engine, regime and sizes, each made once."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gensim_tfw2v import unit_sizes
from gensim_tfw2v.cluster.spec import LocalTasks
from gensim_tfw2v.compiled_library import Options
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.engines import choose_engine
from gensim_tfw2v.engines.problem import Problem
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.regimes import RegimeOptions
from gensim_tfw2v.processes.threads import cores_per_process
from gensim_tfw2v.regimes import Regime, Setup
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher
    from gensim_tfw2v.parameter_server.engine import Engine
    from gensim_tfw2v.parameter_server.job_config import JobConfig

logger = logging.getLogger(__name__)

#: Maximum window that the kernels accept: see `check_options` in kernel/native/src/c_api.cc.
MAX_KERNEL_WINDOW = 1 << 28


@dataclass(frozen=True, eq=False)
class Plan:
    """Choice of engine, regime and sizes for training a corpus.

    Parameters
    ----------
    options : TrainingConfig
    vocabulary : Vocabulary
    corpus : EncodedCorpus, optional
        None for inference, whose documents are not encoded.
    epochs : int
        Number of epochs of the training.
    loss_every : int
        Interval, in blocks, at which the loss is computed; see `Problem`.
    n_entries : int, optional
        Maximum entries of existing work units; by default, `max_entries` chooses.
    kernel : str
        Name of the kernel to use; "" for the default. See `Problem`.
    """

    options: TrainingConfig
    vocabulary: Vocabulary
    corpus: EncodedCorpus | None
    epochs: int = 1
    loss_every: int = 0
    n_entries: int | None = None
    kernel: str = ""

    @cached_property
    def shares_rows(self) -> bool:
        """Return whether compiled kernels train on shared rows, in threads of this process."""
        options = self.options
        if options.cluster is not None or options.regime is not None:
            return False
        return by_ctypes.is_available() and sizes.kernels_can_train(options.objective)

    @cached_property
    def regime(self) -> RegimeOptions:
        """Options of the regime that trains, unless threads of this process share the rows."""
        return self.options.regime_of_workers

    @cached_property
    def tokens(self) -> int:
        """Number of tokens that a model is trained on per epoch, before subsampling."""
        if self.corpus is None:
            return 1
        tokens = self.corpus.total_tokens
        return tokens if self.shares_rows else int(tokens * self.regime.sample_share)

    @cached_property
    def window(self) -> int:
        """Maximum number of positions on either side of a window's centre."""
        window = self.options.window
        if window <= sizes.NARROW_WINDOW or self.options.concatenated:
            return window
        if self.corpus is None:
            return min(window, MAX_KERNEL_WINDOW)
        return sizes.choose_window(window, self.corpus.longest_sentence)

    @cached_property
    def alpha(self) -> float:
        """Learning rate for which sizes are chosen.

        With Adagrad, rates follow from the updates, so it is the default rate. The larger rates of
        sub-models are not taken into account: on 66 million words, 5 sub-models that were trained
        in blocks had better vectors than by windows, in half the time.
        """
        if self.shares_rows or not self.regime.adapts_alpha:
            return self.options.alpha

        from gensim_tfw2v.graph.step_shape import DEFAULT_ALPHA

        return DEFAULT_ALPHA

    @cached_property
    def problem(self) -> Problem:
        """Description of the training, from which an engine chooses its options.

        Raises
        ------
        ValueError
            If `negative_shards` exceeds the number of words.
        """
        self._check_shards()
        vocabulary = self.vocabulary
        subwords = vocabulary.subwords
        return Problem(
            replace(self.options, alpha=self.alpha),
            n_words=len(vocabulary.counts),
            window=self.window,
            pairs=self.window + 1 if self.options.shrink_windows else 2 * self.window,
            tokens=int(self.tokens * vocabulary.kept_share),
            most_frequent=vocabulary.most_frequent,
            ngram_overlap=subwords.ngram_overlap if subwords else None,
            padding=vocabulary.padding,
            locked=vocabulary.lock is not None,
            loss_every=self.loss_every,
            kernel=self.kernel,
        )

    @cached_property
    def kernel_options(self) -> Options:
        """Options of the compiled kernels that train on rows of this process.

        Raises
        ------
        ValueError
            See `problem`.
        RuntimeError
            If the compiled kernels are not available.
        """
        if not self.shares_rows:
            self.engine.check()  # without kernels, this raises an error with advice
        return sizes.choose_kernel_options(self.problem)

    @cached_property
    def engine(self) -> Engine:
        """Engine that trains on the workers of a regime. Unused if `shares_rows`.

        Raises
        ------
        RuntimeError
            If training needs the compiled kernels, and they are not available.
        """
        return choose_engine(self.problem)

    @property
    def shape(self) -> Any:
        """Sizes of blocks: attributes ``block`` and ``shared``, as in `Engine.shape`."""
        return self.kernel_options if self.shares_rows else self.engine.shape

    def step_tokens(self) -> float:
        """Return the number of tokens, before subsampling, per step of the TensorFlow fallback."""
        from gensim_tfw2v.graph.step_shape import problem_step_shape

        tokens = problem_step_shape(self.problem).tokens
        return tokens / max(1e-9, self.vocabulary.kept_share)

    @cached_property
    def workers_and_threads(self) -> tuple[int, int]:
        """Number of workers, and of threads per worker. Workers on one machine share its cores.

        Deterministic training on a cluster has the same number of parallel jobs, of one thread
        each, whatever the number of workers.
        """
        options = self.options
        if options.deterministic and not self.shares_rows:
            return unit_sizes.ROUND_JOBS, 1
        if options.cluster is None:
            return options.workers, 1
        if isinstance(options.cluster, LocalTasks):
            workers = options.cluster.n_workers
            return workers, min(options.workers, cores_per_process(workers))
        return len(options.cluster.worker), options.workers

    @cached_property
    def max_entries(self) -> int:
        """Maximum entries of a work unit."""
        if self.n_entries is not None:
            return self.n_entries
        options = self.options
        shape = self.shape
        limit = max(
            unit_sizes.MIN_ENTRIES, unit_sizes.MAX_UNIT_NEGATIVES * shape.block // shape.shared
        )
        if self.shares_rows:
            return min(
                limit, unit_sizes.PAIRED_ENTRIES if options.dbow_words else unit_sizes.UNIT_ENTRIES
            )
        regime = self.regime
        workers, threads = self.workers_and_threads
        entries = unit_sizes.choose_unit_entries(
            self.tokens,
            threads if regime.trains_apart else workers * threads,
            self.epochs,
            regime.combines_by_direction,
            options.deterministic,
        )
        return regime.unit_entries(min(limit, entries), self.step_tokens)

    @cached_property
    def effective_step(self) -> float:
        """Effective step of an input at one position; see `sizes.effective_step`."""
        return sizes.effective_step(self.options.objective, self.problem.pairs, self.alpha)

    @cached_property
    def round_blocks(self) -> int:
        """Number of blocks per round of deterministic training in this process.

        All blocks of a round start from the same rows.
        """
        options = self.options
        if self.vocabulary.subwords or options.has_documents or options.objective.hierarchical:
            return 1
        return sizes.choose_round_blocks(
            self.kernel_options,
            options.objective.skipgram,
            self.vocabulary.most_frequent,
            self.effective_step,
        )

    @cached_property
    def job_config(self) -> JobConfig:
        """Options of the workers' jobs.

        Raises
        ------
        ValueError
            If `negative_shards` exceeds the number of words.
        """
        from gensim_tfw2v.parameter_server.combining import rows_per_mean
        from gensim_tfw2v.parameter_server.job_config import JobConfig

        options = self.options
        objective = options.objective
        workers, threads = self.workers_and_threads
        step = self.effective_step
        in_rounds = options.deterministic and not objective.skipgram
        max_step = unit_sizes.MAX_ROUND_STEP if in_rounds else unit_sizes.MAX_CONCURRENT_STEP
        overlaps = workers > 1 and self.regime.workers_overlap
        takes_turns = overlaps and unit_sizes.must_take_turns(self.tokens, step)
        if takes_turns:
            logger.info(
                "%i workers train one at a time, no faster than one: on a corpus this small, "
                "concurrent updates with this alpha, window and negative would spoil the vectors",
                workers,
            )
        return JobConfig(
            engine=self.engine,
            objective=objective,
            vector_size=options.vector_size,
            window=options.window if options.shrink_windows else self.window,
            max_entries=self.max_entries,
            rows_per_mean=rows_per_mean(objective, self.problem.pairs, options.has_documents),
            has_single_inputs=objective.skipgram and self.vocabulary.subwords is None,
            workers=workers,
            threads=threads,
            wire_dtype=self.engine.wire_dtype(options.wire),
            layout=options.layout,
            # workers do not train the same document concurrently, so a higher learning rate would
            # only lengthen its vector
            max_growth=(
                1.0
                if options.has_documents
                else unit_sizes.choose_max_growth(self.tokens, step, max_step)
            ),
            one_at_a_time=takes_turns,
        )

    def _check_shards(self) -> None:
        """Raise a ValueError if `negative_shards` exceeds the number of words."""
        n_words = len(self.vocabulary.counts)
        if self.options.negative_shards > max(1, n_words):
            raise ValueError(
                f"negative_shards={self.options.negative_shards} is more than the vocabulary's "
                f"{n_words} words: each shard needs words to draw negatives from"
            )


def open_regime(
    plan: Plan,
    n_units: int,
    seed: int,
    opened: contextlib.ExitStack,
    process_launcher: ProcessLauncher | None = None,
) -> Regime:
    """Open the regime, which trains `n_units` work units per epoch.

    The stack `opened` closes the regime, and the tasks that were started for it. The launcher
    starts the tasks of a local cluster. If this process cannot run workers (see `why_elsewhere`), a
    separate process runs them.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    """
    options = plan.options
    vocabulary = plan.vocabulary
    words = vocabulary.words(options.negative_shards)
    if plan.shares_rows:
        kernel = plan.kernel or by_ctypes.variant()
        logger.info("compiled kernels train, in threads of this process (%s)", kernel)
        arguments = plan.kernel_options, words, options.workers, plan.loss_every
        regime: Regime
        if options.deterministic:
            from gensim_tfw2v.regimes.deterministic import DeterministicRegime

            regime = DeterministicRegime(*arguments, plan.round_blocks)
        else:
            regime = LocalRegime(*arguments)
    else:
        from gensim_tfw2v.training.regime_of_workers import open_regime_of_workers

        assert plan.corpus is not None
        corpus = plan.corpus
        setup = Setup(
            plan.job_config,
            words,
            vocabulary.rates(options, plan.window, corpus),
            vocabulary.count_rows(),
            n_units,
            seed,
            corpus.folder,
            vocabulary.initial_inputs,
            corpus.is_drawn,
            corpus.walk_file,
        )
        regime = open_regime_of_workers(options, setup, opened, process_launcher)
    opened.callback(regime.close)
    return regime
