"""The benchmark: arithmetic on made-up runs, order of its runs, and (slow) a small real run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from gensim.models import KeyedVectors

from benchmarks.compare import literals, parser, setting_options, tasks
from benchmarks.comparison import markdown
from benchmarks.integers import GENSIM, form_of, ratio_table, write_integers
from benchmarks.integers import Run as IntegerRun
from benchmarks.machine import describe
from benchmarks.process import ROOT, CommandError, FamilyPeak, call
from benchmarks.quality import evaluate, evaluate_documents, unknown_words
from benchmarks.records import REFERENCE, Run
from benchmarks.report import paired_ratios, quality_cell, spread
from benchmarks.threads import computed_speed, memory_bytes
from gensim_tfw2v.planning.workload import Workload

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
    """Cells of an engine's row in each table."""
    found = re.findall(rf"^\| {re.escape(engine)} \|.*$", page, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_run_derives_its_figures() -> None:
    one = run(OURS, 0, train_seconds=4.0)
    assert one.words_per_second == 500_000
    assert one.text_seconds == 6.0
    assert one.memory_bytes == 750 * MIB
    assert json.loads(json.dumps(one.to_json()))["words_per_second"] == 500_000


def test_ratios_are_paired_by_round_in_any_order() -> None:
    reference = [run(REFERENCE, 0, 20.0), run(REFERENCE, 1, 40.0)]
    ours = [run(OURS, 1, 5.0), run(OURS, 0, 5.0), run(OURS, 2, 5.0)]
    assert paired_ratios(ours, reference, lambda one: one.words_per_second) == [8.0, 4.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], "–"), ([2.0], "2.00"), ([1.0, 4.0, 2.0], "2.00 (1.00–4.00)")],
)
def test_spread_shows_median_and_range(values: list[float], expected: str) -> None:
    assert spread(values) == expected


def test_quality_cell_shows_mean_half_range_and_difference() -> None:
    assert quality_cell([0.5, 0.7], [0.61, 0.63]) == ".600 ± .100 (-.020)"
    assert quality_cell([0.5], []) == ".500"
    assert quality_cell([], [0.5]) == "–"


def page_of(*runs: Run) -> str:
    return markdown({**DOCUMENT, "runs": [run.to_json() for run in runs]})


def test_page_shows_speed_quality_and_memory() -> None:
    runs = [run(OURS, 0, 5.0, 0.6), run(REFERENCE, 0, 20.0, 0.5)]
    runs += [run(REFERENCE, 1, 40.0, 0.52), run(OURS, 1, 5.0, 0.62)]
    page = page_of(*runs)
    summary, speed, quality = cells(page, OURS)
    assert summary[1:] == ["6.0", ".610"]
    assert speed[1:5] == ["0.400 M", "6.00 (4.00–8.00)", "7.0", "4.57 (3.14–6.00)"]
    assert speed[-1] == "750"
    assert quality[1] == ".610 ± .010 (+.100)"
    assert cells(page, REFERENCE)[1][2] == "1.00 (1.00–1.00)"
    assert page.index(REFERENCE + " |") < page.index(OURS + " |")
    assert "seeds 1, 2" in page and "1,000,000 words" in page
    assert "TFWord2Vec on one machine trained 6.0 times as fast as gensim." in page
    assert "Its mean score is .610, gensim's .510." in page
    assert "bytes per token" not in page
    page = page_of(*runs, replace(runs[1], engine="cluster", bytes_per_token=89.4))
    assert [cells(page, name)[1][-1] for name in ("cluster", OURS)] == ["89", "0"]


def test_correlations_of_few_pairs_are_left_out() -> None:
    pairs = {"men3000, unknown": 42, "mturk771, unknown": 3}
    page = page_of(
        *(
            replace(run(engine, 0, 5.0), quality=dict.fromkeys(pairs, -1.0), n_pairs=pairs)
            for engine in (OURS, REFERENCE)
        )
    )
    assert "| engine | MEN (unknown) |\n" in page and "MEN (unknown) 42" in page
    assert "fewer than 30 pairs are left out: MTurk-771 (unknown) (3)" in page


def test_unfinished_benchmark_gives_a_page_with_dashes() -> None:
    _, speed, quality = cells(page_of(run(OURS, 0, 5.0), run("cluster", 0, 5.0, None)), OURS)
    assert speed[2] == "–" and quality[1] == ".500"
    page = page_of(run(OURS, 0, 5.0, None))
    assert "Nothing has been compared with gensim yet." in page and "WS353" not in page


def test_engines_rotate_through_the_places_of_a_round(tmp_path: Path) -> None:
    corpus = tmp_path / "text.txt"
    corpus.write_text("some words\n")
    options = [str(corpus), "--out", str(tmp_path), "--seeds", "3", "--iterable-rounds"]
    arguments = parser().parse_args([*options, "3"])
    plan = list(tasks(arguments, {"sg100": {}, "cbow100": {}}))
    rounds = [[task.engine.name for task in plan[i : i + 3]] for i in range(0, len(plan), 3)]
    assert len(rounds) == 6 and all(len(set(each)) == 3 for each in rounds)
    assert [len(set(place)) for place in zip(*rounds[:3], strict=True)] == [3, 3, 3]
    assert [task.options["seed"] for task in plan[:9]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]

    plan = list(tasks(parser().parse_args([*options, "1"]), {"sg100": {}}))
    assert [task.round for task in plan if not task.engine.from_file] == [0]
    assert [task.round for task in plan if task.engine.from_file] == [0, 0, 1, 1, 2, 2]


