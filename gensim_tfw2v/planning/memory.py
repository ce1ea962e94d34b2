"""Memory to request for a task: the model's rows in the task, everything else, and a margin.

With these constants, requests exceed all peaks that were measured; see "Memory of a task" in
docs/planning.md.
"""

from gensim_tfw2v.planning.workload import Workload

GIB = float(1 << 30)

#: Bytes of a process that imports TensorFlow, with its buffers.
TASK_BYTES = 1 * GIB

#: Bytes per thread of a worker task.
WORKER_THREAD_BYTES = GIB / 8

#: Bytes of a process that trains without TensorFlow.
PROCESS_BYTES = GIB / 4

#: Bytes per thread of a process that trains without TensorFlow.
THREAD_BYTES = GIB / 32

#: Bytes per word of the vocabulary. Only the user's program needs them, not the cluster's tasks.
WORD_BYTES = 400.0


def ps_request(row_bytes: float) -> float:
    """Return the bytes to request for a ps task with `row_bytes` bytes of the model's rows."""
    return TASK_BYTES + 2 * row_bytes


def worker_request(row_bytes: float, threads: int) -> float:
    """Return the bytes to request for a worker task with `row_bytes` bytes of rows."""
    return TASK_BYTES + WORKER_THREAD_BYTES * threads + 1.5 * row_bytes


def coordinator_request(work: Workload) -> float:
    """Return the bytes to request for the coordinator: the program and its child process."""
    return TASK_BYTES + 3 * work.tables + WORD_BYTES * len(work.frequencies.words)


def machine_request(work: Workload, threads: int) -> float:
    """Return the bytes to request for a program that trains without a cluster."""
    return (
        PROCESS_BYTES
        + THREAD_BYTES * threads
        + work.tables
        + WORD_BYTES * len(work.frequencies.words)
    )
