"""Which tasks a cluster has, and whether they are there."""

from gensim_tfw2v.cluster.connect import MissingTasks, wait_for_tasks
from gensim_tfw2v.cluster.spec import Cluster, ClusterError, Task, from_tf_config

__all__ = ["Cluster", "ClusterError", "MissingTasks", "Task", "from_tf_config", "wait_for_tasks"]