def test_settings_are_parsed_and_bad_arguments_exit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setting_options("cbow300") == {"sg": 0, "vector_size": 300}
    assert setting_options("dmhs20") == {"dm": 1, "vector_size": 20, "hs": 1, "negative": 0}
    with pytest.raises(SystemExit, match="unknown setting 'glove'"):
        setting_options("glove")
    assert literals("cluster=local:ps=2 alpha=.1") == {"cluster": "local:ps=2", "alpha": 0.1}
    corpus = tmp_path / "text.txt"
    corpus.write_text("some words\n")
    for options, message in {
        (str(tmp_path / "none"),): "no such file",
        (str(corpus), "--eval", "none"): "no such file: none",
        (str(corpus), "--seeds", "0"): "0 is too small: give 1 or more",
        (str(corpus), "--threads", "9999"): "9999: this machine has",
        (str(corpus), "--option", "alpha"): "alpha: write NAME=VALUE",
    }.items():
        with pytest.raises(SystemExit, match="2"):
            parser().parse_args([*options, "--out", str(tmp_path)])
        assert message in capsys.readouterr().err


def test_failed_call_raises_its_error() -> None:
    with pytest.raises(CommandError, match="No module named 'no_such_module'"):
        call("no_such_module:function", {})


def test_family_peak_includes_descendants() -> None:
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end children with their parent")
def test_killing_a_benchmark_ends_its_measurements() -> None:
    program = (
        "import os, time\n"
        "from benchmarks.options.run import fresh_processes\n"
        "if __name__ == '__main__':\n"
        "    with fresh_processes(1) as pool:\n"
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
def test_compare_runs_on_the_lee_corpus(tmp_path: Path) -> None:
    from gensim.test.utils import datapath

    command = [sys.executable, "-m", "benchmarks.compare", datapath("lee_background.cor")]
    command += ["--out", str(tmp_path), "--seeds", "1", "--epochs", "1", "--threads", "1"]
    subprocess.run([*command, "--name", "lee", "--kernel", "avx2"], check=True, timeout=600)
    document = json.loads((tmp_path / "lee.json").read_text())
    assert len(document["runs"]) == 4
    assert {each["raw_words"] for each in document["runs"]} == {document["corpus"]["words"]}
    assert all(each["train_seconds"] > 0 for each in document["runs"])
    text = (tmp_path / "lee.json").read_text() + (tmp_path / "lee.md").read_text()
    assert str(Path(datapath("lee_background.cor")).parent) not in text


def test_words_become_ranks_and_hashes_in_each_form(tmp_path: Path) -> None:
    corpus = tmp_path / "text.txt"
    corpus.write_text("a b a c b a d e\n" * 30)
    files = write_integers(corpus, tmp_path)
    ranks, hashes = map(np.load, files.values())
    assert ranks[0, :8].tolist() == [0, 1, 0, 2, 1, 0, 3, 4] and ranks.shape == hashes.shape == (
        6,
        40,
    )
    assert len(np.unique(hashes)) == 5 and hashes.max() > 2**32
    for form in ("array", "rows", "lists"):
        np.testing.assert_array_equal(form_of(hashes, form, str(tmp_path)), hashes)


def test_ratios_of_integers_are_to_gensim_in_the_same_round() -> None:
    runs = [
        *(IntegerRun(GENSIM, number, seconds, 2 * seconds) for number, seconds in ((1, 6), (2, 8))),
        *(IntegerRun("array", number, 1, 1) for number in (1, 2)),
    ]
    cells = ratio_table(runs, 10**9).splitlines()[-1].split(" | ")
    assert cells[1:3] == ["1.00 (1.00–1.00)"] * 2
    assert cells[3:] == ["7.00 (6.00–8.00)", "14.00 (12.00–16.00) |"]


@pytest.mark.slow
def test_integers_runs_on_the_lee_corpus(tmp_path: Path) -> None:
    from gensim.test.utils import datapath

    command = [sys.executable, "-m", "benchmarks.integers", datapath("lee_background.cor")]
    command += ["--out", str(tmp_path), "--seeds", "1", "--forms", "array,rows,lists"]
    subprocess.run(command, check=True, timeout=600)
    document = json.loads((tmp_path / "integers.json").read_text())
    assert all(len(runs) == 4 for runs in document["runs"].values())


@pytest.mark.slow
def test_sandblaster_benchmark_lowers_losses_pass_by_pass(tmp_path: Path) -> None:
    from gensim.test.utils import datapath

    command = [sys.executable, "-m", "benchmarks.sandblaster", datapath("lee_background.cor")]
    command += ["--passes", "1", "3", "--vector-size", "10", "--out", str(tmp_path)]
    out = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["run"], one["passes"]) for one in found] == [
        (run, passes) for run in ("local", "downpour", "sandblaster") for passes in (1, 3)
    ]
    for one, later in zip(found[::2], found[1::2], strict=True):
        assert later["loss"] < one["loss"]
    assert (tmp_path / "sandblaster.svg").stat().st_size > 1000
    assert json.loads((tmp_path / "sandblaster.json").read_text())["found"] == found


