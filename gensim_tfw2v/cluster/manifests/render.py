"""The templates beside this file, filled in for a deployment.

``@name@`` stands for a value, since ``$`` and braces are the shell's. A line that names a list is
written once for each of its items, and not at all if there is none.
"""

import json
import re
import shlex
from importlib import resources
from itertools import product
from pathlib import PurePosixPath

from gensim_tfw2v.cluster.manifests.deployment import Deployment, TrainCommand, check_name
from gensim_tfw2v.cluster.spec import Cluster, ClusterError
from gensim_tfw2v.messages import quoted

Value = str | int | list[str]


def kubernetes_file(
    deployment: Deployment,
    claim: str | None = None,
    storage: int = 10,
    log_claim: str | None = None,
    log_class: str | None = None,
) -> str:
    """Write the objects that make a cluster and its training, for ``kubectl apply -f``.

    Parameters
    ----------
    deployment : Deployment
    claim : str, optional
        The PersistentVolumeClaim, which is there, for corpus, checkpoints and model: the
        coordinator mounts it. By default one is made.
    storage : int
        Its size in GiB, if it is made.
    log_claim : str, optional
        That for the logs, which all pods mount, if it is there.
    log_class : str, optional
        The StorageClass of that for the logs, if it is made: one whose volumes many nodes write.

    Raises
    ------
    ClusterError
        If the training reads or writes outside the volumes, or a claim cannot be.
    """
    for what, name in (("claim", claim), ("log claim", log_claim)):
        if name is not None:
            check_name(what, name)
    if storage < 1:
        raise ClusterError(f"storage is {storage}: give 1 GiB or more")
    values = _container_values(deployment, "kubernetes", "Never", "IfNotPresent")
    values["claim"] = claim or f"{deployment.name}-data"
    values["log_claim"] = log_claim or f"{deployment.name}-logs"
    claims = [] if claim else _lines("kubernetes-data.yaml", **values, storage=storage)
    if values["logs"] and not log_claim:
        of_class = [] if log_class is None else [_quoted(log_class)]
        claims += _lines("kubernetes-logs.yaml", **values, log_class=of_class)
    tasks, sizes = "kubernetes-tasks.yaml", deployment.sizes
    host = f"{deployment.name}-{{}}-{{}}.{deployment.name}"
    cluster = _cluster(deployment, host, host.format("coordinator", 0))
    return _file(
        "kubernetes.yaml",
        **values,
        **vars(sizes.coordinator),
        hosts=json.dumps(cluster.addresses(), indent=1).splitlines(),
        coordinator=_quoted(cluster.tf_config("chief", 0)),
        claims=claims,
        ps=_lines(tasks, **values, **vars(sizes.ps), role="ps", number=deployment.ps),
        workers=_lines(
            tasks, **values, **vars(sizes.worker), role="worker", number=deployment.workers
        ),
        corpus=_literal(deployment.training.paths["CORPUS"]),
        tensorboard=_lines("kubernetes-tensorboard.yaml", **values) if values["logs"] else [],
    )


def compose_file(deployment: Deployment) -> str:
    """Write the services that make a cluster and its training, for ``docker compose up``.

    Raises
    ------
    ClusterError
        If the training reads or writes outside the volumes.
    """
    values = _container_values(deployment, "compose", "never", "missing")
    cluster = _cluster(deployment, "{}-{}", "coordinator")
    tasks = []
    for task in cluster.servers():
        config = _quoted(cluster.tf_config(task.role, task.index))
        size = vars(getattr(deployment.sizes, task.role))
        tasks += _lines("compose-task.yaml", **values, **size, service=task.host, config=config)
    return _file(
        "compose.yaml",
        **values,
        **vars(deployment.sizes.coordinator),
        tasks=tasks,
        config=_quoted(cluster.tf_config("chief", 0)),
        servers=[task.host for task in cluster.servers()],
        tensorboard=_lines("compose-tensorboard.yaml", **values) if values["logs"] else [],
        tensorboard_network=["tensorboard"] if values["logs"] else [],
    )


