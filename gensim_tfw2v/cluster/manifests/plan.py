"""What a cluster is to be, whatever starts it: how many tasks, of which size, training what."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from gensim_tfw2v.cluster.spec import Cluster, ClusterError
from gensim_tfw2v.monitor.task import LOG_DIR

#: The longest name that leaves room, in a DNS label, for what Kubernetes appends to it.
LONGEST_NAME = 40

#: Where containers find the corpus, and put checkpoints and the model.
DATA = "/data"

#: Where containers write what TensorBoard shows: a volume of its own, for all tasks mount it.
LOGS = "/logs"

#: Where TensorBoard listens.
TENSORBOARD_PORT = 6006

#: An image without a registry and a folder in its name is one of the machine, and never pulled:
#: else a stranger's image of that name would be.
IMAGE = "gensim-tfw2v"

#: How often the coordinator is started again.
RESTARTS = 10


@dataclass(frozen=True)
class Training:
    """The command ``tfw2v train`` that a cluster is for.

    Parameters
    ----------
    arguments : tuple of str
        Those after ``train``, without ``--cluster`` and ``--checkpoint-dir``.
    paths : mapping from str to str
        Files and folders among them, by the name of the option.
    checkpoint_dir : str
        Where it goes on from when it is started again.
    log_dir : str, optional
        Where it, and every task, logs for TensorBoard.
    """

    arguments: tuple[str, ...]
    paths: dict[str, str]
    checkpoint_dir: str
    log_dir: str | None = None

    def command(self) -> list[str]:
        """The arguments of ``tfw2v``."""
        own = ["--cluster", "TF_CONFIG", "--checkpoint-dir", self.checkpoint_dir]
        return ["train", *self.arguments, *own]

    def __str__(self) -> str:
        return shlex.join(["tfw2v", "train", *self.arguments])

    def log_environment(self) -> dict[str, str]:
        """The environment of each task, by which it logs with the others."""
        return {} if self.log_dir is None else {LOG_DIR: self.log_dir}

    def check_in_volumes(self) -> None:
        """See that containers find all files in their volumes.

        Raises
        ------
        ClusterError
            For the first that is elsewhere.
        """
        of_data = {**self.paths, "--checkpoint-dir": self.checkpoint_dir}
        of_logs = {} if self.log_dir is None else {"--log-dir": self.log_dir}
        for volume, paths in ((DATA, of_data), (LOGS, of_logs)):
            for name, path in paths.items():
                inside = PurePosixPath(path).is_relative_to(volume)
                if not inside or ".." in PurePosixPath(path).parts:
                    raise ClusterError(
                        f"{name} is {path!r}: in containers, it is on the volume {volume}; give a "
                        f"path like {volume}/{PurePosixPath(path).name}"
                    )


@dataclass(frozen=True)
class Size:
    """What a task may use, and is promised.

    Parameters
    ----------
    cpus : int
    memory : int
        In GiB.
    """

    cpus: int
    memory: int

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.memory < 1:
            raise ClusterError(
                f"a task of {self.cpus} CPUs and {self.memory} GiB cannot run: give 1 or more"
            )


@dataclass(frozen=True)
class Sizes:
    """The size of the tasks of each role.

    Parameters
    ----------
    ps, worker, coordinator, tensorboard : Size
    basis : str
        For what they were estimated, as a sentence.
    """

    ps: Size = Size(1, 2)
    worker: Size = Size(3, 2)
    coordinator: Size = Size(2, 4)
    tensorboard: Size = Size(1, 1)
    basis: str = ""

    @property
    def largest(self) -> int:
        """GiB of the task that needs most."""
        return max(one.memory for one in (self.ps, self.worker, self.coordinator))


@dataclass(frozen=True)
class Plan:
    """A cluster that is to be started.

    Parameters
    ----------
    training : Training
    ps, workers : int
        How many tasks.
    name : str
        What everything of this cluster is called by: a DNS label.
    image : str
        The container image with ``tfw2v``.
    port : int
        At which tasks listen that have an address of their own.
    sizes : Sizes

    Raises
    ------
    ClusterError
        If no such cluster can be.
    """

    training: Training
    ps: int = 1
    workers: int = 2
    name: str = "tfw2v"
    image: str = IMAGE
    port: int = 2222
    sizes: Sizes = field(default_factory=Sizes)

    def __post_init__(self) -> None:
        if self.ps < 1 or self.workers < 1:
            raise ClusterError(
                f"a cluster of {self.ps} ps and {self.workers} workers cannot train: give at "
                "least one of each"
            )
        check_name("name", self.name, LONGEST_NAME)
        if not 1024 <= self.port < 1 << 16:
            raise ClusterError(
                f"port is {self.port}: give one from 1024, below which only root may listen, to "
                "65535"
            )
        if not re.fullmatch(r"[a-zA-Z0-9][\w./:@-]*", self.image):
            raise ClusterError(
                f"image is {self.image!r}: give a container image, as REGISTRY/NAME:TAG"
            )

    def intro(self, kind: str) -> str:
        """What a file of this kind is, for its first lines."""
        made = f"Made by tfw2v cluster manifest {kind}: {self.ps} ps and {self.workers} workers for"
        return "\n".join(filter(None, (made, str(self.training), self.sizes.basis)))

    @property
    def is_image_local(self) -> bool:
        """Whether the image is one of the machine, which is not pulled."""
        return "/" not in self.image

    def cluster(self, host: Callable[[str, int], str]) -> Cluster:
        """The addresses of its tasks.

        Parameters
        ----------
        host : callable
            From ``"ps"``, ``"worker"`` or ``"coordinator"`` and an index to the host's name.
        """

        def address(role: str, index: int) -> str:
            return f"{host(role, index)}:{self.port}"

        return Cluster(
            tuple(address("ps", index) for index in range(self.ps)),
            tuple(address("worker", index) for index in range(self.workers)),
            address("coordinator", 0),
        )


def check_name(what: str, name: str, longest: int = 63) -> None:
    """See that a name can be part of a host's name.

    Raises
    ------
    ClusterError
    """
    if len(name) > longest or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        raise ClusterError(
            f"{what} is {name!r}: give a DNS label, of a-z, 0-9 and -, a letter first and no - "
            f"last, of {longest} characters at most"
        )
