"""The pods of a cluster on Kubernetes, and what keeps them running."""

from gensim_tfw2v.cluster.manifests.documents import Value
from gensim_tfw2v.cluster.manifests.plan import DATA, LOGS, RESTARTS, TENSORBOARD_PORT, Plan, Size

#: User and group of every process.
USER = 1000

#: Where tasks find the addresses of all.
HOSTS = "/etc/tfw2v"

INSTANCE, COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"


def metadata(plan: Plan, name: str, component: str | None = None) -> Value:
    """Name and labels of an object of the cluster."""
    return {"name": name, "labels": _labels(plan, component)}


def tasks(plan: Plan, role: str, number: int, size: Size, logs: str | None) -> Value:
    """A StatefulSet: pods that come back under their own names.

    Parameters
    ----------
    logs : str, optional
        The claim to which they log for TensorBoard.
    """
    # the pod's name ends with its number
    serve = f'exec tfw2v task --hosts {HOSTS}/hosts.json --role {role} --index "${{POD_NAME##*-}}"'
    container = _container(
        plan,
        role,
        size,
        {
            "command": ["sh", "-c", serve],
            "env": [
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                *_log_environment(plan),
            ],
            "ports": [{"name": "grpc", "containerPort": plan.port}],
            "readinessProbe": {"tcpSocket": {"port": "grpc"}},
        },
        {"hosts": HOSTS, **_log_mount(logs)},
    )
    labels = _labels(plan, role)
    spread: Value = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    hosts: dict[str, Value] = {"configMap": {"name": plan.name}}
    pod = {
        **_pod(plan, [container], {"hosts": hosts, **_claims(logs=logs)}),
        "terminationGracePeriodSeconds": 10,
        "topologySpreadConstraints": [spread],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(plan, f"{plan.name}-{role}", role),
        "spec": {
            "serviceName": plan.name,
            "replicas": number,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def coordinator(plan: Plan, claim: str, logs: str | None) -> Value:
    """A Job: it waits for the corpus and for the tasks, then trains."""
    reference: Value = {"configMapKeyRef": {"name": plan.name, "key": "coordinator"}}
    env: list[Value] = [{"name": "TF_CONFIG", "valueFrom": reference}]
    corpus = plan.training.paths["CORPUS"]
    wait = (
        'until [ -e "$1" ]; do echo "waiting for $1"; sleep 5; done; '
        "until tfw2v cluster status; do sleep 5; done"
    )
    size, mounts = plan.sizes.coordinator, {"data": DATA}
    env_of_training: Value = [*env, *_log_environment(plan)]
    waiting: dict[str, Value] = {"command": ["sh", "-c", wait, "sh", _literal(corpus)], "env": env}
    training: dict[str, Value] = {
        "command": ["tfw2v", *map(_literal, plan.training.command())],
        "env": env_of_training,
        "ports": [{"name": "grpc", "containerPort": plan.port}],
    }
    pod = _pod(
        plan,
        [_container(plan, "coordinator", size, training, mounts | _log_mount(logs))],
        _claims(data=claim, logs=logs),
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(plan, f"{plan.name}-coordinator", "coordinator"),
        "spec": {
            # an indexed Job gives its pods one host name, so the coordinator's address stays
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": RESTARTS,
            # never two at once, which would write the same checkpoints
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"labels": _labels(plan, "coordinator")},
                "spec": {
                    "restartPolicy": "Never",
                    "subdomain": plan.name,
                    "initContainers": [_container(plan, "wait", size, waiting, mounts)],
                    **pod,
                },
            },
        },
    }


def tensorboard(plan: Plan, logs: str) -> Value:
    """A Deployment: TensorBoard, at its pod's own loopback address."""
    name = f"{plan.name}-tensorboard"
    # not the cluster's labels: its pods may reach the tasks
    labels: Value = {"app.kubernetes.io/name": "gensim-tfw2v", INSTANCE: name}
    serve: list[Value] = ["tfw2v", "tensorboard", LOGS, "--port", str(TENSORBOARD_PORT)]
    mounts = {"logs": LOGS}
    container = _container(plan, "tensorboard", plan.sizes.tensorboard, {"command": serve}, mounts)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(plan, name, "tensorboard"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod(plan, [container], _claims(logs=logs)),
            },
        },
    }


def _log_environment(plan: Plan) -> list[Value]:
    return [
        {"name": name, "value": _literal(value)}
        for name, value in plan.training.log_environment().items()
    ]


def _log_mount(logs: str | None) -> dict[str, str]:
    return {} if logs is None else {"logs": LOGS}


def _claims(**claims: str | None) -> dict[str, dict[str, Value]]:
    """Volumes by their names, from claims."""
    return {
        name: {"persistentVolumeClaim": {"claimName": claim}}
        for name, claim in claims.items()
        if claim is not None
    }


def _pod(
    plan: Plan, containers: list[Value], volumes: dict[str, dict[str, Value]]
) -> dict[str, Value]:
    sources: dict[str, dict[str, Value]] = {**volumes, "scratch": {"emptyDir": {}}}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": containers,
        "volumes": [{"name": name, **source} for name, source in sources.items()],
    }


def _container(
    plan: Plan, name: str, size: Size, what: dict[str, Value], mounts: dict[str, str]
) -> Value:
    resources: dict[str, Value] = {"cpu": size.cpus, "memory": f"{size.memory}Gi"}
    return {
        "name": name,
        "image": plan.image,
        "imagePullPolicy": "Never" if plan.is_image_local else "IfNotPresent",
        **what,
        "resources": {"requests": resources, "limits": dict(resources)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": volume, "mountPath": path}
            for volume, path in {**mounts, "scratch": "/tmp"}.items()
        ],
    }


def _literal(argument: str) -> Value:
    """An argument in which Kubernetes replaces no $(VARIABLE)."""
    return argument.replace("$(", "$$(")


def _labels(plan: Plan, component: str | None = None) -> dict[str, Value]:
    labels: dict[str, Value] = {"app.kubernetes.io/name": "gensim-tfw2v", INSTANCE: plan.name}
    return labels | ({COMPONENT: component} if component else {})
