"""A cluster as pure data: its tasks and their addresses.

The format is TensorFlow's: ``TF_CONFIG`` contains the addresses of all tasks by type, and the type
and index of this process's task (https://www.tensorflow.org/guide/distributed_training#tf_config).
Operators such as TFJob and SageMaker write further types and keys into it.
"""

import contextlib
import ipaddress
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from gensim_tfw2v.cluster.addresses import address_advice
from gensim_tfw2v.messages import (
    conversion_advice,
    decode_error_message,
    quoted,
    require,
    whole_number,
    wide_encoding,
)

Role = Literal["ps", "worker", "chief"]
ROLES: tuple[Role, ...] = get_args(Role)

#: Role of each type of task. SageMaker and TFJob write "master", TensorFlow 1's name of the chief.
ROLES_BY_TYPE: dict[str, Role] = {role: role for role in ROLES} | {"master": "chief"}

#: Type of tasks that evaluate models in other TensorFlow programs. Their addresses are ignored.
EVALUATOR = "evaluator"

#: Time limit in seconds for all tasks to start.
READY_SECONDS = 30.0

#: Example of a hosts file, for messages.
HOSTS_EXAMPLE = '{"chief": ["10.0.0.1:2222"], "ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}'

#: Example of a TF_CONFIG, for messages.
TF_CONFIG_EXAMPLE = f'{{"cluster": {HOSTS_EXAMPLE}, "task": {{"type": "worker", "index": 0}}}}'

#: Errors of JSON and YAML parsers, for text that is invalid or nested too deeply, and for numbers
#: with too many digits.
PARSE_ERRORS = (ValueError, RecursionError)

#: Pattern of the names of local clusters, such as "local:ps=2,worker=4".
_LOCAL_NAME = re.compile(r"local:ps=([1-9][0-9]{0,3}),worker=([1-9][0-9]{0,3})")

#: Name of the environment variable with the folder in which a task writes its TensorBoard run.
LOG_DIR = "TFW2V_LOG_DIR"


class ClusterLost(ConnectionError):
    """Loss of tasks that hold parameters, or of all workers, during training on a cluster.

    Attributes
    ----------
    tasks : tuple of Task
        The tasks that were lost, as far as they are known.
    is_loading : bool
        Whether the rows were being sent to the ps tasks.
    """

    def __init__(self, message: str, tasks: "Sequence[Task]" = ()) -> None:
        super().__init__(message)
        self.tasks = tuple(tasks)
        self.is_loading = False


class ClusterError(ValueError):
    """Invalid description of a cluster."""


@dataclass(frozen=True)
class Task:
    """One process of a cluster.

    Attributes
    ----------
    role : {"ps", "worker", "chief"}
        A ps holds parameters, a worker trains, the chief coordinates.
    index : int
        Index among the tasks of the role, from 0.
    address : str
        ``host:port``.
    """

    role: Role
    index: int
    address: str

    def __str__(self) -> str:
        return f"{self.role} {self.index} ({self.address})"

    @property
    def host(self) -> str:
        """Host of the address, without the brackets of IPv6."""
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Port of the address."""
        return int(self.address.rpartition(":")[2])

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can reach the address."""
        return self._host_is("is_loopback")

    @property
    def is_private(self) -> bool:
        """Return whether the address is known to be unreachable from the Internet."""
        return self._host_is("is_private")

    def _host_is(self, attribute: str) -> bool:
        try:
            return getattr(ipaddress.ip_address(self.host), attribute)
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True)
class Cluster:
    """Addresses of all tasks of a cluster by role.

    Parameters
    ----------
    ps : tuple of str
        Addresses ``host:port`` of the tasks that hold parameters.
    worker : tuple of str
        Addresses ``host:port`` of the tasks that train.
    chief : str, optional
        Address of the coordinator; by default TensorFlow picks a free port.

    Raises
    ------
    ClusterError
        If there is no ps or no worker, an address lacks a host or a port from 1 to 65535, or two
        tasks have the same address.
    """

    ps: tuple[str, ...]
    worker: tuple[str, ...]
    chief: str | None = None

    def __post_init__(self) -> None:
        for role in ("ps", "worker"):
            addresses = getattr(self, role)
            if isinstance(addresses, str) or not isinstance(addresses, Sequence | None):
                raise ClusterError(
                    f"{role} is {quoted(addresses)}: pass a tuple of addresses, such as "
                    "('10.0.0.2:2222',)"
                )
            if not addresses:
                raise ClusterError(f"the cluster has no {role}: give at least one {role} address")
        tasks_by_address: dict[str, list[Task]] = {}
        for task in self.tasks():
            problem = f"{task.role} {task.index} has the address {quoted(task.address)}: write"
            if not isinstance(task.address, str):
                raise ClusterError(f"{problem} a string, host:port")
            if advice := address_advice(task.address):
                raise ClusterError(f"{problem} {advice}")
            tasks_by_address.setdefault(task.address, []).append(task)
        for tasks in tasks_by_address.values():
            if len(tasks) > 1:
                names = " and ".join(map(str, tasks))
                raise ClusterError(f"{names} have the same address: give each task its own")

    def tasks(self) -> Iterator[Task]:
        """Yield all tasks: ps, workers, then the chief if its address is known."""
        for role, addresses in self.addresses().items():
            for index, address in enumerate(addresses):
                yield Task(role, index, address)

    def servers(self) -> list[Task]:
        """Return the tasks that run servers for a coordinator: ps, then workers."""
        return [task for task in self.tasks() if task.role != "chief"]

    def task(self, role: Role, index: int) -> Task:
        """Return one of the tasks.

        Raises
        ------
        ClusterError
            If the cluster has no such task.
        """
        for task in self.tasks():
            if (task.role, task.index) == (role, index):
                return task
        names = ", ".join(map(str, self.tasks()))
        raise ClusterError(f"the cluster has no {role} {index}; it has {names}")

    def addresses(self) -> dict[Role, list[str]]:
        """Return the addresses by role, as TensorFlow's ``ClusterSpec`` accepts them."""
        addresses: dict[Role, list[str]] = {"ps": list(self.ps), "worker": list(self.worker)}
        if self.chief:
            addresses["chief"] = [self.chief]
        return addresses

    def tf_config(self, role: Role, index: int) -> str:
        """Return the ``TF_CONFIG`` of one of the tasks, as JSON.

        Raises
        ------
        ClusterError
            If the cluster has no such task.
        """
        self.task(role, index)
        return json.dumps(
            {"cluster": self.addresses(), "task": {"type": role, "index": index}}, sort_keys=True
        )


