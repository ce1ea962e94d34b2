"""Regime of a training, which is opened again with new settings, or after its cluster was lost."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.corpus.scanner import release_memory
from gensim_tfw2v.training.training_plan import Plan, open_regime

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher
    from gensim_tfw2v.monitor.traffic import Traffic
    from gensim_tfw2v.regimes import Regime
    from gensim_tfw2v.training.cluster_losses import ClusterLosses


class ReopenedRegime:
    """Owner of a training's regime and of the tasks that were started for it.

    Parameters
    ----------
    plan : Plan
    n_units : int
        Maximum number of work units per epoch.
    seed : int
    checkpoint_dir : Path, optional
        Folder of checkpoints, which errors name.
    process_launcher : ProcessLauncher, optional
        Starts the tasks of a local cluster.

    Attributes
    ----------
    regime : Regime
        The regime that is open.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    ClusterLost
        If the cluster is lost again and again while it starts; see `ClusterLosses`.
    """

    regime: Regime

    def __init__(
        self,
        plan: Plan,
        n_units: int,
        seed: int,
        checkpoint_dir: Path | None,
        process_launcher: ProcessLauncher | None,
    ) -> None:
        self._plan = plan
        self._n_units = n_units
        self._seed = seed
        self._checkpoint_dir = checkpoint_dir
        self._process_launcher = process_launcher
        self._resources = contextlib.ExitStack()
        self._closed_traffic: Traffic | None = None  # sum over the regimes that were closed
        # None if the cluster has not been lost since the last progress
        self._losses: ClusterLosses | None = None
        self._open()

    def close(self) -> None:
        """Close the regime, and stop the tasks that were started for it."""
        self._resources.close()

    def renew(self, plan: Plan) -> None:
        """Close the regime, and open that of a new plan with the same work units."""
        self._closed_traffic = self.traffic
        self.close()
        self._plan = plan
        self._open()

    def reopen(self, loss: ClusterLost, n_repeated: int) -> None:
        """Open a lost cluster again, which will train `n_repeated` units for a second time.

        Raises a `ClusterLost` after too many losses; see `ClusterLosses.reopen`.
        """
        if (traffic := self.traffic) is not None:
            traffic.repeated += n_repeated
            self._closed_traffic = traffic
        self.close()
        self._find_losses().reopen(loss, self._open_once)

    def forget_losses(self) -> None:
        """Count losses of the cluster from 0 again, because there was progress."""
        self._losses = None

    @property
    def traffic(self) -> Traffic | None:
        """Traffic of the cluster since the start of training; None without a cluster."""
        regime_traffic: Traffic | None = getattr(self.regime, "traffic", None)
        if regime_traffic is None:
            return self._closed_traffic
        if self._closed_traffic is None:
            return regime_traffic
        return self._closed_traffic + regime_traffic

    def _open(self) -> None:
        """Open the regime, again if its cluster is lost meanwhile."""
        try:
            self._open_once()
        except ClusterLost as loss:
            self._find_losses().restart(loss, self._open_once)

    def _open_once(self) -> None:
        """Open the regime."""
        try:
            self.regime = open_regime(
                self._plan, self._n_units, self._seed, self._resources, self._process_launcher
            )
        except BaseException:
            self.close()  # stop the tasks that have started
            raise
        release_memory()

    def _find_losses(self) -> ClusterLosses:
        """Return the losses of the cluster since the last progress."""
        if self._losses is None:
            from gensim_tfw2v.training.cluster_losses import ClusterLosses

            self._losses = ClusterLosses(self._plan, self._checkpoint_dir)
        return self._losses
