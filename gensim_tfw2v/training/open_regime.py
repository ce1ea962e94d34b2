"""Opening of the regime that a configuration asks for, or of gensim's own code."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from gensim_tfw2v._tensorflow import why_elsewhere
from gensim_tfw2v.cluster.connect import READY_SECONDS
from gensim_tfw2v.cluster.local_cluster import LocalTasks, open_cluster
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.originals import FastText, Word2Vec
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.processes.forkserver import ProcessLauncher
from gensim_tfw2v.processes.hazards import holding_interrupts
from gensim_tfw2v.regimes import Regime
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.regimes.parameter_server import Setup

logger = logging.getLogger(__name__)

#: What takes seconds before the first step.
BUILDING = "building the training graph"

#: Methods that gensim's threads call while they train, and TensorFlow's engine does not.
BYPASSED = (
    *("_do_train_job", "_do_train_epoch", "_worker_loop", "_worker_loop_corpusfile"),
    *("_job_producer", "_get_thread_working_mem", "_log_epoch_progress", "_raw_word_count"),
)

#: Options that gensim's code does not know, with what they are where nothing is asked for.
NOT_GENSIMS: dict[str, Any] = {
    "cluster": None,
    "regime": None,
    "checkpoint_dir": None,
    "log_dir": None,
    "corrected_cbow": False,
    "negative_shards": 1,
}


@contextlib.contextmanager
def open_regime(
    config: TrainingConfig,
    setup: Setup,
    process_launcher: ProcessLauncher | None = None,
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
        regime = _made(config, setup, process_launcher, tasks)
        with contextlib.closing(regime):
            yield regime


def _made(
    config: TrainingConfig,
    setup: Setup,
    process_launcher: ProcessLauncher | None,
    tasks: contextlib.ExitStack,
) -> Any:
    if config.shares_rows:
        logger.info("compiled kernels train, in threads of this process")
        return LocalRegime(setup.program, setup.words, setup.program.workers)
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
        with holding_interrupts():
            return regime.make(setup, LocalWorkers(setup.program.workers))


def doing_for(cluster: Cluster | LocalTasks) -> str:
    """Describe what is done for a cluster before it trains."""
    if isinstance(cluster, LocalTasks):
        return f"starting {cluster.ps} ps and {cluster.workers} {_workers(cluster.workers)}"
    workers = len(cluster.worker)
    return f"waiting for {len(cluster.ps)} ps and {workers} {_workers(workers)}"


def _workers(number: int) -> str:
    return "worker" if number == 1 else "workers"


def overridden_hooks(model: Word2Vec) -> list[str]:
    """Names of gensim's training hooks that are not gensim's own, of the class or the object."""
    of_gensim = FastText if isinstance(model, FastText) else Word2Vec
    return [
        name
        for name in BYPASSED
        if getattr(getattr(model, name), "__func__", None) is not getattr(of_gensim, name)
    ]


def is_trained_by_gensim(model: Any) -> bool:
    """Return whether gensim's code has to train a model, because its hooks are overridden.

    Raises
    ------
    ValueError
        If the model has an option that gensim's code does not know.
    """
    if not (hooks := overridden_hooks(model)):
        return False
    for name, nothing in NOT_GENSIMS.items():
        if (given := getattr(model, name)) != nothing:
            raise ValueError(
                f"{type(model).__name__} overrides {' and '.join(hooks)}, which gensim's threads "
                f"alone call, and gensim's code has no {name}: leave out {name}={quoted(given)}, "
                "or train a class that overrides no such method"
            )
    return True


def warn_of_gensims_code(model: Word2Vec) -> None:
    """Say once a training that gensim's code does it, and why."""
    logger.warning(
        "%s overrides %s, which gensim's threads alone call: gensim's code trains this model, at "
        "gensim's speed",
        type(model).__name__,
        " and ".join(overridden_hooks(model)),
    )
