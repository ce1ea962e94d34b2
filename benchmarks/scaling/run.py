"""Training in separate processes, and measurements of its epochs after the first one."""

import contextlib
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.process import call
from gensim_tfw2v.planning.workload import row_sizes

#: Time limit of a training run, in seconds.
MAX_SECONDS = 12 * 3600

#: Process names of the tasks of a local cluster.
TASK = re.compile("tfw2v-(worker|ps|chief)")

#: Wall-clock time by the key "seconds", and CPU seconds by kind of process.
Used = defaultdict[str, float]


@dataclass(frozen=True)
class Measured:
    """Measurements of a real training run: means per epoch; the first epoch does not count."""

    seconds: float
    raw_words: int
    worker_cores: float  # CPU seconds of all workers
    ps_cores: float  # CPU seconds of all ps tasks
    coordinator_cores: float  # CPU seconds of the coordinator and the training program
    tokens: float = 0.0  # number of tokens that workers trained on
    jobs: float = 0.0
    rows: float = 0.0  # number of rows transferred
    bytes_per_token: float = 0.0
    peak_bytes: int = 0  # peak memory of all processes
    workers: int = 0
    ps: int = 0

    @property
    def words_per_second(self) -> float:
        """Raw words of the corpus per second."""
        return self.raw_words / self.seconds


def run_training(
    corpus: str, options: dict[str, Any], workers: int = 0, ps: int = 0
) -> tuple[Measured, dict[str, Any]]:
    """Train in a new process, on a local cluster if `workers` is not 0.

    Returns the measurements, and the counts of the vocabulary's words and of sentences.
    """
    if workers:
        options = options | {"cluster": f"local:ps={ps},worker={workers}"}
    arguments = {"corpus": corpus, "options": options}
    answer, child = call("benchmarks.scaling.run:train", arguments, limit=MAX_SECONDS)
    text = {"counts": tuple(answer.pop("counts")), "sentences": answer.pop("sentences")}
    return Measured(**answer, peak_bytes=child.peak_bytes, workers=workers, ps=ps), text


def train(corpus: str, options: dict[str, Any]) -> dict[str, Any]:
    """Train in this process; return the raw results for `run_training`."""
    from gensim.models.callbacks import CallbackAny2Vec

    from gensim_tfw2v import TFWord2Vec

    marks: list[Used] = []

    class Marks(CallbackAny2Vec):
        def on_epoch_begin(self, model: Any) -> None:
            if not marks:
                marks.append(used())

        def on_epoch_end(self, model: Any) -> None:
            marks.append(used())

    model = TFWord2Vec(corpus_file=corpus, callbacks=[Marks()], progress=False, **options)
    steady = steady_epoch(marks)
    answer = {
        "counts": [int(count) for count in model.wv.expandos["count"]],
        "sentences": model.corpus_count,
        "raw_words": model.corpus_total_words,
        "seconds": steady["seconds"],
        "worker_cores": steady["worker"],
        "ps_cores": steady["ps"],
        "coordinator_cores": steady["chief"] + steady["program"],
    }
    if traffic := model.traffic:
        answer |= {
            "tokens": traffic.tokens / model.epochs,
            "jobs": round(len(traffic.staleness) / model.epochs),
            "rows": traffic.pushed_bytes / row_sizes(model.vector_size)[1] / model.epochs,
            "bytes_per_token": traffic.bytes_per_token,
        }
    return answer


def used() -> Used:
    """Return the clock's seconds, and the CPU seconds of this process and of its tasks."""
    usage: Used = defaultdict(float, seconds=time.monotonic())
    this_process = psutil.Process()
    for process in (this_process, *this_process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # the process has exited
            task = TASK.match(process.name())
            if task or process == this_process:
                times = process.cpu_times()
                usage[task[1] if task else "program"] += times.user + times.system
    return usage


def steady_epoch(marks: Sequence[Used]) -> Used:
    """Return the mean usage per epoch.

    `marks` contains the usage at the start of the training and after each epoch.

    The first epoch includes the setup, so it is left out, unless it is the only one.
    """
    first, last = marks[min(1, len(marks) - 2)], marks[-1]
    epochs = max(1, len(marks) - 2)
    return defaultdict(
        float, {name: (value - first.get(name, 0.0)) / epochs for name, value in last.items()}
    )
