"""Files that start a cluster and a training on it: for Kubernetes, Slurm and Docker Compose.

They are the templates beside this file, filled in. Nothing here looks at a machine, or
starts anything.
"""

from gensim_tfw2v.cluster.manifests.deployment import Deployment, Size, Sizes, TrainCommand
from gensim_tfw2v.cluster.manifests.render import compose_file, kubernetes_file, slurm_file

__all__ = [
    "Deployment",
    "Size",
    "Sizes",
    "TrainCommand",
    "compose_file",
    "kubernetes_file",
    "slurm_file",
]
