"""A training of the study, in a process of its own.

What to train comes as JSON on stdin, and what came of it is the last line that is printed.
"""

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil

from benchmarks.scaling.usage import process_runs

#: Hours that a training may take.
LIMIT = 12


@dataclass(frozen=True)
class Asked:
    """A training.

    Parameters
    ----------
    corpus : str
        A text file.
    options : dict
        For `TFWord2Vec`.
    pairs : dict of str to str
        Word pairs to evaluate on: what `evaluate_pairs` takes, by the name that is shown.
    """

    corpus: str
    options: dict[str, Any]
    pairs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """What it took, and what it gave.

    Parameters
    ----------
    raw_words, sentences, tokens, epochs : int
        Words and sentences of the corpus; tokens trained on, of all epochs.
    marks : list of float
        When the first epoch began, and when each ended: seconds since 1970.
    cores : list of dict of str to float
        At these times, core seconds so far of each process that logs for TensorBoard, by the
        name of its run.
    units, jobs : int
        Of all epochs; see `Traffic`.
    entries : int
        Of a unit, at most.
    fetched_bytes, pushed_bytes, corpus_bytes : int
    staleness : float
        Of a job, on average.
    losses : list of float
        Of each epoch.
    quality : dict of str to (float or None)
    counts : list of int
        Of the vocabulary's words.
    """

    raw_words: int
    sentences: int
    tokens: int
    epochs: int
    marks: list[float]
    cores: list[dict[str, float]]
    units: int
    jobs: int
    entries: int
    fetched_bytes: int
    pushed_bytes: int
    corpus_bytes: int
    staleness: float
    losses: list[float]
    quality: dict[str, float | None]
    counts: list[int]

    @property
    def steady_epochs(self) -> int:
        """All but the first, in which things are set up; if there is only one, that."""
        return max(1, self.epochs - 1)

    @property
    def epoch_seconds(self) -> float:
        """Seconds of a steady epoch."""
        return (self.marks[-1] - self.marks[-1 - self.steady_epochs]) / self.steady_epochs

    def epoch_cores(self, name: str) -> float:
        """Core seconds of a process in a steady epoch."""
        first, last = self.cores[-1 - self.steady_epochs], self.cores[-1]
        return (last[name] - first.get(name, 0.0)) / self.steady_epochs

    @property
    def words_per_second(self) -> float:
        """Raw words, in steady epochs."""
        return self.raw_words / self.epoch_seconds


def in_a_process(asked: Asked) -> Trained:
    """Train in a new process.

    Raises
    ------
    RuntimeError
        If it fails, with the end of what it printed, or takes too long.
    """
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asdict(asked)),
            capture_output=True,
            text=True,
            timeout=3600 * LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"the training {asked.options} took more than {LIMIT} hours") from error
    if done.returncode:
        raise RuntimeError(
            f"the training {asked.options} ended with {done.returncode}:\n{done.stderr[-3000:]}"
        )
    return Trained(**json.loads(done.stdout.splitlines()[-1]))


def core_seconds(log_dir: str | None) -> dict[str, float]:
    """Core seconds so far of this process and its descendants that log there, by their runs."""
    found: dict[str, float] = {}
    if log_dir is None:
        return found
    run_of = {path.resolve(): name for name, path in process_runs(Path(log_dir)).items()}
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            folders = {Path(file.path).parent for file in process.open_files()}
            names = {run_of[folder] for folder in folders if folder in run_of}
            if len(names) == 1:
                times = process.cpu_times()
                found[names.pop()] = times.user + times.system
    return found


def train(asked: Asked) -> Trained:
    """Train and evaluate."""
    from gensim.models.callbacks import CallbackAny2Vec

    from gensim_tfw2v import TensorBoardLog, TFWord2Vec
    from gensim_tfw2v.evaluation import evaluate_analogies, evaluate_pairs
    from gensim_tfw2v.training.plan import Plan
    from gensim_tfw2v.training.vocabulary import Vocabulary

    marks: list[float] = []
    cores: list[dict[str, float]] = []

    class Marks(CallbackAny2Vec):
        def on_epoch_begin(self, model: Any) -> None:
            if not marks:
                self.on_epoch_end(model)

        def on_epoch_end(self, model: Any) -> None:
            marks.append(time.time())
            cores.append(core_seconds(asked.options.get("log_dir")))

    options = dict(asked.options)
    if log_dir := options.get("log_dir"):
        # nothing that takes time of its own
        options["log_dir"] = TensorBoardLog(log_dir, probe_words=(), projector_words=0)
    model = TFWord2Vec(corpus_file=asked.corpus, callbacks=[Marks()], **options)
    traffic = model.traffic
    counts = [int(count) for count in model.wv.expandos["count"]]
    quality: dict[str, float | None] = {
        name: evaluate_pairs(model.wv, given).spearman for name, given in asked.pairs.items()
    }
    if asked.pairs:
        quality["analogies"] = evaluate_analogies(model.wv, metric="gensim").total
    corpus: Any = SimpleNamespace(total_tokens=sum(counts), longest_sentence=10_000)
    return Trained(
        raw_words=model.corpus_total_words,
        sentences=model.corpus_count,
        tokens=0 if traffic is None else traffic.tokens,
        epochs=model.epochs,
        marks=marks,
        cores=cores,
        units=0 if traffic is None else traffic.units,
        jobs=0 if traffic is None else len(traffic.staleness),
        entries=0
        if traffic is None
        else Plan(model._current_config(), Vocabulary.of(model), corpus).max_entries,
        fetched_bytes=0 if traffic is None else traffic.fetched_bytes,
        pushed_bytes=0 if traffic is None else traffic.pushed_bytes,
        corpus_bytes=0 if traffic is None else traffic.corpus_bytes,
        staleness=float(np.mean(traffic.staleness)) if traffic and traffic.staleness else 0.0,
        losses=[float(loss) for loss in model.mean_losses],
        quality=quality,
        counts=counts,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(train(Asked(**json.load(sys.stdin))))))
