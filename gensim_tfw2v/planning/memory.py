"""Memory to request for a task: the model's rows in the task, everything else, and a margin.

With these constants, requests exceed all peaks that were measured; see "Memory of a task" in
docs/planning.md.
"""

from gensim_tfw2v import keys
from gensim_tfw2v.files.mapped import MEMORY_SHARE
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.planning.workload import Workload

GIB = float(1 << 30)

#: Bytes of a process that imports TensorFlow, with its buffers.
TASK_BYTES = 1 * GIB

#: Bytes per thread of a worker task.
WORKER_THREAD_BYTES = GIB / 8

#: Bytes of a worker task per word of the vocabulary, for negatives and subsampling. Workers of one
#: machine may share them.
WORKER_WORD_BYTES = 20.0

#: Bytes of a process that trains without TensorFlow.
PROCESS_BYTES = GIB / 4

#: Bytes per thread of a process that trains without TensorFlow.
THREAD_BYTES = GIB / 32

#: Bytes of a ps task besides its rows.
PS_BYTES = GIB / 2

#: Bytes of a ps task per byte of its rows.
PS_ROW_FACTOR = 1.2

#: Bytes per word of the vocabulary. Only the user's program needs them, not the cluster's tasks.
WORD_BYTES = 400.0

#: Bytes per word of a large vocabulary, whose words are compact.
COMPACT_WORD_BYTES = 75.0


def ps_request(row_bytes: float, computes: bool = False) -> float:
    """Return the bytes to request for a ps task with `row_bytes` bytes of the model's rows.

    `computes` means that the task computes with its columns.
    """
    return PS_BYTES + (2.0 if computes else PS_ROW_FACTOR) * row_bytes


def worker_request(work: Workload, row_bytes: float, threads: int) -> float:
    """Return the bytes to request for a worker task with `row_bytes` bytes of rows."""
    words = WORKER_WORD_BYTES * len(work.frequencies.words)
    return TASK_BYTES + WORKER_THREAD_BYTES * threads + 1.5 * row_bytes + words


def keeps_files(work: Workload, memory: float) -> bool:
    """Return whether the program keeps the model in files, on a machine with `memory` bytes."""
    return work.tables > MEMORY_SHARE * memory


def disk_request(work: Workload) -> float:
    """Return the bytes of disk space for a model in files: new rows are written to new files."""
    return 2 * work.tables


def coordinator_request(work: Workload, memory: float, holds_model: bool = False) -> float:
    """Return the bytes to request for the coordinator: the program and its child process.

    Parameters
    ----------
    work : Workload
    memory : float
        Bytes of memory of the coordinator's machine.
    holds_model : bool
        Whether the model cannot be kept in files, as with sub-models, which are merged.
    """
    n_copies = 3 if holds_model or not keeps_files(work, memory) else 0
    return TASK_BYTES + n_copies * work.tables + words_request(work)


def words_request(work: Workload) -> float:
    """Return the bytes to request for a vocabulary."""
    n_words = len(work.frequencies.words)
    return n_words * (WORD_BYTES if n_words < keys.MIN_WORDS else COMPACT_WORD_BYTES)


def machine_request(work: Workload, threads: int) -> float:
    """Return the bytes to request for a program that trains without a cluster."""
    tables = work.tables * stride(work.vector_size) / work.vector_size  # kernels need padding
    return PROCESS_BYTES + THREAD_BYTES * threads + tables + words_request(work)
