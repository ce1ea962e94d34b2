"""A cluster on Kubernetes: StatefulSets of ps and workers, a Job that coordinates them."""

import json
from dataclasses import dataclass

from gensim_tfw2v.cluster.manifests.documents import Value, document
from gensim_tfw2v.cluster.manifests.plan import Plan, check_name
from gensim_tfw2v.cluster.manifests.pods import INSTANCE, coordinator, metadata, tasks, tensorboard
from gensim_tfw2v.cluster.spec import Cluster, ClusterError

#: Where a cache of DNS on the node listens, if there is one (kubernetes.io, NodeLocal DNSCache).
NODE_DNS = "169.254.20.10/32"

#: GiB for the runs of a training and its tasks.
LOG_STORAGE = 1


@dataclass(frozen=True)
class Volume:
    """What is mounted: by the coordinator, for corpus, checkpoints and model; and by all, for logs.

    Parameters
    ----------
    claim : str, optional
        The PersistentVolumeClaim that is there; by default one is made.
    storage : int
        Its size in GiB, if it is made.
    log_claim : str, optional
        That of the logs, if it is there.
    log_class : str, optional
        The StorageClass of that of the logs, if it is made: one whose volumes many nodes write.
    """

    claim: str | None = None
    storage: int = 10
    log_claim: str | None = None
    log_class: str | None = None

    def __post_init__(self) -> None:
        for what, name in (("claim", self.claim), ("log claim", self.log_claim)):
            if name is not None:
                check_name(what, name)
        if self.storage < 1:
            raise ClusterError(f"storage is {self.storage}: give 1 GiB or more")


def kubernetes_file(plan: Plan, volume: Volume | None = None) -> str:
    """Write the objects that make a cluster and its training, for ``kubectl apply -f``.

    Raises
    ------
    ClusterError
        If the training reads or writes outside the volumes.
    """
    volume = volume or Volume()
    plan.training.check_in_volumes()
    claim = volume.claim or f"{plan.name}-data"
    logs = None
    if plan.training.log_dir is not None:
        logs = volume.log_claim or f"{plan.name}-logs"
    cluster = plan.cluster(lambda role, index: f"{plan.name}-{role}-{index}.{plan.name}")
    intro = (
        f"{plan.intro('kubernetes')}\n\n"
        "TensorFlow's servers have no authentication: whoever reaches one runs code in its pod.\n"
        "The NetworkPolicy below shuts others out, IF the cluster's network enforces policies."
    )
    objects = [
        (intro, _policy(plan)),
        (
            "Names for the pods, before they are ready: they find each other by them.",
            _service(plan),
        ),
        ("The addresses of all tasks.", _hosts(plan, cluster)),
    ]
    if volume.claim is None:
        objects.append(
            (
                "Corpus, checkpoints and model. Only the coordinator mounts it.",
                _claim(plan, claim, "ReadWriteOnce", volume.storage),
            )
        )
    if logs is not None and volume.log_claim is None:
        made = _claim(plan, logs, "ReadWriteMany", LOG_STORAGE, volume.log_class)
        objects.append(("What TensorBoard shows. All pods mount it, on whichever node.", made))
    objects += [
        ("Tasks that hold the vectors.", tasks(plan, "ps", plan.ps, plan.sizes.ps, logs)),
        ("Tasks that train.", tasks(plan, "worker", plan.workers, plan.sizes.worker, logs)),
        (
            "The training. Started again, it goes on from its last checkpoint.",
            coordinator(plan, claim, logs),
        ),
    ]
    if logs is not None:
        shut = (
            "TensorBoard, which asks for no password: it is reached by kubectl port-forward alone."
        )
        objects += [
            (shut, _policy_of_tensorboard(plan)),
            ("", tensorboard(plan, logs)),
        ]
    return "---\n".join(document(value, comment) for comment, value in objects)


def _policy(plan: Plan) -> Value:
    own: Value = {"podSelector": {"matchLabels": {INSTANCE: plan.name}}}
    port: Value = {"protocol": "TCP", "port": plan.port}
    dns: Value = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
        {"ipBlock": {"cidr": NODE_DNS}},
    ]
    at_dns: Value = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(plan, plan.name),
        "spec": {
            "podSelector": {"matchLabels": {INSTANCE: plan.name}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [own], "ports": [port]}],
            "egress": [{"to": [own], "ports": [port]}, {"to": dns, "ports": at_dns}],
        },
    }


def _policy_of_tensorboard(plan: Plan) -> Value:
    """Nothing may reach it, and it may reach nothing."""
    name = f"{plan.name}-tensorboard"
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(plan, name),
        "spec": {
            "podSelector": {"matchLabels": {INSTANCE: name}},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def _service(plan: Plan) -> Value:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan, plan.name),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {INSTANCE: plan.name},
            "ports": [{"name": "grpc", "port": plan.port}],
        },
    }


def _hosts(plan: Plan, cluster: Cluster) -> Value:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, plan.name),
        "data": {
            "hosts.json": json.dumps(cluster.addresses(), indent=1) + "\n",
            "coordinator": cluster.tf_config("chief", 0),
        },
    }


def _claim(plan: Plan, name: str, mode: str, storage: int, kind: str | None = None) -> Value:
    spec: dict[str, Value] = {"accessModes": [mode]}
    if kind is not None:
        spec["storageClassName"] = kind
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(plan, name),
        "spec": {**spec, "resources": {"requests": {"storage": f"{storage}Gi"}}},
    }
