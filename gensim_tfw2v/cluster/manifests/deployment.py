"""What a cluster is to be, whatever starts it: how many tasks, of which size, training what."""

import re
from dataclasses import dataclass

from gensim_tfw2v.cluster.spec import ClusterError
from gensim_tfw2v.messages import quoted


@dataclass(frozen=True)
class TrainCommand:
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


@dataclass(frozen=True)
class Size:
    """What a task may use, and is promised: CPUs, and GiB of memory."""

    cpus: int
    memory: int

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.memory < 1:
            raise ClusterError(
                f"a task of {self.cpus} CPUs and {self.memory} GiB cannot run: give 1 or more"
            )


@dataclass(frozen=True)
class Sizes:
    """The size of the tasks of each role; `basis` is a sentence that says how it was estimated."""

    ps: Size = Size(1, 2)
    worker: Size = Size(3, 2)
    coordinator: Size = Size(2, 4)
    basis: str = ""


@dataclass(frozen=True)
class Deployment:
    """A cluster that is to be started.

    Parameters
    ----------
    training : TrainCommand
    ps, workers : int
        How many tasks.
    name : str
        What everything of this cluster is called by: a DNS label.
    image : str
        The container image with ``tfw2v``. Without a registry and a folder in its name it is one
        of the machine, and never pulled: else a stranger's image of that name would be.
    port : int
        At which tasks listen that have an address of their own.
    sizes : Sizes

    Raises
    ------
    ClusterError
        If no such cluster can be.
    """

    training: TrainCommand
    ps: int = 1
    workers: int = 2
    name: str = "tfw2v"
    image: str = "gensim-tfw2v"
    port: int = 2222
    sizes: Sizes = Sizes()

    def __post_init__(self) -> None:
        if self.ps < 1 or self.workers < 1:
            raise ClusterError(
                f"a cluster of {self.ps} ps and {self.workers} workers cannot train: give at "
                "least one of each"
            )
        check_name("name", self.name, 40)  # Kubernetes appends more to it
        if not 1024 <= self.port < 1 << 16:
            raise ClusterError(
                f"port is {self.port}: give one from 1024, below which only root may listen, to "
                "65535"
            )
        if not re.fullmatch(r"[a-zA-Z0-9][\w./:@-]*", self.image):
            raise ClusterError(
                f"image is {quoted(self.image)}: give a container image, as REGISTRY/NAME:TAG"
            )


def check_name(what: str, name: str, longest: int = 63) -> None:
    """Raise a `ClusterError` unless a name can be part of a host's name."""
    if len(name) > longest or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        raise ClusterError(
            f"{what} is {quoted(name)}: give a DNS label, of a-z, 0-9 and -, a letter first and no "
            f"- last, of {longest} characters at most"
        )
