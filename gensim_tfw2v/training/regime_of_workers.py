"""Opening of the regime of workers: on a cluster, in a separate process, or in this one."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gensim_tfw2v._tensorflow import why_elsewhere
from gensim_tfw2v.cluster.local_cluster import open_cluster
from gensim_tfw2v.cluster.spec import READY_SECONDS, Cluster, LocalTasks
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.parameter_server.workers import LocalWorkers
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.regimes import Regime, Setup
from gensim_tfw2v.regimes.coordinated_regime import CoordinatedRegime
from gensim_tfw2v.regimes.coordinator_pipe import ClusterSetup

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher

logger = logging.getLogger(__name__)

#: Label of the phase before training in which TensorFlow traces functions; it takes seconds.
BUILDING = "building the training graph"


def open_regime_of_workers(
    options: TrainingConfig,
    setup: Setup,
    opened: contextlib.ExitStack,
    process_launcher: ProcessLauncher | None,
) -> Regime:
    """Open the regime of the options; see `training_plan.open_regime`."""
    regime = options.regime_of_workers
    log_dir = None if options.log is None else options.log.path
    reason = "" if options.cluster is not None else why_elsewhere()
    if options.cluster is not None or reason:
        folder = tempfile.TemporaryDirectory(
            prefix="vocabulary-", dir=setup.folder, ignore_cleanup_errors=True
        )
        setup = setup.with_files(Path(opened.enter_context(folder)))
    if options.cluster is not None:
        with phase(describe_setup(options.cluster), options.progress):
            tasks = opened.enter_context(
                open_cluster(options.cluster, READY_SECONDS, process_launcher, log_dir)
            )
        with phase(BUILDING, options.progress):
            cluster_setup = ClusterSetup(tasks.cluster, READY_SECONDS, regime, setup, log_dir)
            return CoordinatedRegime(cluster_setup, tasks.check, tasks.start_module)
    with phase(BUILDING, options.progress):
        if reason:
            logger.info("a separate process trains, because %s", reason)
            cluster_setup = ClusterSetup(None, READY_SECONDS, regime, setup, log_dir)
            return CoordinatedRegime(cluster_setup, lambda: None)
        with defer_interrupts():
            return regime.make(setup, LocalWorkers(setup.config.workers))


def describe_setup(cluster: Cluster | LocalTasks) -> str:
    """Describe how a cluster is opened, for the progress bar."""
    verb = "starting"
    if isinstance(cluster, Cluster):
        verb = "waiting for"
        cluster = LocalTasks(len(cluster.ps), len(cluster.worker))
    return (
        f"{verb} {cluster.n_ps} ps and {cluster.n_workers} worker{'s' * (cluster.n_workers != 1)}"
    )
