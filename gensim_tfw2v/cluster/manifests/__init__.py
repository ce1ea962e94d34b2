"""Files that start a cluster and a training on it: for Kubernetes, Slurm and Docker Compose.

Text from data: nothing here looks at a machine or starts anything.
"""

from gensim_tfw2v.cluster.manifests.compose import compose_file
from gensim_tfw2v.cluster.manifests.kubernetes import Volume, kubernetes_file
from gensim_tfw2v.cluster.manifests.plan import Plan, Size, Sizes, Training
from gensim_tfw2v.cluster.manifests.slurm import Allocation, slurm_file

__all__ = [
    "Allocation",
    "Plan",
    "Size",
    "Sizes",
    "Training",
    "Volume",
    "compose_file",
    "kubernetes_file",
    "slurm_file",
]
