"""A training whose tasks are killed, beside one left alone.

Both train on a cluster of this machine. In the first, workers, a ps and the coordinator are killed
at random moments (SIGKILL); training has to end by itself, with every unit trained.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.one_run import evaluate

ROLES = ("worker", "ps", "chief")


class Kills:
    """Kills tasks one after the other, at random moments while a model is trained.

    Parameters
    ----------
    numbers : mapping from roles to int
        How many to kill of each.
    seconds : float
        That the training takes undisturbed: kills are spread over them.
    seed : int
    """

    def __init__(self, numbers: dict[str, int], seconds: float, seed: int) -> None:
        self.done: list[str] = []
        self._dead: set[psutil.Process] = set()
        choose = random.Random(seed)
        roles = [role for role, number in numbers.items() for _ in range(number)]
        choose.shuffle(roles)
        moments = sorted(choose.uniform(0.05, 0.95) * seconds for _ in roles)
        self._plan = list(zip(moments, roles, strict=True))
        self._choose = choose
        self._over = threading.Event()

    def begin(self) -> None:
        """Start to kill."""
        threading.Thread(target=self._kill, args=(time.monotonic(),), daemon=True).start()

    def end(self) -> None:
        """Kill no more."""
        self._over.set()

    def _kill_one(self, role: str) -> str | None:
        """Kill a task; give its name, or None where none is there now."""
        found = []
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                # what was killed stays, under its name, until its parent has taken notice
                if (name := child.name()).startswith(f"tfw2v-{role}") and child not in self._dead:
                    found.append((name, child))
        if not found:
            return None
        name, process = self._choose.choice(found)
        self._dead.add(process)
        try:
            process.kill()
        except psutil.NoSuchProcess:  # it has ended since
            return None
        return name

    def _kill(self, began: float) -> None:
        for moment, role in self._plan:
            if self._over.wait(max(0.0, began + moment - time.monotonic())):
                return
            while (name := self._kill_one(role)) is None:
                if self._over.wait(0.1):
                    return
            self.done.append(f"{name} at {time.monotonic() - began:.1f} s")


def train(corpus: Path, options: dict[str, Any], kills: Kills | None = None) -> dict[str, Any]:
    """Train a model, and say what became of it."""
    from gensim_tfw2v import TFWord2Vec

    model = TFWord2Vec(**options)
    model.build_vocab(corpus_file=str(corpus))
    if kills:
        kills.begin()
    began = time.monotonic()
    counts = model.train(
        corpus_file=str(corpus), total_words=model.corpus_total_words, epochs=model.epochs
    )
    seconds = time.monotonic() - began
    if kills:
        kills.end()
    assert model.traffic is not None
    return {
        "model": model,
        "seconds": seconds,
        "words": counts[1],
        "of words": model.corpus_total_words * model.epochs,
        "units": model.traffic.units,
        "repeated units": model.traffic.repeated,
        "kills": kills.done if kills else [],
    }


def compare(given: argparse.Namespace) -> None:
    """Train twice for each seed, and print both and their difference."""
    numbers = dict(
        zip(
            ROLES,
            (given.workers_killed, given.ps_killed, given.coordinators_killed),
            strict=True,
        )
    )
    pairs = {path.stem: str(path) for path in given.eval}
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        options = {
            "sg": 1,
            "vector_size": given.vector_size,
            "epochs": given.epochs,
            "seed": seed,
            "workers": 1,
            "cluster": given.cluster,
            "checkpoint_minutes": given.minutes,
        }
        alone = train(given.corpus, options)
        killed = train(given.corpus, options, Kills(numbers, alone["seconds"], seed))
        if len(killed["kills"]) < sum(numbers.values()):
            print(f"training ended before all were killed: {killed['kills']}", file=sys.stderr)
        for name, found in (("undisturbed", alone), ("killed", killed)):
            found["quality"] = evaluate(found.pop("model").wv, pairs)
            print(json.dumps({"seed": seed, "training": name, **found}), flush=True)
        difference = {
            name: round(value - alone["quality"][name], 4)
            for name, value in killed["quality"].items()
            if value is not None and alone["quality"][name] is not None
        }
        print(json.dumps({"seed": seed, "killed - undisturbed": difference}), flush=True)
