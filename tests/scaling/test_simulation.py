"""Simulated epochs whose time can be computed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.scaling.costs import Costs
from benchmarks.scaling.events import Host
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.simulation import Layout, Work, simulate
from benchmarks.scaling.study import predict
from gensim_tfw2v.planning.workload import Frequencies, Workload, distinct_rows

#: A job costs 1 s of a worker's core, plus 0.2 s for its rows, and 0.1 s of a ps's core.
COSTS = Costs(token=1e-4, row=2e-4, job=0.0, ps_row=1e-4, ticket=1e-3, epoch=0.0, threads=1.0)
WORK = Work(jobs=64, tokens=10_000, rows=1000, fetched_bytes=200, pushed_bytes=204)
FAST = Host(1, 1e12)


def layout(workers, ps=1, host=FAST, latency=0.0):
    return Layout.own_hosts(host, ps, workers, latency)


def test_single_worker_runs_everything_sequentially():
    outcome = simulate(COSTS, WORK, layout(1))
    assert outcome.seconds == pytest.approx(64 * 1.3, rel=1e-3)
    assert outcome.staleness == 0
    # usage of the coordinator, the ps and the worker
    assert outcome.computed == pytest.approx([0.064, 6.4, 76.8])
    assert outcome.sent == pytest.approx([0, 64 * 200e3, 64 * 204e3])


def test_preparing_a_job_overlaps_with_training_if_a_core_is_free():
    alone = simulate(COSTS, WORK, layout(1)).seconds
    costs = replace(COSTS, job=0.5)
    two_cores = simulate(costs, WORK, layout(1, host=Host(2, 1e12)))
    assert two_cores.seconds == pytest.approx(alone + 0.5, rel=1e-3)
    one_core = simulate(costs, WORK, layout(1)).seconds
    assert alone + 28 < one_core < alone + 32
    # texts are sent ahead, too
    slow = layout(1, host=Host(1, 1e7))
    without, sent = (simulate(COSTS, replace(WORK, text_bytes=size), slow) for size in (0, 1e6))
    assert sent.seconds == pytest.approx(without.seconds + 0.1, rel=0.02)


def test_independent_workers_scale_linearly():
    costs = replace(COSTS, ps_row=1e-6, ticket=1e-6)
    alone = simulate(costs, WORK, layout(1)).seconds
    for workers in (2, 4, 8):
        outcome = simulate(costs, WORK, layout(workers, ps=workers))
        assert outcome.seconds == pytest.approx(alone / workers, rel=0.01)
        assert outcome.staleness == pytest.approx(workers - 1, rel=0.2)


def test_busy_ps_limits_the_speed():
    outcome = simulate(COSTS, WORK, layout(32))
    assert outcome.seconds == pytest.approx(64 * 0.1, rel=0.35)
    predicted = predict(COSTS, WORK, layout(32), 640_000)
    assert predicted.bound == "ps" and predicted.busy["ps"] > 0.8
    # eight ps tasks are no longer the limit
    assert predict(COSTS, WORK, layout(32, ps=8), 640_000).bound == "workers"


def test_busy_coordinator_limits_the_speed():
    costs = replace(COSTS, ps_row=1e-6, ticket=0.1, epoch=2.0)
    predicted = predict(costs, WORK, layout(32, ps=8), 640_000)
    assert predicted.words_per_second == pytest.approx(640_000 / (6.4 + 1.2 + 2), rel=0.01)
    assert predicted.bound == "coordinator"
    # with fewer workers, the coordinator is not the limit
    few = simulate(costs, WORK, layout(4, ps=8))
    assert few.seconds == pytest.approx(64 * 1.2 / 4 + 0.1 + 2, rel=0.02)


def test_slow_network_limits_the_speed():
    slow = Host(1, 1e6)
    work = replace(WORK, jobs=640)
    predicted = predict(COSTS, work, layout(32, host=slow), 6_400_000)
    assert predicted.words_per_second == pytest.approx(6_400_000 / (640 * 0.204), rel=0.12)
    assert predicted.bound == "network of ps"
    assert predicted.bytes_per_token == pytest.approx(404 * 1000 / 10_000)


def test_latency_is_added_to_each_job():
    outcome = simulate(COSTS, WORK, layout(1, latency=0.1))
    assert outcome.seconds == pytest.approx(64 * (1.3 + 0.2), rel=1e-2)


def test_tasks_of_one_host_share_its_cores():
    costs = replace(COSTS, threads=2.0)
    one_host = Layout.one_host(Host(2, 1e12), ps=2, workers=4)
    outcome = simulate(costs, WORK, one_host)
    assert outcome.seconds == pytest.approx(64 * (1.2 + 0.1 + 0.001) / 2, rel=0.03)
    assert predict(costs, WORK, one_host, 640_000).bound == "cores"


def test_more_workers_get_more_and_shorter_jobs():
    counts = tuple(int(1e7 / rank) for rank in range(1, 5001))
    corpus = Corpus(counts, sentences=1_000_000, options={"sg": 1})
    frequencies = Frequencies.from_counts(counts)
    for workers, threads in ((1, 1), (4, 1), (2, 2)):
        work = corpus.work(workers, threads)
        assert work.jobs * threads >= 8 * workers * threads
        assert work.units == threads
        assert work.jobs * work.tokens == pytest.approx(sum(counts) * frequencies.kept)
        load = Workload(frequencies, 100, corpus.workload().shape)
        assert work.rows == pytest.approx(sum(distinct_rows(load, work.tokens, True)))
    assert corpus.work(4, 1, rows_factor=1.5).rows == pytest.approx(1.5 * corpus.work(4, 1).rows)
    assert (corpus.work(1, 1).fetched_bytes, corpus.work(1, 1).pushed_bytes) == (104, 108)
    assert 1.2 < work.text_bytes * work.jobs / corpus.tokens < 2.5


def test_grown_corpus_has_rarer_words():
    counts = (1e7 / np.arange(1, 2_000_001)).round()
    corpus = Corpus(tuple(counts[counts >= 100].astype(int).tolist()), 1000, {"sg": 1})
    grown = corpus.grown(10 * corpus.tokens)
    assert grown.tokens == pytest.approx(10 * corpus.tokens, rel=0.01)
    assert grown.sentences == 10_000
    # by Zipf's law, ten times as many words reach a given count in ten times the text
    assert len(grown.counts) == pytest.approx(10 * len(corpus.counts), rel=0.1)
    assert min(grown.counts) == pytest.approx(100, rel=0.3)
    assert list(grown.counts) == sorted(grown.counts, reverse=True)
