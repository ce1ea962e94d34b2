"""The benchmark: its arithmetic on made-up runs, its order, and (slow) a real small run."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.compare import checked, parser, setting_options, tasks
from benchmarks.machine import describe
from benchmarks.one_run import unknown_words
from benchmarks.process import ROOT, FamilyPeak, one_run
from benchmarks.records import REFERENCE, Run
from benchmarks.report import markdown, paired_ratios, quality_cell, spread

OURS = "TFWord2Vec corpus_file"
MIB = 2**20


def run(engine: str, number: int, train_seconds: float, score: float | None = 0.5) -> Run:
    return Run(
        engine=engine,
        setting="sg100",
        round=number,
        seed=number + 1,
        raw_words=1_000_000,
        vocabulary=5000,
        epochs=2,
        import_seconds=1.0,
        vocab_seconds=2.0,
        train_seconds=train_seconds,
        process_seconds=train_seconds + 4,
        cpu_seconds=2 * train_seconds,
        peak_bytes=(200 if engine == REFERENCE else 700) * MIB,
        family_bytes=0 if engine == REFERENCE else 750 * MIB,
        quality={"WS353": score},
    )


DOCUMENT = {
    "date": "2025-01-31",
    "corpus": {"name": "text.txt", "bytes": 5_000_000, "words": 1_000_000},
    "machine": describe(),
    "settings": {"sg100": {"sg": 1, "vector_size": 100}},
    "import_bytes": {"tensorflow": 550 * MIB, "gensim": 100 * MIB},
}


def cells(page: str, engine: str) -> list[list[str]]:
    """The cells of the engine's rows, table by table."""
    found = re.findall(rf"^\| {re.escape(engine)} \|.*$", page, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_figures_of_a_run() -> None:
    one = run(OURS, 0, train_seconds=4.0)
    assert one.words_per_second == 500_000
    assert one.text_seconds == 6.0
    assert one.memory_bytes == 750 * MIB
    assert json.loads(json.dumps(one.to_json()))["words_per_second"] == 500_000


def test_ratios_are_paired_by_round_whatever_the_order() -> None:
    reference = [run(REFERENCE, 0, 20.0), run(REFERENCE, 1, 40.0)]
    ours = [run(OURS, 1, 5.0), run(OURS, 0, 5.0), run(OURS, 2, 5.0)]
    assert paired_ratios(ours, reference, lambda one: one.words_per_second) == [8.0, 4.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], "–"), ([2.0], "2.00"), ([1.0, 4.0, 2.0], "2.00 (1.00–4.00)")],
)
def test_spread(values: list[float], expected: str) -> None:
    assert spread(values) == expected


def test_quality_is_mean_half_range_and_difference_of_means() -> None:
    assert quality_cell([0.5, 0.7], [0.61, 0.63]) == "0.600 ± 0.100 (-0.020)"
    assert quality_cell([0.5], []) == "0.500"
    assert quality_cell([], [0.5]) == "–"


def test_page() -> None:
    runs = [run(OURS, 0, 5.0, 0.6), run(REFERENCE, 0, 20.0, 0.5)]
    runs += [run(REFERENCE, 1, 40.0, 0.52), run(OURS, 1, 5.0, 0.62)]
    page = markdown(DOCUMENT, runs)
    speed, quality = cells(page, OURS)
    assert speed[1:5] == ["0.400 M", "6.00 (4.00–8.00)", "7.0", "4.57 (3.14–6.00)"]
    assert speed[-1] == "750"
    assert quality[1] == "0.610 ± 0.010 (+0.100)"
    assert cells(page, REFERENCE)[0][2] == "1.00 (1.00–1.00)"
    assert page.index(REFERENCE + " |") < page.index(OURS + " |")
    assert "seeds 1, 2" in page and "1,000,000 words" in page


def test_page_of_an_unfinished_benchmark() -> None:
    page = markdown(DOCUMENT, [run(OURS, 0, 5.0, None)])
    speed, quality = cells(page, OURS)
    assert speed[2] == "–" and quality[1] == "–"


