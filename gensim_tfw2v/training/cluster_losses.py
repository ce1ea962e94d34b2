"""Recovery from losses of a cluster, which is reopened a limited number of times."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.temporary import OWNED

logger = logging.getLogger(__name__)

#: Maximum number of times that a cluster may be lost without progress in between.
MAX_LOSSES = 5

#: Seconds after the loss of a cluster in which reopening it is retried.
RETURN_SECONDS = 25.0


class ClusterLosses:
    """Counter of the losses of a cluster without progress in between.

    Parameters
    ----------
    checkpoint_dir : Path, optional
        Folder of checkpoints, which errors name.
    """

    def __init__(self, checkpoint_dir: Path | None) -> None:
        self._checkpoint_dir = checkpoint_dir
        self._n_losses = 0

    def reopen(self, error: ClusterLost, open_cluster: Callable[[], None]) -> None:
        """Reopen the cluster, with retries, because tasks may also fail while it starts.

        Raises a `ClusterLost` if `RETURN_SECONDS` have passed, or if the cluster was lost more than
        `MAX_LOSSES` times.
        """
        deadline = time.monotonic() + RETURN_SECONDS
        while True:
            self._n_losses += 1
            if self._n_losses > MAX_LOSSES or time.monotonic() > deadline:
                raise ClusterLost(f"{error}. {self._advice()}") from error
            logger.warning("%s; going back to the last checkpoint", error)
            try:
                open_cluster()
                return
            except ConnectionError as failure:
                error = failure if isinstance(failure, ClusterLost) else ClusterLost(str(failure))

    def _advice(self) -> str:
        folder = self._checkpoint_dir
        if folder is None or (folder / OWNED).exists():  # temporary, so removed at the end
            return "With --checkpoint-dir (checkpoint_dir), the work would have been kept"
        return (
            f"The work up to the last checkpoint is kept in {folder}: once the cluster is back, "
            "run the same training again to resume it"
        )