class LocalTasks(NamedTuple):
    """Numbers of tasks of a cluster on this machine, which is started for a training only."""

    n_ps: int
    n_workers: int


def parse_cluster(name: str | Cluster) -> Cluster | LocalTasks:
    """Return the cluster that a name stands for.

    ``"local:ps=2,worker=4"`` stands for tasks on this machine, ``"TF_CONFIG"`` for the cluster in
    the environment variable of that name. A `ClusterError` is raised for any other name.
    """
    require("cluster", "tensorflow")
    if isinstance(name, Cluster):
        return name
    if name == "TF_CONFIG":
        return from_tf_config(os.environ)[0]
    local = _LOCAL_NAME.fullmatch(name.replace(" ", "")) if isinstance(name, str) else None
    if not local:
        raise ClusterError(
            f"cluster is {quoted(name)}: give 'local:ps=P,worker=N' with P and N from 1 to 9999, "
            "'TF_CONFIG', or addresses (with tfw2v: --hosts FILE)"
        )
    return LocalTasks(*map(int, local.groups()))


def from_tf_config(environ: Mapping[str, str]) -> tuple[Cluster, Task]:
    """Read the cluster, and this process's task in it, from ``TF_CONFIG``.

    Parameters
    ----------
    environ : mapping
        Environment variables, such as ``os.environ``.

    Returns
    -------
    (Cluster, Task)
        The cluster, and this process's task.

    Raises
    ------
    ClusterError
        If ``TF_CONFIG`` is missing, is not in TensorFlow's format, or names a task that the
        cluster lacks.
    """
    advice = f"it should be like {TF_CONFIG_EXAMPLE}"
    text = environ.get("TF_CONFIG")
    if not text:
        raise ClusterError(f"TF_CONFIG is not set; {advice}")
    try:
        config = json.loads(text, object_pairs_hook=_make_mapping)
    except ClusterError as error:
        raise ClusterError(f"TF_CONFIG {error}") from error
    except PARSE_ERRORS as error:
        raise ClusterError(f"TF_CONFIG is not JSON ({error}); {advice}") from error
    parts = config if isinstance(config, dict) else {}
    for name in ("cluster", "task"):
        if not isinstance(parts.get(name), dict):
            raise ClusterError(f"TF_CONFIG has no {name!r}; {advice}")
    cluster = _from_addresses(parts["cluster"], "TF_CONFIG")
    role = _parse_role(parts["task"].get("type"))
    return cluster, cluster.task(role, _parse_index(parts["task"].get("index", 0)))


