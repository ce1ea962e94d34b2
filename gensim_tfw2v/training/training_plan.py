"""Plan of a training: the choice of engine, regime and sizes, each made once."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gensim_tfw2v._tensorflow import tf, why_elsewhere
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, LocalTasks
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.kernel_config import KernelConfig, KernelShape
from gensim_tfw2v.kernel.native import by_ctypes, load_ops, why_not
from gensim_tfw2v.messages import require
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.regimes import RegimeOptions
from gensim_tfw2v.processes.threads import cores_per_process, defer_interrupts
from gensim_tfw2v.regimes import Regime, Setup
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher
    from gensim_tfw2v.graph.step_shape import StepShape

logger = logging.getLogger(__name__)

#: Label of the phase before training in which TensorFlow traces functions, for seconds.
BUILDING = "building the training graph"


@dataclass(frozen=True, eq=False)
class Plan:
    """Choice of engine, regime and sizes for training a corpus.

    Parameters
    ----------
    options : TrainingConfig
    vocabulary : Vocabulary
    corpus : EncodedCorpus, optional
        None for inference, whose documents are not encoded.
    loss_every : int
        As in `KernelConfig`.
    entries : int, optional
        Maximum entries of existing work units; chosen by default.
    kernel : str
        As in `KernelConfig`.
    """

    options: TrainingConfig
    vocabulary: Vocabulary
    corpus: EncodedCorpus | None
    loss_every: int = 0
    entries: int | None = None
    kernel: str = ""

    @cached_property
    def shares_rows(self) -> bool:
        """Return whether compiled kernels train on shared rows, in threads of this process."""
        options = self.options
        return options.cluster is None and options.regime is None and by_ctypes.is_available()

    @cached_property
    def native(self) -> bool:
        """Return whether compiled kernels train. They need whole rows and whole units, on CPUs.

        Tasks of a local cluster can use no GPU, and have the kernels' ops if this process has the
        kernels. So the check does not import TensorFlow into this process; only the process of the
        coordinator needs it.
        """
        if self.shares_rows:
            return True
        if not self.regime.has_kernels or self.options.layout != "rows":
            return False
        if isinstance(self.options.cluster, LocalTasks) and by_ctypes.is_available():
            return True
        require(f"{why_not()}. Training without them", "tensorflow")
        return not tf.config.list_physical_devices("GPU") and load_ops() is not None

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
        if window <= sizes.NARROW_WINDOW or self.options.concatenated or self.corpus is None:
            return window
        return sizes.choose_window(window, self.corpus.longest_sentence)

    @cached_property
    def pairs(self) -> int:
        """Mean number of words in a window."""
        return self.window + 1 if self.options.shrink_windows else 2 * self.window

    @cached_property
    def shape(self) -> KernelShape | StepShape:
        """Sizes of the engine that trains."""
        if not self.native:
            return self.step_shape
        options = self.options
        vocabulary = self.vocabulary
        return sizes.choose_kernel_shape(
            options.objective,
            window=self.window,
            pairs=self.pairs,
            alpha=options.alpha,
            ngram_overlap=vocabulary.subwords.ngram_overlap if vocabulary.subwords else None,
            tokens=int(self.tokens * vocabulary.kept_share),
            most_frequent=vocabulary.most_frequent,
            negative_shards=options.negative_shards,
            documents=options.has_documents,
        )

    @cached_property
    def step_shape(self) -> StepShape:
        """Sizes of a step of the TensorFlow fallback."""
        from gensim_tfw2v.graph.step_shape import choose_step

        return choose_step(
            self.options.objective,
            tokens=int(self.tokens * self.vocabulary.kept_share),
            window=self.window,
            pairs=self.pairs,
            alpha=self.options.alpha,
            vector_size=self.options.vector_size,
            negative_shards=self.options.negative_shards,
        )

    @cached_property
    def workers_and_threads(self) -> tuple[int, int]:
        """Number of workers, and of threads per worker. Workers on one machine share its cores.

        A deterministic training on a cluster has the same number of parallel jobs, of one thread
        each, whatever the number of workers.
        """
        options = self.options
        if options.deterministic and not self.shares_rows:
            return sizes.ROUND_JOBS, 1
        if options.cluster is None:
            return options.workers, 1
        if isinstance(options.cluster, LocalTasks):
            workers = options.cluster.workers
            return workers, min(options.workers, cores_per_process(workers))
        return len(options.cluster.worker), options.workers

    @cached_property
    def max_entries(self) -> int:
        """Maximum entries of a work unit."""
        if self.entries is not None:
            return self.entries
        options = self.options
        shape = self.shape
        most = max(sizes.MIN_ENTRIES, sizes.MAX_UNIT_NEGATIVES * shape.block // shape.shared)
        if self.shares_rows:
            return min(most, sizes.PAIRED_ENTRIES if options.dbow_words else sizes.UNIT_ENTRIES)
        regime = self.regime
        workers, threads = self.workers_and_threads
        entries = sizes.choose_unit_entries(
            self.tokens,
            threads if regime.trains_apart else workers * threads,
            regime.combines_by_direction,
            options.deterministic,
        )
        step_tokens = self.step_shape.tokens / max(1e-9, self.vocabulary.kept_share)
        return regime.unit_entries(min(most, entries), step_tokens)

    @cached_property
    def config(self) -> KernelConfig:
        """Constants of the functions that train.

        Raises
        ------
        ValueError
            If `negative_shards` exceeds the number of words.
        RuntimeError
            If training needs the compiled kernels, and they are not available.
        """
        options = self.options
        objective = options.objective
        vocabulary = self.vocabulary
        workers, threads = self.workers_and_threads
        max_entries = self.max_entries
        shape = self.shape
        step = sizes.effective_step(objective, self.pairs, options.alpha)
        in_rounds = options.deterministic and not objective.skipgram
        most = sizes.MAX_ROUND_STEP if in_rounds else sizes.MAX_CONCURRENT_STEP
        growth = sizes.choose_max_growth(self.tokens, step, most)
        number = len(vocabulary.counts)
        if options.negative_shards > max(1, number):
            raise ValueError(
                f"negative_shards={options.negative_shards} is more than the vocabulary's "
                f"{number} words: each shard needs words to draw negatives from"
            )
        of_engine: dict[str, Any] = {}
        if isinstance(shape, KernelShape):
            has_lists = vocabulary.subwords is not None or options.has_documents
            if options.deterministic and not (has_lists or objective.hierarchical):
                of_engine["round_blocks"] = sizes.choose_round_blocks(
                    shape, objective.skipgram, vocabulary.most_frequent, step
                )
        else:
            if options.kernels_class or options.deterministic or not options.learn_hidden:
                raise RuntimeError(self._why_no_kernels())
            from gensim_tfw2v.graph.step_shape import choose_max_norm, choose_product_dtype

            of_engine["product_dtype"] = choose_product_dtype()
            of_engine["max_norm"] = choose_max_norm(objective)
        overlaps = workers > 1 and not self.shares_rows and self.regime.workers_overlap
        takes_turns = overlaps and sizes.must_take_turns(self.tokens, step)
        if takes_turns:
            logger.info(
                "%i workers train one at a time, no faster than one: on a corpus this small, "
                "concurrent updates with this alpha, window and negative would spoil the vectors",
                workers,
            )
        return KernelConfig(
            objective=objective,
            shape=shape,
            vector_size=options.vector_size,
            id_bits=max(2, (number - 1).bit_length()),
            max_entries=max_entries,
            shrink_windows=options.shrink_windows,
            max_window=options.window if options.shrink_windows else None,
            loss_every=self.loss_every,
            skip_targets=0 < objective.negative and number <= sizes.SMALL_VOCABULARY,
            locked=vocabulary.lock is not None,
            negative_shards=options.negative_shards,
            workers=workers,
            threads=threads,
            # only the compiled ops convert rows to int8
            wire_dtype="bfloat16" if options.wire == "int8" and not self.native else options.wire,
            layout=options.layout,
            # workers do not train the same document concurrently, so a higher learning rate would
            # only lengthen its vector
            max_growth=1.0 if options.has_documents else growth,
            one_at_a_time=takes_turns,
            documents=options.has_documents,
            train_words=not options.has_documents or options.dbow_words,
            concatenated=options.concatenated,
            padding=vocabulary.padding,
            learn_hidden=options.learn_hidden,
            kernel=self.kernel,
            **of_engine,
        )

    def _why_no_kernels(self) -> str:
        name = self.options.kernels_class
        option = "deterministic=True" if self.options.deterministic else "learn_hidden=False"
        what = f"{name} is" if name else f"{option} models are"
        hide = "TensorFlow uses a GPU. Hide it by CUDA_VISIBLE_DEVICES=-1"
        why = hide if load_ops() is not None else why_not()
        return f"{what} trained only by the compiled kernels, on CPUs, but {why}"


def open_regime(
    plan: Plan,
    units: int,
    seed: int,
    opened: contextlib.ExitStack,
    process_launcher: ProcessLauncher | None = None,
) -> Regime:
    """Open the regime, which trains `units` work units per epoch.

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
        logger.info("compiled kernels train, in threads of this process")
        local = LocalRegime
        if options.deterministic:
            from gensim_tfw2v.regimes.deterministic import DeterministicRegime as local
        regime = local(plan.config, words, options.workers)
    else:
        assert plan.corpus is not None
        rates = vocabulary.rates(options, plan.window, plan.corpus)
        rows = vocabulary.rows(options)
        setup = Setup(plan.config, words, rates, rows, units, seed, plan.corpus.folder)
        regime = _open_workers(plan, setup, opened, process_launcher)
    opened.callback(regime.close)
    return regime