def test_every_engine_takes_its_turn_in_every_round_and_in_each_place(tmp_path: Path) -> None:
    corpus = tmp_path / "text.txt"
    corpus.write_text("some words\n")
    options = [str(corpus), "--out", str(tmp_path), "--seeds", "3", "--iterable-rounds"]
    arguments = parser().parse_args([*options, "3"])
    plan = list(tasks(arguments, {"sg100": {}, "cbow100": {}}))
    rounds = [[task.engine for task in plan[i : i + 3]] for i in range(0, len(plan), 3)]
    assert len(rounds) == 6 and all(len(set(each)) == 3 for each in rounds)
    assert [len(set(place)) for place in zip(*rounds[:3], strict=True)] == [3, 3, 3]
    assert [task.options["seed"] for task in plan[:9]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]

    plan = list(tasks(parser().parse_args([*options, "1"]), {"sg100": {}}))
    assert [task.round for task in plan if not task.from_file] == [0]
    assert [task.round for task in plan if task.from_file] == [0, 0, 1, 1, 2, 2]


def test_settings_and_bad_arguments(tmp_path: Path) -> None:
    assert setting_options("cbow300") == {"sg": 0, "vector_size": 300}
    with pytest.raises(SystemExit, match="unknown setting 'glove'"):
        setting_options("glove")
    with pytest.raises(SystemExit, match="no such file"):
        checked(parser().parse_args([str(tmp_path / "none"), "--out", str(tmp_path)]))


def test_a_failed_run_shows_its_error() -> None:
    with pytest.raises(SystemExit, match="No module named 'no_such_module'"):
        one_run(["no_such_module"])


def test_memory_of_descendants_is_seen() -> None:
    inner = "import sys; kept = bytearray(b'1') * 80_000_000; sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE) as process:
        watch = FamilyPeak(process.pid)
        watch.start()
        deadline = time.monotonic() + 60
        while watch.peak < 80e6 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.communicate(timeout=60)
        watch.stopped.set()
    assert 80e6 < watch.peak < 200e6


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends children with their parent")
def test_measurements_end_with_a_benchmark_that_is_killed() -> None:
    program = (
        "import os, time\n"
        "from benchmarks.process import pool_of_measurements\n"
        "if __name__ == '__main__':\n"
        "    with pool_of_measurements(1) as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        pool.submit(time.sleep, 60).result()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.kill()
    child.wait(60)


@pytest.mark.slow
def test_lee_end_to_end(tmp_path: Path) -> None:
    from gensim.test.utils import datapath

    command = [sys.executable, "-m", "benchmarks.compare", datapath("lee_background.cor")]
    command += ["--out", str(tmp_path), "--seeds", "1", "--epochs", "1", "--threads", "1"]
    subprocess.run([*command, "--name", "lee", "--iterable"], check=True, timeout=600)
    document = json.loads((tmp_path / "lee.json").read_text())
    assert len(document["runs"]) == 4
    assert {each["raw_words"] for each in document["runs"]} == {document["corpus"]["words"]}
    assert all(each["train_seconds"] > 0 for each in document["runs"])
    text = (tmp_path / "lee.json").read_text() + (tmp_path / "lee.md").read_text()
    assert str(Path(datapath("lee_background.cor")).parent) not in text


@pytest.mark.slow
def test_lee_pass_by_pass(tmp_path: Path) -> None:
    from gensim.test.utils import datapath

    command = [sys.executable, "-m", "benchmarks.sandblaster", datapath("lee_background.cor")]
    command += ["--passes", "1", "3", "--size", "10", "--plot", str(tmp_path / "losses.png")]
    out = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["run"], one["passes"]) for one in found] == [
        (run, passes) for run in ("local", "downpour", "sandblaster") for passes in (1, 3)
    ]
    for one, later in zip(found[::2], found[1::2], strict=True):
        assert later["loss"] < one["loss"]
    assert (tmp_path / "losses.png").stat().st_size > 1000


