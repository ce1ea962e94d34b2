"""Trainings that meet faults of all kinds, drawn at random, and what has to hold after them."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.disks import Disks
from benchmarks.faults.links import LINK_FAULTS, linked_training, why_no_links
from benchmarks.faults.table import DISK_FAULTS, FAULTS, PHASES, Fault
from benchmarks.faults.training import FaultyTraining, Hang

#: Faults that a training meets, at most.
TOGETHER = 4

#: How often the small corpus is written one after the other.
COPIES = 4

#: Seconds until what a fault has done shows.
SETTLING_SECONDS = 2.0

#: Of each training, and minutes between its checkpoints.
EPOCHS, MINUTES = 8, 0.05


def run_drawn(given: argparse.Namespace) -> int:
    """Draw faults and have trainings meet them; print a line for each, and a summary.

    Returns
    -------
    int
        1 if something did not hold, else 0.
    """
    choose = random.Random(given.seed)
    waiting = draw(given.random, choose, known_faults(), given.only)
    failures: list[str] = []
    outcomes: Counter[str] = Counter()
    began, trainings = time.monotonic(), 0
    while waiting:
        together = next_together(waiting)
        trainings += 1
        result, met = train(together, given, random.Random(f"{given.seed} {trainings}"))
        for line in met:
            outcomes[f"{line['fault']}: {line['then']}"] += 1
            waiting.remove(line["fault"])
            print(json.dumps({"training": trainings, **line}), flush=True)
        if not met:  # nor will the next
            result["failures"].append(f"not met: {together}")
            for name in together:
                waiting.remove(name)
        failures += result["failures"]
        print(json.dumps({"training": trainings, **result}), flush=True)
    summary = {
        "seed": given.seed,
        "trainings": trainings,
        "faults": sum(outcomes.values()),
        "seconds": round(time.monotonic() - began),
        "outcomes": dict(sorted(outcomes.items())),
        "failures": failures,
    }
    print(json.dumps(summary), flush=True)
    return 1 if failures else 0


def known_faults() -> dict[str, Fault]:
    """Those that can be had here; what is left out is said."""
    with tempfile.TemporaryDirectory(prefix="tfw2v-faults-") as folder:
        disks = Disks(Path(folder))
        disks.close()
    found = dict(FAULTS)
    for faults, why_not in ((DISK_FAULTS, disks.why_not), (LINK_FAULTS, why_no_links())):
        if why_not:
            print(json.dumps({"left out": sorted(faults), "why": why_not}), flush=True)
        else:
            found |= faults
    return found


def draw(
    number: int, choose: random.Random, known: dict[str, Fault], only: Sequence[str] | None
) -> list[str]:
    """Names of so many faults: each kind as often as any other, give or take one, in any order.

    Raises
    ------
    SystemExit
        If `only` names another.
    """
    if unknown := set(only or ()) - known.keys():
        raise SystemExit(f"unknown faults {sorted(unknown)}; known are {sorted(known)}")
    names = sorted(only or known)
    drawn: list[str] = []
    while len(drawn) < number:
        drawn += choose.sample(names, min(len(names), number - len(drawn)))
    choose.shuffle(drawn)
    return drawn


def next_together(waiting: Sequence[str]) -> list[str]:
    """The next faults that one training can meet, in an order in which it can."""
    linked = waiting[0] in LINK_FAULTS
    alike = [name for name in waiting if (name in LINK_FAULTS) is linked][:TOGETHER]
    # once all is read, or saved, it is so; the others come in the order in which they were drawn
    ends = {"counting": -1, "saving": 1}
    return sorted(alike, key=lambda name: ends.get(fault_of(name).phase, 0))


def fault_of(name: str) -> Fault:
    """A fault by its name."""
    return (FAULTS | DISK_FAULTS | LINK_FAULTS)[name]


def train(
    names: Sequence[str], given: argparse.Namespace, choose: random.Random
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Have a training meet faults; give what came of it, and of each fault that it met.

    A fault that it was too short to meet is left for another.
    """
    folder = Path(tempfile.mkdtemp(prefix="tfw2v-faults-"))
    options = {
        "sg": 1,
        "vector_size": given.vector_size,
        "epochs": EPOCHS,
        "seed": given.seed,
        "workers": 1,
        "cluster": given.cluster,
        "checkpoint_minutes": MINUTES,
    }
    arguments = folder, given.corpus or small_corpus(folder), options, given.limit
    began, met = time.monotonic(), []
    with contextlib.ExitStack() as stack:
        made = (
            linked_training(*arguments)
            if names[0] in LINK_FAULTS
            else contextlib.closing(FaultyTraining(*arguments))
        )
        training: FaultyTraining = stack.enter_context(made)
        try:
            for name in names:
                if (line := meet(training, name, choose)) is not None:
                    met.append(line)
            training.end()
        except Hang as hang:
            training.failures.append(str(hang))
        result = {
            "faults": len(met),
            "seconds": round(time.monotonic() - began, 1),
            "runs": training.runs,
            "went back": training.times_back(),
            "units again": training.found.get("repeated"),
            "words": training.found.get("words"),
            "of words": training.found.get("of_words"),
            "failures": training.failures,
        }
    if training.failures:
        result["log"] = str(training.log)
    else:
        shutil.rmtree(folder)
    return result, met


def meet(training: FaultyTraining, name: str, choose: random.Random) -> dict[str, Any] | None:
    """Have a training meet a fault, and wait until it goes on; None if it is too late for it."""
    fault = fault_of(name)
    while True:
        if training.found:
            return None
        if training.hear(fault.phase)["event"] == fault.phase:
            break
    time.sleep(choose.uniform(0.0, PHASES[fault.phase]))
    back, runs, began = training.times_back(), training.runs, time.monotonic()
    struck = fault.strike(training, choose)
    if struck is None:
        return None
    time.sleep(SETTLING_SECONDS)
    training.forget()
    event = training.hear("trained")["event"]
    then = "went on"
    if training.times_back() > back:
        then = "went back to a checkpoint"
    if training.runs > runs:
        then = "was run again"
        event = training.hear("trained")["event"]
    seconds = round(time.monotonic() - began, 1)
    return {"fault": name, "struck": struck, "then": then, "seconds": seconds, "next": event}


def small_corpus(folder: Path) -> Path:
    """Lee's corpus of 60,000 words, some times."""
    from gensim.test.utils import datapath

    path = folder / "corpus.txt"
    path.write_bytes(Path(datapath("lee_background.cor")).read_bytes() * COPIES)
    return path
