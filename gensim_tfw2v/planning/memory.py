"""What each task of a cluster takes of its machine's memory, with the program's own."""

import math
from typing import NamedTuple

from gensim_tfw2v.planning.advice import FLOAT, Choice
from gensim_tfw2v.planning.traffic import Workload

GIB = 2**30

#: Bytes of a process before it holds anything: the interpreter, TensorFlow, gensim, buffers of TCP.
PROCESS = 1.0 * GIB

#: Bytes of a thread that trains: its unit, the graph's buffers.
THREAD = 0.125 * GIB

#: Bytes of a word in gensim's dictionaries, and with its places in the tree or the noise.
WORD = 400

#: How often what a task holds is there at the worst moment: a ps has its shards, and copies of them
#: on their way to a checkpoint; the coordinator the model, a checkpoint and what arrives for it.
PS_COPIES, WORKER_COPIES, COORDINATOR_COPIES = 2.0, 1.5, 3.0


#: Bytes/s of a ps, in the direction in which it has more to do, that take one of its cores.
NET_OF_A_CORE = 1e8


class TaskMemory(NamedTuple):
    """GiB that a task of each role should be given, rounded up.

    Attributes
    ----------
    ps, worker, coordinator : int
    """

    ps: int
    worker: int
    coordinator: int


def task_memory(
    work: Workload, choice: Choice, threads: int, copies: float = PS_COPIES
) -> TaskMemory:
    """Estimate the memory of each task.

    Parameters
    ----------
    work : Workload
    choice : Choice
        How it is trained, and so what tasks hold of the model; see `compare`.
    threads : int
        Of each worker.
    copies : float
        How often the ps have the model at the worst moment. L-BFGS keeps many.
    """
    tables = 2.0 * work.vocabulary * work.vector_size * FLOAT
    return TaskMemory(
        _gib(PROCESS + copies * choice.ps_memory),
        _gib(PROCESS + threads * THREAD + WORKER_COPIES * choice.worker_memory),
        _gib(PROCESS + COORDINATOR_COPIES * tables + WORD * work.vocabulary),
    )


def _gib(size: float) -> int:
    return math.ceil(size / GIB)


def ps_cores(choice: Choice) -> int:
    """Estimate how many cores of a ps its traffic keeps busy."""
    return max(1, math.ceil(choice.ps_net / NET_OF_A_CORE))