def test_tasks_are_killed_whatever_ends_by_itself_meanwhile(tmp_path: Path) -> None:
    from benchmarks.faults.compared import Kills

    task = tmp_path / "tfw2v-worker-0"
    shutil.copy(shutil.which("sleep") or "sleep", task)
    kills = Kills({"worker": 3}, seconds=0.1, seed=1)
    kills.begin()
    for _ in range(3):
        time.sleep(0.15)  # none is there when its time comes
        assert subprocess.run([task, "60"], timeout=300, check=False).returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while len(kills.done) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    kills.end()
    assert [said.split(" at ")[0] for said in kills.done] == [task.name] * 3


def test_faults_are_drawn_alike_and_grouped_in_an_order_in_which_they_can_be_met() -> None:
    from benchmarks.faults import drawn
    from benchmarks.faults.table import DISK_FAULTS, FAULTS

    known = FAULTS | DISK_FAULTS
    names = drawn.draw(2 * len(known), random.Random(1), known, None)
    assert names == drawn.draw(2 * len(known), random.Random(1), known, None)
    assert Counter(names) == dict.fromkeys(known, 2)
    together = drawn.next_together(
        [
            "kill program while saving",
            "kill ps",
            "cut ps",
            "fill encoded_dir",
            "kill worker",
            "stop ps",
        ]
    )
    assert together == ["fill encoded_dir", "kill ps", "kill worker", "kill program while saving"]
    with pytest.raises(SystemExit, match="unknown faults .*'rain'"):
        drawn.draw(1, random.Random(1), known, ["rain"])


def test_a_disk_is_filled_and_freed(tmp_path: Path) -> None:
    from benchmarks.faults.disks import Disks

    disks = Disks(tmp_path)
    if disks.why_not:
        pytest.skip(disks.why_not)
    try:
        disks.fill("output")
        with pytest.raises(OSError, match="No space left"):
            (disks.path("output") / "model").write_bytes(b"1")
        disks.free("output")
        (disks.path("output") / "model").write_bytes(b"1")
    finally:
        disks.close()


#: In the place of the program: killed the first time, it leaves a folder behind and a process.
PROGRAM = """
import json, os, subprocess, sys, tempfile
from pathlib import Path
print(json.dumps({"event": "trained"}), flush=True)
ran = Path(sys.argv[1]).with_name("ran")
if not ran.exists():
    ran.touch()
    tempfile.mkdtemp(prefix="tfw2v-")
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=2)
    os.kill(os.getpid(), 9)
print(json.dumps({"event": "done", "words": 5, "of_words": 6}), flush=True)
"""


def test_what_a_faulty_training_leaves_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.faults import training as module

    monkeypatch.setattr(module, "ENDING_SECONDS", 0.2)

    def launch(command: list[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", PROGRAM, command[-1]], **options)

    training = module.FaultyTraining(tmp_path, tmp_path, {"vector_size": 9}, 60, launch)
    try:
        assert training.hear("trained")["event"] == "trained"
        training.end()
    finally:
        training.close()
    found = " ".join(training.failures)
    assert training.runs == 2 and len(training.failures) == 4
    for failure in ("5 words of 6", "the new model is not there", "left running", "behind: tfw2v-"):
        assert failure in found
    assert not list(training.processes())


def test_other_classes_are_compared(tmp_path):
    options = [str(tmp_path / "text"), "--out", str(tmp_path), "--cluster", "local:ps=1,worker=1"]
    options += ["--reference", "gensim.models:FastText", "--candidate", "gensim_tfw2v:TFFastText"]
    plan = tasks(parser().parse_args(options), {"sg100": {}})
    targets = {task.engine: task.target for task in plan}
    assert targets[REFERENCE] == "gensim.models:FastText"
    for engine in ("TFFastText corpus_file", "TFFastText local:ps=1,worker=1"):
        assert targets[engine] == "gensim_tfw2v:TFFastText"


def test_unknown_words_are_those_of_no_row(tmp_path):
    class Vectors:
        key_to_index = {"known": 0, "other": 1}

        def similarity(self, first, second):
            return len(first) + len(second)

    path = tmp_path / "pairs.tsv"
    path.write_text("known\tother\t9\na\tknown\t1\nlonger\tother\t2\nlongest\twords\t3\n")
    assert unknown_words(Vectors(), str(path)) == pytest.approx(1)
    path.write_text("known\tother\t9\n")
    assert unknown_words(Vectors(), str(path)) is None
