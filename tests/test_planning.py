"""Predicted traffic equals what workers count, and advice follows from the limits of machines."""

import functools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.fit import reference_speeds, results
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cluster.links import TaskLink, task_pairs
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.graph.step_shape import StepShape, choose_step_shape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays, pair_rates
from gensim_tfw2v.parameter_server.job import ParameterServer, PushCounter
from gensim_tfw2v.parameter_server.job_config import JobConfig
from gensim_tfw2v.parameter_server.job_result import JobResult
from gensim_tfw2v.parameter_server.scratch import WorkerVariables
from gensim_tfw2v.planning import (
    ALONE,
    WORKER_FACTOR,
    Frequencies,
    Machines,
    Workload,
    compare,
)
from gensim_tfw2v.planning.measured_links import ClusterLinks, WorkerLink
from gensim_tfw2v.planning.memory import machine_request
from gensim_tfw2v.planning.speed import ENTRY_BYTES, WordSeconds, link_limit, transfer_seconds
from gensim_tfw2v.planning.workload import column_bytes, distinct_rows, row_bytes
from gensim_tfw2v.regimes.parameter_server import layout_class
from tests.engines import step_engine
from tests.parameter_server.test_job import PROGRAMS, job

VOCABULARY = 3000


def independent(frequencies, tokens, seed=1):
    """Sentences of 20 words each, drawn independently."""
    ids = np.random.default_rng(seed).choice(VOCABULARY, tokens, p=frequencies.words)
    return np.insert(ids, np.arange(20, tokens + 1, 20), -1).astype(np.int32)


def counted(frequencies, size, shards, layout, objective, shape, entries):
    """Bytes per token that a job fetches and pushes, by its own counters."""
    engine = step_engine(objective, shape, 12, with_loss=False, skip_targets=False)
    config = JobConfig(engine, objective, size, shape.window, len(entries), layout=layout)
    words = WordArrays.of(np.ones(VOCABULARY), frequencies.noise)
    tables = Tables(*(layout_class(layout)(n, size, shards) for n in (VOCABULARY, VOCABULARY, 0)))
    rates = pair_rates(frequencies.words, 4.0, objective.skipgram, 5, frequencies.noise, None)
    push_counter = PushCounter(tf.Variable(0, dtype=tf.int64), tf.Variable(tf.zeros([4], tf.int32)))
    constants = tf.nest.map_structure(tf.Variable, (words, rates))
    server = ParameterServer(tables, *constants, push_counter, WorkerVariables())
    function = PROGRAMS[layout](config, server).function
    result = JobResult.unpack(function(*job(entries)).numpy())
    return np.array([result.fetched_bytes, result.pushed_bytes]) / result.units.kept[0]


