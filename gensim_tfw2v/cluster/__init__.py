"""Addresses of a cluster's tasks, and connections to them."""

from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cluster.descriptions import from_tf_config
from gensim_tfw2v.cluster.spec import Cluster, ClusterError, Task

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.connect import MissingTasks, wait_for_tasks

__all__ = ["Cluster", "ClusterError", "MissingTasks", "Task", "from_tf_config", "wait_for_tasks"]


def __getattr__(name: str) -> Any:
    # `connect` is imported lazily, because code that only reads addresses does not need it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gensim_tfw2v.cluster import connect

    return getattr(connect, name)
