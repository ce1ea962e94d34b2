"""A cluster of containers of one machine: a compose.yaml."""

from gensim_tfw2v.cluster.manifests.documents import Value, document
from gensim_tfw2v.cluster.manifests.plan import (
    DATA,
    LOGS,
    RESTARTS,
    TENSORBOARD_PORT,
    Plan,
    Size,
)


def compose_file(plan: Plan) -> str:
    """Write the services that make a cluster and its training, for ``docker compose up``.

    Raises
    ------
    ClusterError
        If the training reads or writes outside the volumes.
    """
    plan.training.check_in_volumes()
    cluster = plan.cluster(lambda role, index: role if role == "coordinator" else f"{role}-{index}")
    services: dict[str, Value] = {}
    logs: list[Value] = [] if plan.training.log_dir is None else [f"logs:{LOGS}"]
    for task in cluster.servers():
        size = plan.sizes.ps if task.role == "ps" else plan.sizes.worker
        config = cluster.tf_config(task.role, task.index)
        services[f"{task.role}-{task.index}"] = {
            **_service(plan, size, config),
            "command": ["tfw2v", "task"],
            "tmpfs": ["/tmp"],
            **({"volumes": logs} if logs else {}),
            "restart": "on-failure",
        }
    # the coordinator waits for tasks, however long they take to come up on a busy machine
    train = 'until tfw2v cluster status; do sleep 2; done; exec tfw2v "$@"'
    services["coordinator"] = {
        **_service(plan, plan.sizes.coordinator, cluster.tf_config("chief", 0)),
        "command": [_literal(part) for part in ("sh", "-c", train, "sh", *plan.training.command())],
        # the corpus is encoded into a temporary file, which memory may not hold
        "volumes": [f"data:{DATA}", "scratch:/tmp", *logs],
        "depends_on": [name for name in services],
        "restart": f"on-failure:{RESTARTS}",
    }
    networks: dict[str, Value] = {"cluster": {"internal": True}}
    volumes: dict[str, Value] = {"data": {}, "scratch": {}}
    if logs:
        services["tensorboard"] = _tensorboard(plan)
        networks["tensorboard"] = {}
        volumes["logs"] = {}
    comment = (
        f"{plan.intro('compose')}\n\n"
        "TensorFlow's servers have no authentication: whoever reaches one runs code in its\n"
        "container. They stand in a network that is shut off from outside; publish none of their\n"
        "ports."
    )
    return document(
        {
            "name": plan.name,
            "services": services,
            "networks": networks,
            "volumes": volumes,
        },
        comment,
    )


def _tensorboard(plan: Plan) -> Value:
    """TensorBoard, for browsers of this machine: it has a network without tasks."""
    serve: list[Value] = [
        "tfw2v",
        "tensorboard",
        LOGS,
        "--host",
        "0.0.0.0",
        "--port",
        str(TENSORBOARD_PORT),
    ]
    return {
        **_container(plan, plan.sizes.tensorboard),
        "networks": ["tensorboard"],
        "command": serve,
        "tmpfs": ["/tmp"],
        "volumes": [f"logs:{LOGS}:ro"],
        "ports": [f"127.0.0.1:{TENSORBOARD_PORT}:{TENSORBOARD_PORT}"],
        "restart": "on-failure",
    }


def _service(plan: Plan, size: Size, config: str) -> dict[str, Value]:
    environment = {"TF_CONFIG": config, **plan.training.log_environment()}
    return {
        **_container(plan, size),
        "environment": {name: _literal(value) for name, value in environment.items()},
        "networks": ["cluster"],
    }


def _container(plan: Plan, size: Size) -> dict[str, Value]:
    return {
        "image": plan.image,
        "pull_policy": "never" if plan.is_image_local else "missing",
        "entrypoint": [],
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
