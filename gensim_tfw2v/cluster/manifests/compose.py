"""A cluster of containers of one machine: a compose.yaml."""

from gensim_tfw2v.cluster.manifests.documents import Value, document
from gensim_tfw2v.cluster.manifests.plan import DATA, RESTARTS, Plan, Size


def compose_file(plan: Plan) -> str:
    """Write the services that make a cluster and its training, for ``docker compose up``.

    Raises
    ------
    ClusterError
        If the training reads or writes outside the volume.
    """
    plan.training.check_in_volume()
    cluster = plan.cluster(lambda role, index: role if role == "coordinator" else f"{role}-{index}")
    services: dict[str, Value] = {}
    for task in cluster.servers():
        size = plan.sizes.ps if task.role == "ps" else plan.sizes.worker
        config = cluster.tf_config(task.role, task.index)
        services[f"{task.role}-{task.index}"] = {
            **_service(plan, size, config),
            "command": ["tfw2v", "task"],
            "tmpfs": ["/tmp"],
            "restart": "on-failure",
        }
    # the coordinator waits for tasks, however long they take to come up on a busy machine
    train = 'until tfw2v cluster status; do sleep 2; done; exec tfw2v "$@"'
    services["coordinator"] = {
        **_service(plan, plan.sizes.coordinator, cluster.tf_config("chief", 0)),
        "command": [_literal(part) for part in ("sh", "-c", train, "sh", *plan.training.command())],
        # the corpus is encoded into a temporary file, which memory may not hold
        "volumes": [f"data:{DATA}", "scratch:/tmp"],
        "depends_on": [name for name in services],
        "restart": f"on-failure:{RESTARTS}",
    }
    comment = (
        f"Made by tfw2v cluster manifest compose: {plan.ps} ps and {plan.workers} workers for\n"
        f"{plan.training}\n\n"
        "TensorFlow's servers have no authentication: whoever reaches one runs code in its\n"
        "container. They stand in a network that is shut off from outside; publish no port."
    )
    return document(
        {
            "name": plan.name,
            "services": services,
            "networks": {"cluster": {"internal": True}},
            "volumes": {"data": {}, "scratch": {}},
        },
        comment,
    )


def _service(plan: Plan, size: Size, config: str) -> dict[str, Value]:
    return {
        "image": plan.image,
        "pull_policy": "never" if plan.is_image_local else "missing",
        "entrypoint": [],
        "environment": {"TF_CONFIG": _literal(config)},
        "networks": ["cluster"],
        "init": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "cpus": size.cpus,
        "mem_limit": f"{size.memory}g",
    }


def _literal(text: str) -> str:
    """A text in which Compose replaces no $VARIABLE."""
    return text.replace("$", "$$")
