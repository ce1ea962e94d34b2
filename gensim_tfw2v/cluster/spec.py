"""A cluster as pure data: its tasks and their addresses."""

import ipaddress
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from gensim_tfw2v.cluster.addresses import address_advice
from gensim_tfw2v.messages import quoted

Role = Literal["ps", "worker", "chief"]
ROLES: tuple[Role, ...] = get_args(Role)

#: Time limit in seconds for all tasks to start.
READY_SECONDS = 30.0

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
    """Numbers of tasks of a cluster on this machine, which is started only for a training run."""

    n_ps: int
    n_workers: int