def test_reference_and_candidate_select_other_classes(tmp_path):
    corpus = tmp_path / "text.txt"
    corpus.write_text("some words\n")
    options = [str(corpus), "--out", str(tmp_path), "--also", "cluster=local:ps=1,worker=1"]
    options += ["--also", "regime=downpour workers=2"]
    options += ["--reference", "gensim.models:FastText", "--candidate", "gensim_tfw2v:TFFastText"]
    plan = tasks(parser().parse_args(options), {"sg100": {}})
    by_name = {task.engine.name: task for task in plan}
    targets = {name: task.engine.target for name, task in by_name.items()}
    downpour = by_name["TFFastText regime=downpour workers=2"].options
    assert (downpour["regime"], downpour["workers"]) == ("downpour", 2)
    assert targets[REFERENCE] == "gensim.models:FastText"
    for engine in ("TFFastText corpus_file", "TFFastText cluster=local:ps=1,worker=1"):
        assert targets[engine] == "gensim_tfw2v:TFFastText"


def test_unknown_words_scores_only_pairs_with_a_missing_word(tmp_path):
    class Vectors:
        key_to_index = {"known": 0, "other": 1}

        def similarity(self, first, second):
            return len(first) + len(second)

    path = tmp_path / "pairs.tsv"
    path.write_text("known\tother\t9\na\tknown\t1\nlonger\tother\t2\nlongest\twords\t3\n")
    assert unknown_words(Vectors(), str(path)) == (pytest.approx(1), 3)
    path.write_text("known\tother\t9\n")
    assert unknown_words(Vectors(), str(path)) == (None, 0)


def test_analogies_are_answered_by_the_30_000_most_frequent_words() -> None:
    asked = ["Athens", "Greece", "Baghdad", "Iraq"]
    scores = []
    for others in (29_996, 29_997):
        vectors = KeyedVectors(4)
        words = [*map(str, range(others)), *asked]
        rows = np.random.default_rng(1).normal(size=(len(words), 4))
        vectors.add_vectors(words, rows.astype(np.float32))
        scores.append(evaluate(vectors, {})["analogies"])
    assert scores == [0, None]


def test_documents_are_found_by_their_words(tmp_path: Path) -> None:
    from gensim_tfw2v import TFDoc2Vec

    corpus = tmp_path / "text.txt"
    topics = ([f"{chr(97 + topic)}{number}" for number in range(80)] for topic in range(20))
    corpus.write_text("".join(f"{' '.join(words)}\n" for words in topics))
    options = {"dm": 0, "vector_size": 20, "min_count": 1, "sample": 0, "alpha": 0.1, "seed": 1}
    trained, untrained = (
        evaluate_documents(
            TFDoc2Vec(corpus_file=str(corpus), epochs=epochs, **options), str(corpus)
        )
        for epochs in (50, 1)
    )
    assert trained["itself"] > 0.8 and trained["halves"] > 0.8
    assert untrained["halves"] < 0.5


def test_speeds_beyond_the_cores_lose_only_to_shared_rows() -> None:
    assert computed_speed({1: 3.0, 2: 6.0}, 16) == pytest.approx(48)
    assert computed_speed({1: 3.0, 2: 6.5}, 16) == pytest.approx(48)  # too fast by chance
    assert computed_speed({1: 1.0, 2: 1.6}, 2) == pytest.approx(1.6)  # as measured
    # half of the rows are another thread's with two threads, and nearly all with many
    assert computed_speed({1: 1.0, 2: 1.6}, 1000) == pytest.approx(1000 / 1.5, rel=0.001)


def test_traffic_to_memory_is_that_of_a_least_recently_used_cache() -> None:
    work = Workload.for_text(3000, 1e7)
    frequencies = work.frequencies._replace(burst=1.0)
    work = replace(work, frequencies=frequencies)
    assert memory_bytes(work, cache=2 * 3000 * 448) == 0
    room = 1500  # rows
    draws = np.random.default_rng(0)
    tokens = draws.choice(3000, 60_000, p=frequencies.words)
    shared, block = work.shape.shared, work.shape.block
    blocks = draws.choice(3000, (len(tokens) // block, shared), p=frequencies.noise)
    cached: dict[int, None] = {}
    missed = 0
    for first in range(0, len(tokens) - block + 1, block):
        run = tokens[first : first + block]
        for row in {*run, *(run + 3000), *(blocks[first // block] + 3000)}:
            missed += first > 20_000 and row not in cached
            cached.pop(row, None)
            cached[row] = None
            if len(cached) > room:
                del cached[next(iter(cached))]
    moved = 2 * 448 * missed / 40_000 * frequencies.kept
    assert memory_bytes(work, cache=room * 448) == pytest.approx(moved, rel=0.1)
