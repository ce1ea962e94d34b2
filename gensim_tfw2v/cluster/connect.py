"""From the description of a cluster to TensorFlow's coordinator of it."""

from __future__ import annotations

import os
import warnings
from typing import Any

from gensim_tfw2v.cluster.keepalive import keep_alive
from gensim_tfw2v.cluster.probe import READY_SECONDS, wait_for_tasks
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.cluster.versions import check_versions


def connect(cluster: Cluster, seconds: float = READY_SECONDS) -> Any:
    """Connect this process, as its coordinator, to the tasks of a cluster.

    Parameters
    ----------
    cluster : Cluster
    seconds : float
        How long its tasks have to come up.

    Returns
    -------
    ClusterCoordinator
        Of a ``tf.distribute.experimental.ParameterServerStrategy``.

    Raises
    ------
    MissingTasks
        Naming the tasks that have not answered in time.
    OtherVersion, MissingKernels
        Naming the tasks with another version of TensorFlow.
    """
    wait_for_tasks(cluster.servers(), seconds)
    keep_alive(cluster.servers())
    # a call to a task that is gone fails at once, instead of waiting for it to come back
    os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
    from gensim_tfw2v._tensorflow import tf

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster.addresses()),
        # without an address of its own TensorFlow takes a free one
        **({"task_type": "chief", "task_id": 0} if cluster.chief else {}),
        rpc_layer="grpc",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
        check_versions(cluster.servers())
        return tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