def slurm_file(deployment: Deployment, first_port: int | None = None, setup: str = "") -> str:
    """Write the batch script of a job that is a cluster and its training.

    Its exit status is that of the training. Slurm gives all tasks of a job the same: the CPUs of a
    worker, and the memory of the largest.

    Parameters
    ----------
    deployment : Deployment
    first_port : int, optional
        Tasks listen at this and the following ports; by default at ports that follow from the
        job's number, so that jobs which share a node take different ones.
    setup : str
        A line of shell that makes the command ``tfw2v`` known.

    Raises
    ------
    ClusterError
        If ports would be above 65535, or `setup` has several lines.
    """
    tasks, sizes = deployment.ps + deployment.workers + 1, deployment.sizes
    if first_port is not None and not 1024 <= first_port <= (1 << 16) - tasks:
        raise ClusterError(
            f"port is {first_port}: {tasks} tasks need as many ports from it on, from 1024 to 65535"
        )
    if "\n" in setup:
        raise ClusterError("setup has several lines: write one, with ; or && between commands")
    memory = max(size.memory for size in (sizes.ps, sizes.worker, sizes.coordinator))
    return _file(
        "slurm.sh",
        intro=_intro(deployment, "slurm"),
        name=deployment.name,
        tasks=tasks,
        cpus=sizes.worker.cpus,
        megabytes=-(-1024 * memory // sizes.worker.cpus),
        ps=deployment.ps,
        workers=deployment.workers,
        first_port="" if first_port is None else first_port,
        training=shlex.join(deployment.training.command()),
        log_dir=shlex.quote(deployment.training.log_dir or ""),
        setup=["", setup] if setup else [],
    )


def _container_values(
    deployment: Deployment, kind: str, local: str, pulled: str
) -> dict[str, Value]:
    """What Kubernetes and Compose both are told, with their words for when an image is pulled."""
    _check_in_volumes(deployment.training)
    log_dir = deployment.training.log_dir
    return {
        "intro": _intro(deployment, kind),
        "name": deployment.name,
        "image": deployment.image,
        "pull": pulled if "/" in deployment.image else local,
        "port": deployment.port,
        "training": [_literal(part) for part in deployment.training.command()],
        "log_dir": [] if log_dir is None else [_literal(log_dir)],
        "logs": [] if log_dir is None else ["logs"],
    }


def _check_in_volumes(training: TrainCommand) -> None:
    """All tasks mount the volume of the logs, and the coordinator alone that of the data."""
    paths = training.paths | {"--checkpoint-dir": training.checkpoint_dir}
    if training.log_dir is not None:
        paths["--log-dir"] = training.log_dir
    for name, text in paths.items():
        path, volume = PurePosixPath(text), "/logs" if name == "--log-dir" else "/data"
        if ".." in path.parts or not path.is_relative_to(volume):
            raise ClusterError(
                f"{name} is {quoted(text)}: in containers, it is on the volume {volume}; give a "
                f"path like {volume}/{path.name}"
            )


def _cluster(deployment: Deployment, server: str, coordinator: str) -> Cluster:
    """The addresses of the tasks, from their hosts: `server` has places for role and index."""
    numbers = {"ps": deployment.ps, "worker": deployment.workers}
    ps, worker = (
        tuple(f"{server.format(role, index)}:{deployment.port}" for index in range(number))
        for role, number in numbers.items()
    )
    return Cluster(ps, worker, f"{coordinator}:{deployment.port}")


def _intro(deployment: Deployment, kind: str) -> list[str]:
    tasks = f"{deployment.ps} ps and {deployment.workers} workers"
    made = f"Made by tfw2v cluster manifest {kind}: {tasks} for"
    training = shlex.join(["tfw2v", "train", *deployment.training.arguments])
    # YAML refuses a file for some characters, were they in a comment
    shown = training if training.isprintable() else ascii(training)[1:-1]
    return [made, shown, *deployment.sizes.basis.splitlines()]


def _file(template: str, **values: Value) -> str:
    return "".join(f"{line}\n" for line in _lines(template, **values))


def _lines(template: str, **values: Value) -> list[str]:
    lines = []
    for line in resources.files(__package__).joinpath(template).read_text("utf-8").splitlines():
        parts: list[Value] = [*re.split("@([a-z_]+)@", line)]  # texts and names by turns
        parts[1::2] = [values[str(name)] for name in parts[1::2]]
        choices = [part if isinstance(part, list) else [str(part)] for part in parts]
        lines += ["".join(chosen) for chosen in product(*choices)]
    return lines


def _literal(text: str) -> str:
    """A text in which Kubernetes and Compose replace no variable."""
    return _quoted(text.replace("$", "$$"))


def _quoted(text: str) -> str:
    """A text as YAML, the same in all its versions."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    written = json.dumps(text, ensure_ascii=False)  # YAML does not join surrogates
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in written)
