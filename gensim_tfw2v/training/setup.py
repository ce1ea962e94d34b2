"""Setup of a training: programs for a configuration, vocabulary and corpus, and the open regime."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gensim_tfw2v._tensorflow import tf, why_elsewhere
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, LocalTasks
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.corpus.shards import EncodedCorpus
from gensim_tfw2v.kernel import choices
from gensim_tfw2v.kernel.native import load_ops, plain, why_not
from gensim_tfw2v.kernel.objectives import StepShape
from gensim_tfw2v.kernel.program import Program
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.processes.machine import cores_each
from gensim_tfw2v.processes.process_guards import defer_interrupts
from gensim_tfw2v.regimes import Regime, Setup
from gensim_tfw2v.regimes.deterministic import DeterministicRegime
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gensim_tfw2v.processes.launcher import ProcessLauncher

logger = logging.getLogger(__name__)

#: What takes seconds before the first step.
BUILDING = "building the training graph"


def setup_of(
    config: TrainingConfig,
    vocabulary: Vocabulary,
    corpus: EncodedCorpus,
    units: int,
    max_entries: int,
    seed: int,
    loss_every: int,
) -> Setup:
    """Set up a training, whose epochs have so many work units, each of so many entries at most.

    `loss_every` is as for `Program`. Raises a ValueError if there are more shards of negatives
    than words.
    """
    tokens = config.regime_of_workers.tokens_of_model(corpus.total_tokens)
    window = config.window
    if window > choices.NARROW_WINDOW and not config.concatenated:
        window = choices.choose_window(window, corpus.longest_sentence)
    native = trains_natively(config)
    if not native and (config.kernels_class or config.deterministic):
        name = config.kernels_class
        what = f"{name} is" if name else "deterministic=True models are"
        hide = "TensorFlow uses a GPU. Hide it by CUDA_VISIBLE_DEVICES=-1"
        raise RuntimeError(
            f"{what} trained by the compiled kernels alone, on CPUs, but "
            + (hide if load_ops() is not None else why_not())
        )
    unit = unit_program(config, vocabulary, tokens, max_entries, window, native, loss_every)
    program = worker_program(config, unit, tokens)
    rates = Tables(None, None, None)
    if not config.shares_rows:
        rates = vocabulary.rates(config, unit.shape.window, corpus)
    words = vocabulary.words(config.negative_shards)
    return Setup(program, words, rates, vocabulary.rows(config), units, seed, corpus.folder)


def unit_entries(config: TrainingConfig, vocabulary: Vocabulary, tokens: int) -> int:
    """Entries of a work unit, at most, for a corpus of so many tokens."""
    shape = _step_shape(config, vocabulary, tokens, True, config.window)
    most = max(choices.LEAST_ENTRIES, choices.UNIT_NEGATIVES * shape.block // shape.shared)
    if config.shares_rows:
        one = choices.PAIRED_ENTRIES if config.dbow_words else choices.UNIT_ENTRIES
        return min(one, most)
    workers, threads = _workers_and_threads(config)
    regime = config.regime_of_workers
    of_model = regime.tokens_of_model(tokens)
    of_all = threads if regime.trains_apart else workers * threads
    entries = choices.choose_unit_entries(
        of_model, of_all, regime.combines_by_direction, config.deterministic
    )
    step = _step_shape(config, vocabulary, tokens, False, config.window).tokens
    return regime.unit_entries(min(most, entries), step / max(1e-9, vocabulary.kept_share))


def unit_program(
    config: TrainingConfig,
    vocabulary: Vocabulary,
    tokens: int,
    max_entries: int,
    window: int,
    native: bool = False,
    loss_every: int = 0,
) -> Program:
    """The program of a work unit, by compiled kernels or not; parameters as for `setup_of`."""
    objective = config.objective
    shape = _step_shape(config, vocabulary, tokens, native, window)
    return Program(
        objective=objective,
        shape=shape,
        vector_size=config.vector_size,
        id_bits=max(2, (len(vocabulary) - 1).bit_length()),
        max_entries=max_entries,
        shrink_windows=config.shrink_windows,
        widest_window=(
            config.window if config.shrink_windows and config.window > shape.window else None
        ),
        loss_every=loss_every,
        skip_targets=objective.negative > 0 and len(vocabulary) <= choices.FEW_WORDS,
        locked=vocabulary.lock is not None,
        negative_shards=config.negative_shards,
        product_dtype="float32" if native else choices.choose_product_dtype(),
        span=_span(config, vocabulary, window) or 1,
        max_norm=choices.choose_max_norm(objective.skipgram, objective.hierarchical),
        native=native,
        round_blocks=_round_blocks(config, vocabulary, shape),
        documents=config.has_documents,
        train_words=not config.has_documents or config.dbow_words,
        concatenated=config.concatenated,
        padding=vocabulary.padding,
    )


def _round_blocks(config: TrainingConfig, vocabulary: Vocabulary, shape: StepShape) -> int:
    has_lists = vocabulary.subwords is not None or config.has_documents
    if config.objective.hierarchical or has_lists or not config.deterministic:
        return 1
    objective = config.objective
    steps = _steps(config, config.window)
    return choices.choose_round_blocks(shape, objective.skipgram, vocabulary.most_frequent, steps)


def _step_shape(
    config: TrainingConfig, vocabulary: Vocabulary, tokens: int, native: bool, window: int
) -> StepShape:
    """A step, for a corpus with so many tokens that are in the vocabulary."""
    if config.negative_shards > max(1, len(vocabulary)):
        raise ValueError(
            f"negative_shards={config.negative_shards} is more than the vocabulary's "
            f"{len(vocabulary)} words: each shard needs words of which negatives can be drawn"
        )
    return choices.choose_shape(
        int(tokens * vocabulary.kept_share),
        window,
        config.objective.negative,
        config.objective.skipgram,
        config.objective.hierarchical,
        config.negative_shards,
        config.vector_size,
        native,
        config.shrink_windows,
        config.alpha,
        vocabulary.most_frequent,
        _span(config, vocabulary, window),
        0.0 if vocabulary.subwords is None else vocabulary.subwords.sharing,
        config.has_documents,
    )


def _span(config: TrainingConfig, vocabulary: Vocabulary, window: int) -> int | None:
    if vocabulary.subwords is None:
        return None
    steps = _steps(config, window)
    sharing = vocabulary.subwords.sharing
    return choices.choose_span(sharing, steps, config.objective.skipgram)


def _steps(config: TrainingConfig, window: int) -> float:
    objective = config.objective
    pairs = window + 1 if config.shrink_windows else 2 * window
    return choices.steps_of(config.alpha, pairs, objective.negative, objective.hierarchical)


def worker_program(config: TrainingConfig, program: Program, tokens: int) -> Program:
    """The program of a worker, or of threads that share rows, for so many tokens."""
    workers, threads = _workers_and_threads(config)
    steps = _steps(config, program.shape.window)
    overlap = workers > 1 and config.regime_of_workers.workers_overlap and not config.shares_rows
    takes_turns = overlap and choices.must_take_turns(tokens, steps)
    if takes_turns:
        logger.info(
            "%i workers take turns, and are no faster than one: with so little text, several that "
            "train at once by steps this long would not give gensim's vectors",
            workers,
        )
    growth = choices.choose_largest_growth(tokens, steps)
    return replace(
        program,
        workers=workers,
        threads=threads,
        layout=config.layout,
        # a document's vector lacks nothing of other workers, and would only be longer
        largest_growth=1.0 if program.documents else growth,
        one_at_a_time=takes_turns,
    )


def _workers_and_threads(config: TrainingConfig) -> tuple[int, int]:
    """Workers, and threads of each: those of one machine share its cores.

    A deterministic training has as many jobs at a time on any cluster, each of one thread.
    """
    if config.deterministic and not config.shares_rows:
        return choices.ROUND_JOBS, 1
    if config.cluster is None:
        return config.workers, 1
    if isinstance(config.cluster, LocalTasks):
        workers = config.cluster.workers
        return workers, min(config.workers, cores_each(workers))
    return len(config.cluster.worker), config.workers


def trains_natively(config: TrainingConfig) -> bool:
    """Return whether compiled kernels train: they need whole rows, and steps in sequence.

    Tasks of a local cluster see no GPU, and have ops where this process has kernels. That spares it
    TensorFlow, which its coordinator imports.
    """
    if not config.regime_of_workers.has_kernels or config.layout != "rows":
        return config.shares_rows
    if config.shares_rows or isinstance(config.cluster, LocalTasks) and plain.is_available():
        return True
    return not tf.config.list_physical_devices("GPU") and load_ops() is not None


@contextlib.contextmanager
def open_regime(
    config: TrainingConfig, setup: Setup, process_launcher: ProcessLauncher | None = None
) -> Iterator[Regime]:
    """Make the regime, and end it, with the tasks that were started for it.

    Tasks of a local cluster start in the launcher. A process that cannot run workers
    (`why_elsewhere`) lets another one do it.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    """
    with contextlib.ExitStack() as tasks:
        made = _made(config, setup, process_launcher, tasks)
        yield tasks.enter_context(contextlib.closing(made))


def _made(
    config: TrainingConfig,
    setup: Setup,
    process_launcher: ProcessLauncher | None,
    tasks: contextlib.ExitStack,
) -> Any:
    if config.shares_rows:
        logger.info("compiled kernels train, in threads of this process")
        local = DeterministicRegime if config.deterministic else LocalRegime
        return local(setup.program, setup.words, setup.program.workers)
    from gensim_tfw2v.cluster.local_cluster import open_cluster
    from gensim_tfw2v.parameter_server.workers import LocalWorkers
    from gensim_tfw2v.regimes.coordinator import ClusterSetup, CoordinatedRegime

    regime = config.regime_of_workers
    log_dir = None if config.log is None else config.log.path
    if config.cluster is not None:
        with phase(doing_for(config.cluster), config.progress):
            opened = tasks.enter_context(
                open_cluster(config.cluster, READY_SECONDS, process_launcher, log_dir)
            )
        with phase(BUILDING, config.progress):
            asked = ClusterSetup(opened.cluster, READY_SECONDS, regime, setup, log_dir)
            return CoordinatedRegime(asked, opened.check, opened.start_module)
    with phase(BUILDING, config.progress):
        if reason := why_elsewhere():
            logger.info("another process trains: %s", reason)
            asked = ClusterSetup(None, READY_SECONDS, regime, setup, log_dir)
            return CoordinatedRegime(asked, lambda: None)
        with defer_interrupts():
            return regime.make(setup, LocalWorkers(setup.program.workers))


def doing_for(cluster: Cluster | LocalTasks) -> str:
    """Describe what is done for a cluster before it trains."""
    if isinstance(cluster, LocalTasks):
        return f"starting {cluster.ps} ps and {_workers(cluster.workers)}"
    return f"waiting for {len(cluster.ps)} ps and {_workers(len(cluster.worker))}"


def _workers(number: int) -> str:
    return f"{number} worker{'' if number == 1 else 's'}"