OBJECTIVES = {
    "skipgram": (Objective(True, 5), StepShape(128, 32, 5, 16, "centres")),
    "cbow": (Objective(False, 5, mean=True), StepShape(256, 32, 4, 16, "inputs")),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(("size", "shards", "layout"), [
    (40, 2, "rows"), (100, 1, "rows"), (40, 1, "columns"), (10, 3, "columns"),
])  # fmt: skip
def test_predicted_bytes_equal_the_counted_ones(name, size, shards, layout):
    objective, shape = OBJECTIVES[name]
    frequencies = Frequencies.zipf(VOCABULARY, sample=0)._replace(burst=1.0)
    entries = independent(frequencies, 4096)
    found = counted(frequencies, size, shards, layout, objective, shape, entries)
    work = Workload(frequencies, size, shape, objective.skipgram)
    if layout == "columns":
        expected = column_bytes(work, shards)
    else:  # TensorFlow's own operations use bfloat16, of two bytes and no scale
        expected = row_bytes(work, 4096)
        found *= np.array([size + 4, size + 8]) / [2 * size, 2 * size + 4]
    np.testing.assert_allclose(found, expected, rtol=0.05)


@pytest.mark.parametrize("tokens", [100, 10_000, 1_000_000])
def test_distinct_rows_predicts_the_distinct_words(tokens):
    frequencies = Frequencies.zipf(VOCABULARY, sample=0)._replace(burst=1.0)
    shape = StepShape(64, 32, 5, 16)
    ids = independent(frequencies, tokens)
    inputs, outputs = distinct_rows(Workload(frequencies, 10, shape), tokens)
    assert inputs == pytest.approx(len(np.unique(ids[ids >= 0])), rel=0.1)
    assert inputs < outputs <= VOCABULARY


def test_traffic_of_rows_grows_with_vector_size_but_not_columns():
    work = {
        size: Workload(Frequencies.zipf(VOCABULARY), size, StepShape(512, 32, 5, 16, "centres"))
        for size in (100, 500)
    }
    assert column_bytes(work[100], 2) == column_bytes(work[500], 2)
    assert column_bytes(work[100], 4) == pytest.approx(2 * np.array(column_bytes(work[100], 2)))
    for_rows = [sum(row_bytes(work[size], 512)) for size in (100, 500)]
    assert for_rows[1] > 4.7 * for_rows[0]
    assert sum(column_bytes(work[500], 2)) < 0.5 * for_rows[1]


def test_frequencies_are_subsampled_as_in_gensim():
    counts = np.array([1000, 100, 10])
    frequencies = Frequencies.from_counts(counts, sample=0.1, ns_exponent=0.5)
    share = counts / 1110
    keep = np.minimum(1, (np.sqrt(share / 0.1) + 1) * (0.1 / share))
    np.testing.assert_allclose(frequencies.words, share * keep / sum(share * keep))
    assert frequencies.kept == pytest.approx(sum(share * keep))
    np.testing.assert_allclose(frequencies.noise, np.sqrt(share) / sum(np.sqrt(share)))


@pytest.mark.parametrize("skipgram", [True, False])
def test_work_of_a_text_has_the_step_of_its_subsampled_length(skipgram):
    objective = Objective(skipgram, 7)
    steps = set()
    for tokens in (10**5, 10**6, 10**7, 10**8):
        work = Workload.for_text(100_000, tokens, 50, window=4, negative=7, skipgram=skipgram)
        kept = int(tokens * work.frequencies.kept)
        assert 0.1 < kept / tokens < 0.9
        assert work.shape == choose_step_shape(
            objective, kept, 4, 5, vector_size=50, in_columns=True
        )
        steps.add(work.shape.tokens)
    assert len(steps) > 1


SHAPE = StepShape(512, 32, 5, 16, "centres")
#: (number of words, vector size).
SMALL, LARGE, HUGE, WIDE = (100_000, 100), (1_000_000, 100), (5_000_000, 500), (5_000_000, 1000)


@functools.cache
def work(words, size):
    return Workload(Frequencies.zipf(words), size, SHAPE)


def by_name(choices):
    return {one.name.split(",")[0]: one for one in choices}


def test_fast_network_favours_rows():
    choices = compare(work(*SMALL), 1e9, Machines(workers=8, shards=8))
    assert choices[0].name == "rows, asynchronous"
    assert choices[0].bound == "cores"
    one = by_name(compare(work(*SMALL), 1e9, Machines(workers=1, shards=1)))["rows"]
    assert choices[0].words_per_second == pytest.approx(8 * one.words_per_second, rel=0.1)


def test_deprecated_names_warn_and_still_work():
    choice = compare(work(*SMALL), 1e9, Machines(workers=8, shards=8))[0]
    with pytest.warns(DeprecationWarning, match="bytes_per_token"):
        assert choice.bytes_a_token == choice.bytes_per_token
    with pytest.warns(DeprecationWarning, match="words_per_second"):
        assert choice.words_a_second == choice.words_per_second
    with pytest.warns(DeprecationWarning, match="for_text"):
        assert Workload.of_text(9, 99, window=3).shape == Workload.for_text(9, 99, window=3).shape
    with pytest.warns(DeprecationWarning, match="from_counts"):
        frequencies = Frequencies.of_counts(np.array([3, 1]), sample=0)
    assert frequencies.words.tolist() == [0.75, 0.25]


def test_slow_network_favours_sub_models():
    machines = Machines(workers=16, shards=2, threads=2, net=1e8)
    choices = compare(work(*LARGE), 10e9, machines)
    assert choices[0].name == "sub-models"
    assert by_name(choices)["rows"].bound == "network"
    small = compare(work(*LARGE), 1e8, machines)  # too little text for sub-models
    assert [one.bound for one in small] == ["cores", "network", "network", "corpus"]
    assert small[0].name == ALONE


def test_large_tables_favour_columns():
    machines = Machines(4, 2, net=1e8, latency=2e-5, memory=40.7e9, coordinator_memory=130e9)
    choices = compare(work(*WIDE), 100e9, machines)
    assert choices[0].name == "columns"
    assert choices[-1].name == "sub-models"  # no worker could hold one
    assert choices[-1].bound == "memory"


def test_few_machines_favour_a_single_one():
    small = compare(work(*SMALL), 1e9, Machines(workers=2, shards=1))
    assert small[0].name == ALONE and small[0].bound == "cores"
    rows = by_name(small)["rows"].words_per_second
    alone = rows / 2 * WORKER_FACTOR
    assert alone < small[0].words_per_second < 1.3 * alone  # rows also wait for the network


@pytest.mark.parametrize(
    ("net", "latency", "alone", "words", "size", "measured"),
    [
        (50e6, 2e-4, 4.07e6, 532e3, 24.9, 0.553e6),
        (200e6, 2e-4, 4.07e6, 532e3, 24.9, 1.897e6),
        (1e9, 2e-4, 4.07e6, 532e3, 24.9, 3.697e6),
        (1e9, 20e-3, 4.07e6, 532e3, 24.9, 2.834e6),
        (200e6, 20e-3, 0.875e6, 64e3, 66.4, 0.482e6),
    ],
)
def test_predicted_speed_over_slow_links_matches_measurements(
    net, latency, alone, words, size, measured
):
    # words/s of 4 workers with one thread each, and 2 ps; words per job, and bytes per raw word
    waiting = sum(transfer_seconds(words * size, Machines(4, 2, 1, net / 8, latency)))
    assert 4 * words / (4 * words / alone + waiting) == pytest.approx(measured, rel=0.3)


def test_low_bandwidth_and_high_latency_slow_rows_down():
    fast, slow, far = (
        by_name(compare(work(*SMALL), 17e6, Machines(2, 2, 1, net, latency)))["rows"]
        for net, latency in ((1.25e9, 0.0), (6e6, 0.0), (1.25e9, 0.5))
    )
    assert slow.words_per_second < 0.1 * fast.words_per_second and slow.bound == "network"
    assert far.words_per_second < 0.2 * fast.words_per_second and far.bound == "latency"


@pytest.mark.parametrize(
    ("setting", "size", "skipgram"),
    [("cbow100", 100, False), ("cbow300", 300, False), ("sg100", 100, True), ("sg300", 300, True)],
)
def test_predicted_speed_of_one_machine_matches_measurements(setting, size, skipgram):
    work = Workload.for_text(230_000, 17e6, size, skipgram=skipgram)
    one = by_name(compare(work, 17e6, Machines(workers=1, shards=1, threads=2)))[ALONE]
    measured = reference_speeds()["words_per_second"][setting]
    assert one.words_per_second == pytest.approx(measured, rel=0.25)


def test_predicted_speed_of_workers_matches_the_simulation():
    work = Workload.for_text(230_000, 1e9)
    runs = results("scaling")["simulated"][0]["rows"]
    small = [run for run in runs if run["workers"] <= 32]  # others also wait for the coordinator
    assert len(small) > 3
    for run in small:
        machines = Machines(run["workers"], run["ps"], threads=2)
        found = by_name(compare(work, 1e9, machines))["rows"]
        assert found.words_per_second == pytest.approx(run["words_per_second"], rel=0.2)


def test_too_little_memory_is_the_bound():
    choices = compare(work(*HUGE), 1e9, Machines(workers=4, shards=1, memory=1e9))
    assert {one.bound for one in choices} == {"memory"}
    tables = 2 * 5_000_000 * 500 * 4
    assert by_name(choices)["columns"].ps_memory == tables
    eight = compare(work(*HUGE), 1e9, Machines(workers=4, shards=8))
    assert by_name(eight)["rows"].ps_memory == tables / 8
    assert by_name(eight)["sub-models"].worker_memory == tables
    slow = compare(work(*HUGE), 1e11, Machines(workers=4, shards=8, net=1e6, memory=16e9))
    assert by_name(slow)["sub-models"].bound == "memory"  # even if the network is slow


@pytest.mark.parametrize("size", [100, 100_000, 1_000_000])
@pytest.mark.parametrize("shards", [1, 8])
def test_what_is_recommended_fits_into_memory(size, shards):
    sizes = 4.0 ** np.arange(14, 19)
    for memory in sizes:
        for coordinator in (None, *sizes):
            machines = Machines(4, shards, memory=memory, coordinator_memory=coordinator)
            choices = compare(work(VOCABULARY, size), 1e10, machines)
            for one in choices:
                fits = max(one.ps_request, one.worker_request) <= memory
                fits &= one.coordinator_request <= (coordinator or memory)
                assert fits == (one.bound != "memory") == (not one.shortages(machines))
            # ways that do not fit come last
            fitting = [one.bound != "memory" for one in choices]
            assert fitting == sorted(fitting, reverse=True)


PEAK = r"""
import re, sys
from gensim_tfw2v import TFWord2Vec
model = TFWord2Vec(corpus_file=sys.argv[1], vector_size=100, sg=1, min_count=1, workers=2, epochs=1)
peak = re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())  # of this process alone
print(len(model.wv), 1024 * int(peak[1]))
"""


@pytest.mark.parametrize(
    "words",
    [100_000, *(pytest.param(n, marks=pytest.mark.slow) for n in (500_000, 1_000_000))],
)
def test_one_machine_needs_nearly_the_memory_to_request(tmp_path, words):
    rng = np.random.default_rng(1)
    ids = np.concatenate([rng.permutation(words), rng.zipf(1.2, 4 * words) % words])
    text = "".join(f"w{word:07d}{' ' if n % 20 else chr(10)}" for n, word in enumerate(ids, 1))
    (tmp_path / "text").write_text(text)
    command = [sys.executable, "-c", PEAK, tmp_path / "text"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    vocabulary, peak = map(int, run.stdout.split())
    assert vocabulary == words
    request = machine_request(Workload(Frequencies.zipf(words), 100, SHAPE), threads=2)
    assert peak <= request < 2.5 * peak


@pytest.mark.parametrize("net", [1e6, 1e8, 1e10])
def test_predicted_traffic_does_not_exceed_the_bandwidth(net):
    for workers, shards in ((1, 4), (8, 2)):
        for one in compare(work(*HUGE), 1e9, Machines(workers, shards, net=net)):
            assert max(one.ps_net, one.worker_net) <= net * (1 + 1e-9)


def test_latency_slows_columns_most():
    near = Machines(workers=4, shards=2, latency=1e-5)
    far = replace(near, latency=1e-2)
    fast, slow = (by_name(compare(work(*SMALL), 1e9, machines)) for machines in (near, far))
    assert slow["columns"].bound == "latency"
    assert slow["columns"].words_per_second < fast["columns"].words_per_second / 5
    assert slow["rows"].words_per_second > fast["rows"].words_per_second / 2


PS, WORKERS = ("a:1", "b:1"), ("c:1", "d:1", "e:1", "f:1")


def measured(rate=1.25e9, latency=2e-4, **others):
    """Return links of 2 ps and 4 workers; `others` are (rate, latency) by names of two tasks."""
    links = []
    for source, target in task_pairs(Cluster(PS, WORKERS)):
        ends = f"{source.role}{source.index}_{target.role}{target.index}"
        link_rate, link_latency = others.get(ends, (rate, latency))
        links.append(TaskLink(source, target, link_rate, link_rate, link_latency))
    return links


def plan(links):
    machines = Machines(4, 2, 2, links=ClusterLinks.from_measurements(links))
    return by_name(compare(work(*SMALL), 17e6, machines))


@pytest.mark.parametrize(("rate", "latency"), [(1.25e9, 2e-4), (6e6, 2e-4), (1.25e8, 0.5)])
def test_equal_measured_links_give_the_plan_of_their_rate_and_latency(rate, latency):
    expected = by_name(compare(work(*SMALL), 17e6, Machines(4, 2, 2, rate, latency)))
    found = plan(measured(rate, latency))
    for name, choice in expected.items():
        assert found[name].words_per_second == pytest.approx(choice.words_per_second)
        assert found[name].bound == choice.bound
        assert found[name].ps_net == pytest.approx(choice.ps_net)


def test_slow_link_of_a_worker_slows_only_this_worker():
    slow = dict.fromkeys(("worker0_ps0", "worker0_ps1"), (1e5, 2e-4))
    fast_speed = plan(measured())["rows"].words_per_second
    speed = plan(measured(**slow))["rows"].words_per_second
    assert 0.75 * fast_speed < speed < 0.8 * fast_speed
    assert plan(measured(**slow))["rows"].bound == "cores"


def test_slow_link_of_a_ps_slows_all_workers():
    slow = {f"worker{worker}_ps1": (1e6, 2e-4) for worker in range(4)}
    expected = plan(measured(rate=1e6))["rows"].words_per_second
    speed = plan(measured(**slow))["rows"].words_per_second
    assert expected <= speed < 2.1 * expected
    assert plan(measured(**slow))["rows"].bound == "network"


def test_slow_link_of_a_single_pair_limits_the_share_of_this_ps():
    links = ClusterLinks.from_measurements(measured(1e9, worker2_ps1=(1e6, 2e-2)))
    assert links.worker_links[2] == WorkerLink(pytest.approx(2e6), 2e-2)
    assert links.worker_links[3] == WorkerLink(pytest.approx(1e9), 2e-4)
    assert links.ps_net == pytest.approx(1e9)


def test_both_directions_of_a_link_count_equally():
    links = [
        link._replace(sent_rate=1e6, received_rate=3e6) if link.source.role == "worker" else link
        for link in measured()
    ]
    assert ClusterLinks.from_measurements(links).worker_links[0].net == pytest.approx(1.5e6)


def test_slow_link_of_the_coordinator_limits_the_text():
    slow = {f"chief0_worker{worker}": (1e4, 2e-4) for worker in range(4)}
    links = ClusterLinks.from_measurements(measured(**slow))
    assert links.coordinator_net == 1e4
    machines = Machines(4, 2, 2, links=links)
    expected = link_limit(1e-9, Machines(4, 2, net=1e4), 2)
    assert link_limit(1e-9, machines, 2) == pytest.approx(expected)


def test_slowest_link_of_the_coordinator_limits_sub_models():
    choices = plan(measured(chief0_worker1=(1e5, 2e-4)))
    assert choices["sub-models"].words_per_second == pytest.approx(4 * 1e5 / ENTRY_BYTES)
    assert choices["rows"].words_per_second == plan(measured())["rows"].words_per_second


def test_average_weights_workers_by_their_speeds():
    fast, slow = WordSeconds(1.0, 0.0, 1.0), WordSeconds(1.0, 0.0, 3.0)
    average = WordSeconds.average([fast, slow])
    assert average.speed == pytest.approx((fast.speed + slow.speed) / 2)
    assert average == pytest.approx((1.0, 0.0, 5 / 3))


def test_blocked_and_missing_links_are_refused():
    links = measured()
    with pytest.raises(ValueError, match="the link worker 3 - ps 1 is blocked: no way"):
        ClusterLinks.from_measurements([*links[:-1], links[-1]._replace(problem="no way")])
    for index in range(2, len(links)):  # links of the coordinator to ps tasks are not needed
        with pytest.raises(ValueError, match="lacks links of workers"):
            ClusterLinks.from_measurements(links[:index] + links[index + 1 :])


def test_measured_links_of_a_different_cluster_are_refused():
    links = ClusterLinks.from_measurements(measured())
    with pytest.raises(ValueError, match="links has 4 workers and 2 ps tasks, but workers is 3"):
        Machines(3, 2, links=links)


def test_sample_compared_with_counts_is_refused():
    with pytest.raises(ValueError, match="sample must be below 1, got 5"):
        Workload.for_text(1000, 1e6, sample=5)