def _parse_role(name: Any) -> Role:
    """Return the role of the task of ``TF_CONFIG``."""
    if name == EVALUATOR:
        raise ClusterError(
            "TF_CONFIG makes this an evaluator, which a training does not use: start only the ps, "
            "workers and chief"
        )
    if not isinstance(name, str) or name not in ROLES_BY_TYPE:
        raise ClusterError(
            f"TF_CONFIG has a task of the type {quoted(name)}; it should be ps, worker or chief, "
            f"as in {TF_CONFIG_EXAMPLE}"
        )
    return ROLES_BY_TYPE[name]


def _parse_index(index: Any) -> int:
    """Return the index of the task of ``TF_CONFIG``; some operators write it in quotes."""
    if isinstance(index, str):
        with contextlib.suppress(ValueError):
            return whole_number(index)
    if type(index) is not int:
        raise ClusterError(
            f"TF_CONFIG has a task with the index {quoted(index)}; it should be a whole number "
            f"from 0, as in {TF_CONFIG_EXAMPLE}"
        )
    return index


def read_hosts(path: Path) -> Cluster:
    """Read a hosts file: a list of ``host:port`` for each role; the chief is optional.

    Parameters
    ----------
    path : Path
        YAML if its name ends with ``.yaml`` or ``.yml``, otherwise JSON.

    Raises
    ------
    ClusterError
        If the file is invalid, or does not describe a valid cluster.
    ImportError
        If the file is in YAML, and PyYAML is missing.
    """
    try:
        addresses = _parse(path)
        if not isinstance(addresses, dict):
            raise ClusterError("is not a mapping from roles to addresses")
        return _from_addresses(addresses, "it")
    except ClusterError as error:
        raise ClusterError(f"{path}: {error}; it should be like {HOSTS_EXAMPLE}") from error


def _parse(path: Path) -> Any:
    """Return the content of a hosts file, parsed as JSON or YAML by the suffix of its name."""
    content = path.read_bytes()
    if encoding := wide_encoding(content[:64]):
        raise ClusterError(f"is not UTF-8 text. {conversion_advice(encoding)}")
    try:
        text = content.decode("utf-8-sig")  # Notepad and PowerShell write a byte order mark
    except UnicodeDecodeError as error:
        raise ClusterError(decode_error_message(error, 0)) from error
    if path.suffix.lower() not in {".yaml", ".yml"}:
        try:
            return json.loads(text, object_pairs_hook=_make_mapping)
        except ClusterError:
            raise
        except PARSE_ERRORS as error:
            raise ClusterError(
                f"is not JSON ({error}); if it is YAML, let its name end with .yaml"
            ) from error
    require(f"{path}, a hosts file in YAML,", "PyYAML", "yaml")

    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            # Aliases are refused, because a few lines of them can expand to millions of items.
            if self.check_event(yaml.AliasEvent):
                alias = self.peek_event().anchor
                raise ClusterError(f"has the alias *{alias}: write the addresses out in full")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            _make_mapping([(self.construct_object(key), None) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except ClusterError:
        raise
    except (yaml.YAMLError, *PARSE_ERRORS) as error:
        raise ClusterError(f"is not YAML ({error})") from error


def _make_mapping(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a mapping from pairs of keys and values; raise a ClusterError if a key occurs twice."""
    keys = [key for key, _ in items]
    for key in keys:
        if keys.count(key) > 1:
            raise ClusterError(f"has {quoted(key)} twice: write one list of addresses for it")
    return dict(items)


def _from_addresses(addresses: Mapping[str, Any], source: str) -> Cluster:
    """Make a cluster from lists of addresses by role.

    `source` is the subject of error messages, such as "TF_CONFIG".
    """
    hosts_by_role: dict[Role, list[str]] = {role: [] for role in ROLES}
    for name, hosts in addresses.items():
        if name == EVALUATOR:
            continue
        if name not in ROLES_BY_TYPE:
            raise ClusterError(
                f"{source} has tasks of the type {quoted(name)}; known are {', '.join(ROLES)}"
            )
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise ClusterError(
                f"{source} has {quoted(hosts)} for {name}: write a list of addresses"
            )
        hosts_by_role[ROLES_BY_TYPE[name]] += hosts
    chiefs = hosts_by_role["chief"]
    if len(chiefs) > 1:
        raise ClusterError(
            f"{source} has {len(chiefs)} chiefs ({quoted(chiefs)}): at most one is allowed, as "
            "chief or as master"
        )
    return Cluster(
        tuple(hosts_by_role["ps"]), tuple(hosts_by_role["worker"]), next(iter(chiefs), None)
    )
