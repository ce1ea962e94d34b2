"""Recovery from losses of a cluster, which is reopened a limited number of times."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gensim_tfw2v.cluster.spec import Cluster, ClusterLost, Task
from gensim_tfw2v.files.temporary import OWNED
from gensim_tfw2v.planning.memory import ps_request

if TYPE_CHECKING:
    from gensim_tfw2v.training.training_plan import Plan

logger = logging.getLogger(__name__)

#: Maximum number of times that a cluster may be lost without progress in between.
MAX_LOSSES = 5

#: Seconds after the loss of a cluster in which reopening it is retried.
RETURN_SECONDS = 25.0


class ClusterLosses:
    """Counter of the losses of a cluster without progress in between.

    Parameters
    ----------
    plan : Plan
        Plan of the training.
    checkpoint_dir : Path, optional
        Folder of checkpoints, which errors name.
    """

    def __init__(self, plan: Plan, checkpoint_dir: Path | None) -> None:
        self._plan = plan
        self._checkpoint_dir = checkpoint_dir
        self._n_losses = 0
        # number of losses of each ps, by its index, while the rows were sent to it
        self._loading_losses = Counter[int]()

    def restart(self, loss: ClusterLost, open_cluster: Callable[[], None]) -> None:
        """Open a cluster that was lost before it trained; see `reopen`."""
        self._retry(loss, open_cluster, "starting again", "")

    def reopen(self, loss: ClusterLost, open_cluster: Callable[[], None]) -> None:
        """Reopen the cluster, with retries, because tasks may also fail while it starts.

        Raises a `ClusterLost` if `RETURN_SECONDS` have passed, or if the cluster was lost more than
        `MAX_LOSSES` times.
        """
        self._retry(loss, open_cluster, "going back to the last checkpoint", self._advice())

    def _retry(
        self, loss: ClusterLost, open_cluster: Callable[[], None], step: str, advice: str
    ) -> None:
        deadline = time.monotonic() + RETURN_SECONDS
        while True:
            self._n_losses += 1
            ps_tasks = [task for task in loss.tasks if task.role == "ps"]
            if loss.is_loading:
                self._loading_losses.update(task.index for task in ps_tasks)
            if self._n_losses > MAX_LOSSES or time.monotonic() > deadline:
                reason = self._describe_loading_losses(ps_tasks) or str(loss)
                raise ClusterLost(f"{reason}. {advice}" if advice else reason) from loss
            logger.warning("%s; %s", loss, step)
            try:
                open_cluster()
                return
            except ClusterLost as new_loss:
                loss = new_loss
            except ConnectionError as error:
                loss = ClusterLost(str(error), getattr(error, "tasks", ()))

    def _describe_loading_losses(self, ps_tasks: list[Task]) -> str:
        """Describe the loss of a ps task if each loss was one of it, while the rows were loaded.

        It then lacks memory. Return "" in other cases.
        """
        for task in ps_tasks:
            if self._loading_losses[task.index] == self._n_losses > 1:
                return (
                    f"{task} was lost while rows were loaded, {self._n_losses} times: it needs "
                    f"{self._ps_bytes() / 1e9:.1f} GB of memory; see tfw2v plan"
                )
        return ""

    def _ps_bytes(self) -> float:
        """Return the bytes of memory that a ps task needs."""
        cluster = self._plan.options.cluster
        assert cluster is not None
        n_ps = len(cluster.ps) if isinstance(cluster, Cluster) else cluster.n_ps
        n_rows = sum(self._plan.vocabulary.count_rows())
        return ps_request(4 * n_rows * self._plan.options.vector_size / n_ps)

    def _advice(self) -> str:
        folder = self._checkpoint_dir
        if folder is None or (folder / OWNED).exists():  # temporary, so removed at the end
            return "With --checkpoint-dir (checkpoint_dir), the work would have been kept"
        return (
            f"The work up to the last checkpoint is kept in {folder}: once the cluster is back, "
            "start the same training run again to resume it"
        )