def _open_workers(
    plan: Plan,
    setup: Setup,
    opened: contextlib.ExitStack,
    process_launcher: ProcessLauncher | None,
) -> Any:
    """Open a regime of workers: on a cluster, in a separate process, or in this one."""
    from gensim_tfw2v.cluster.local_cluster import open_cluster
    from gensim_tfw2v.parameter_server.workers import LocalWorkers
    from gensim_tfw2v.regimes.coordinated_regime import CoordinatedRegime
    from gensim_tfw2v.regimes.coordinator_pipe import ClusterSetup

    options = plan.options
    log_dir = None if options.log is None else options.log.path
    if options.cluster is not None:
        with phase(describe_setup(options.cluster), options.progress):
            tasks = opened.enter_context(
                open_cluster(options.cluster, READY_SECONDS, process_launcher, log_dir)
            )
        with phase(BUILDING, options.progress):
            asked = ClusterSetup(tasks.cluster, READY_SECONDS, plan.regime, setup, log_dir)
            return CoordinatedRegime(asked, tasks.check, tasks.start_module)
    with phase(BUILDING, options.progress):
        if reason := why_elsewhere():
            logger.info("a separate process trains, because %s", reason)
            asked = ClusterSetup(None, READY_SECONDS, plan.regime, setup, log_dir)
            return CoordinatedRegime(asked, lambda: None)
        with defer_interrupts():
            return plan.regime.make(setup, LocalWorkers(setup.config.workers))


def describe_setup(cluster: Cluster | LocalTasks) -> str:
    """Describe how a cluster is opened, for the progress bar."""
    verb = "starting"
    if isinstance(cluster, Cluster):
        verb = "waiting for"
        cluster = LocalTasks(len(cluster.ps), len(cluster.worker))
    return f"{verb} {cluster.ps} ps and {cluster.workers} worker{'s' * (cluster.workers != 1)}"
