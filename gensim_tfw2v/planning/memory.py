"""Memory to request for a task: the model's rows that it holds, with all else and a margin.

The constants are above all measured peaks; see "Memory of a task" in docs/planning.md.
"""

from gensim_tfw2v.planning.workload import Workload

GIB = float(1 << 30)

#: Bytes of a process that imports TensorFlow, with its buffers.
TASK = 1 * GIB

#: Bytes per thread of a worker task.
WORKER_THREAD = GIB / 8

#: Bytes of a process that trains without TensorFlow, and per thread of it.
PROCESS = GIB / 4
THREAD = GIB / 32

#: Bytes per word of the vocabulary, which only the program that trains needs.
WORD = 400.0


def ps_request(held: float) -> float:
    """Return the bytes to request for a ps task that holds `held` bytes of the model's rows."""
    return TASK + 2 * held


def worker_request(held: float, threads: int) -> float:
    """Return the bytes to request for a worker task that holds `held` bytes of rows."""
    return TASK + WORKER_THREAD * threads + 1.5 * held


def coordinator_request(work: Workload) -> float:
    """Return the bytes to request for the coordinator: the program and its child process."""
    return TASK + 3 * work.tables + WORD * len(work.frequencies.words)


def machine_request(work: Workload, threads: int) -> float:
    """Return the bytes to request for a program that trains without a cluster."""
    return PROCESS + THREAD * threads + work.tables + WORD * len(work.frequencies.words)
