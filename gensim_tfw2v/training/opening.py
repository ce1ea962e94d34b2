"""The regime that a configuration asks for, ready to train."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from gensim_tfw2v.cluster.connect import READY_SECONDS
from gensim_tfw2v.cluster.opening import LocalTasks, open_cluster
from gensim_tfw2v.cluster.process_launcher import ProcessLauncher
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.processes.hazards import holding_interrupts, tensorflow_is_lost
from gensim_tfw2v.regimes.base import Regime
from gensim_tfw2v.regimes.parameter_server import Setup
from gensim_tfw2v.regimes.plain import PlainRegime

logger = logging.getLogger(__name__)

#: What takes seconds before the first step.
BUILDING = "building the training graph"


@contextlib.contextmanager
def open_regime(
    config: TrainingConfig,
    setup: Setup,
    process_launcher: ProcessLauncher | None = None,
    plain: bool = False,
) -> Iterator[Regime]:
    """Make it, and end it, with the tasks that were started for it.

    A process that was forked after TensorFlow had run lets another process train.

    Parameters
    ----------
    config : TrainingConfig
    setup : Setup
    process_launcher : ProcessLauncher, optional
        Where the tasks of a local cluster start.
    plain : bool
        See `trains_plainly`.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    """
    if plain:
        logger.info("compiled kernels train; for so few words TensorFlow is not imported")
        with contextlib.closing(
            PlainRegime(setup.program.unit, setup.words, setup.program.workers)
        ) as regime:
            yield regime
        return
    from gensim_tfw2v.regimes.coordinated import CoordinatedRegime
    from gensim_tfw2v.regimes.coordinator import ClusterSetup
    from gensim_tfw2v.regimes.local import make_in_process

    in_process = None if config.shares_rows else config.regime_of_workers
    log_dir = None if config.log is None else config.log.path
    if config.cluster is None and tensorflow_is_lost():
        asked = ClusterSetup(None, READY_SECONDS, in_process, setup, log_dir)
        with phase(BUILDING, config.progress):
            elsewhere = CoordinatedRegime(asked, lambda: None)
        with contextlib.closing(elsewhere):
            yield elsewhere
        return
    if config.cluster is None:
        with phase(BUILDING, config.progress), holding_interrupts():
            made: Any = make_in_process(in_process, setup)
        with contextlib.closing(made):
            yield made
        return
    with contextlib.ExitStack() as stack:
        with phase(doing_for(config.cluster), config.progress):
            opened = stack.enter_context(
                open_cluster(config.cluster, READY_SECONDS, process_launcher, log_dir)
            )
        with phase(BUILDING, config.progress):
            asked = ClusterSetup(opened.cluster, READY_SECONDS, in_process, setup, log_dir)
            coordinated = CoordinatedRegime(asked, opened.check, opened.start_module)
        with contextlib.closing(coordinated):
            yield coordinated


def doing_for(cluster: Cluster | LocalTasks) -> str:
    """What is done for a cluster before it trains."""
    if isinstance(cluster, LocalTasks):
        return f"starting {cluster.ps} ps and {cluster.workers} {_workers(cluster.workers)}"
    workers = len(cluster.worker)
    return f"waiting for {len(cluster.ps)} ps and {workers} {_workers(workers)}"


def _workers(number: int) -> str:
    return "worker" if number == 1 else "workers"
