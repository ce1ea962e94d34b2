"""Each job of a queue is drawn once by any worker; unfinished jobs are queued again."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit, unit_key
from gensim_tfw2v.corpus.shards import Shard
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.engines.tensorflow import TensorFlowEngine
from gensim_tfw2v.kernel.tables import UnitTask
from gensim_tfw2v.parameter_server import job_queue as module
from gensim_tfw2v.parameter_server.job import Job
from gensim_tfw2v.parameter_server.job_queue import JobQueue, jobs_of, runs_of
from gensim_tfw2v.parameter_server.job_result import packed_size
from gensim_tfw2v.parameter_server.text import read_entries

THREADS, ENTRIES = 2, 10
TENSORFLOW = TensorFlowEngine(None)


@pytest.fixture
def jobs(tmp_path):
    """Jobs of two units each, from eleven units of ten entries in two files."""
    tasks = []
    for file in range(2):
        path = tmp_path / f"{file}.int32"
        np.arange(1000 * file, 1000 * file + 60, dtype=np.int32).tofile(path)
        shard = Shard(str(path), 60, 60, 60, 6)
        for start in range(0, 60 - 10 * file, ENTRIES):
            number = len(tasks)
            unit = WorkUnit(number, shard, start, start + ENTRIES, ENTRIES, ENTRIES, 1)
            tasks.append(UnitTask(unit, 0, unit_key(1, 0, unit.index), (number, number + 0.5)))
    return runs_of(tasks, THREADS)


def config(shared=True, engine=TENSORFLOW):
    return SimpleNamespace(threads=THREADS, shared_corpus=shared, draws_walks=False, engine=engine)


def reporting(of, fails_at=-1, wait=None):
    """Return a job program that reports its number, sums of its units' entries, and alpha."""

    def prepare(sources, ranges, keys, alphas, replicas, number):
        sums = [
            tf.reduce_sum(read_entries(sources[unit], ranges[unit], of)) for unit in range(THREADS)
        ]
        ids = {"inputs": tf.cast(tf.stack(sums), tf.float64)}
        return Job(
            [keys, alphas], ids, None, tf.constant(0), alphas[0, 0], keys[0], replicas, number
        )

    def run(job, indices, began):
        number = job.number % module.SPACING
        with tf.control_dependencies(
            [
                tf.debugging.assert_none_equal(number, tf.constant(fails_at, tf.int64)),
                *([] if wait is None else [tf.py_function(wait, [number], [])]),
            ]
        ):
            keys, alphas = job.units
            report = [number, *tf.unstack(job.ids["inputs"]), *tf.unstack(indices), keys[0, 0]]
        report = tf.stack(
            [tf.cast(one, tf.float64) for one in (*report, alphas[1, 1], job.replicas)]
        )
        return tf.pad(report, [[0, packed_size(THREADS) - report.shape[0]]])

    return SimpleNamespace(prepare=prepare, run=run)


def expected(jobs):
    return [
        [
            number,
            *(int(task.unit.read().sum()) for task in tasks),
            *[0] * (THREADS - len(tasks)),
            *(task.unit.index for task in tasks),
            *[-1] * (THREADS - len(tasks)),
            tasks[0].key[0],
            (tasks[1] if len(tasks) > 1 else tasks[0]).alphas[1],
            3,
        ]
        for number, tasks in enumerate(jobs)
    ]


@pytest.mark.parametrize(
    "of", [config(False), config(False, CompiledEngine(None, 10)), config()], ids=str
)
@pytest.mark.parametrize("workers", [1, 3])
def test_each_job_is_drawn_once(jobs, of, workers, monkeypatch):
    monkeypatch.setattr(module, "AHEAD_BYTES", 200)  # the texts of two jobs
    queue = JobQueue(len(jobs), of)
    work = queue.worker_function(reporting(of))
    for queued in (jobs, jobs[2:3], jobs):
        files = queue.refill(queued)
        threads = [threading.Thread(target=work, args=(files, 3.0)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        found = []
        deadline = time.monotonic() + 60
        while any(thread.is_alive() for thread in threads):
            assert time.monotonic() < deadline
            found += queue.collect()
            queue.stage()
        found += queue.collect()
        assert sorted(packed[:8].tolist() for _, packed in found) == expected(queued)
        assert all(queued[int(packed[0])] is tasks for tasks, packed in found)
        assert queue.remaining_jobs() == queue.collect() == []


def test_units_of_a_job_have_similar_lengths():
    lengths = [7, 1, 9, 2, 8, 3, 1]
    ends = np.cumsum(lengths)
    shard = Shard("", ends[-1], ends[-1], ends[-1], 1)
    tasks = [
        UnitTask(WorkUnit(i, shard, end - n, end, n, n, 1), 0, unit_key(1, 0, i), (0.0, 0.0))
        for i, (end, n) in enumerate(zip(ends, lengths, strict=True))
    ]
    in_jobs = [[task.unit.index for task in job] for job in jobs_of(tasks, 2)]
    assert in_jobs == [[0, 5], [1, 3], [2, 4], [6]]
    assert jobs_of(tasks, 1) == [[task] for task in tasks]


def test_closed_queue_gives_no_jobs(jobs):
    queue = JobQueue(len(jobs), config())
    work = queue.worker_function(reporting(config()))
    files = queue.refill(jobs)
    queue.close()
    work(files, 1.0)
    assert queue.collect() == [] and queue.remaining_jobs() == jobs


def test_jobs_drawn_by_a_failed_worker_are_left(jobs):
    queue = JobQueue(len(jobs), config())
    files = queue.refill(jobs)
    with pytest.raises(tf.errors.InvalidArgumentError):
        queue.worker_function(reporting(config(), fails_at=2))(files, 1.0)
    queue.worker_function(reporting(config()))(files, 1.0)  # draws the remaining jobs
    assert len(queue.collect()) == len(jobs) - len(queue.remaining_jobs())
    # the failed job, and the job drawn ahead
    assert jobs[2] in queue.remaining_jobs() and len(queue.remaining_jobs()) == 2


@pytest.mark.parametrize("comes_back", ["before", "after"])
def test_late_report_is_not_mistaken_for_a_newer_job(jobs, comes_back):
    """An unreachable worker's jobs are queued again, and trained by another worker."""
    holds, go = threading.Event(), threading.Event()

    def wait(number):
        if number == 1:
            holds.set()
            go.wait(60)

    queue = JobQueue(len(jobs), config())
    late, work = (queue.worker_function(reporting(config(), wait=w)) for w in (wait, None))
    files = queue.refill(jobs)
    out_of_reach = threading.Thread(target=late, args=(files, 2.0))
    out_of_reach.start()
    assert holds.wait(60)
    work(files, 2.0)
    assert len(queue.collect()) == len(jobs) - 2  # without the job it holds and the job it prepared
    left = queue.remaining_jobs()
    files = queue.refill(left)
    if comes_back == "after":
        work(files, 2.0)
    go.set()
    out_of_reach.join()
    if comes_back == "before":
        assert queue.collect() == []
        work(files, 2.0)
    assert [tasks for tasks, _ in queue.collect()] == left and queue.remaining_jobs() == []
