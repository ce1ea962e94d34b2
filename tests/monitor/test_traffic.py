"""Report of a cluster's work, and the timeline of its jobs."""

import json
from collections import defaultdict

import numpy as np
import pytest
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.monitor.traffic import JobTrace, Traffic, write_trace

LEE = datapath("lee_background.cor")


def phases(folder):
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X"]


def test_overlapping_jobs_get_different_slots(tmp_path):
    began = 1.7e9
    spans = [(0, 3), (1, 4), (4.5, 6), (3.5, 5), (5.5, 7)]
    jobs = [
        JobTrace(
            [began + first, began + first + 0.25, began + last - 0.5, began + last], n, 8, 9, 2
        )
        for n, (first, last) in enumerate(spans)
    ]
    write_trace(tmp_path, jobs)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "M" for event in events) == 2
    slots = {event["args"]["units"]: event["tid"] for event in phases(tmp_path)}
    assert slots == {0: 0, 1: 1, 3: 0, 2: 1, 4: 0}
    fetch, train, push = (event for event in phases(tmp_path) if event["args"]["units"] == 1)
    assert [event["name"] for event in (fetch, train, push)] == ["fetch", "train", "push"]
    assert [event["args"]["bytes"] for event in (fetch, train, push)] == [8, 0, 9]
    assert train["ts"] == pytest.approx(1.25e6) and train["dur"] == pytest.approx(2.25e6)
    assert push["args"]["staleness"] == 2


def test_trace_contains_each_job(tmp_path, short_layouts):
    options = {"vector_size": 8, "workers": 2, "epochs": 2}
    model = TFWord2Vec(corpus_file=LEE, **options, regime="asynchronous", log_dir=tmp_path)
    jobs, events = model.traffic.jobs, phases(tmp_path)
    assert len(events) == 3 * len(jobs) > 0
    assert sum(job.units for job in jobs) == model.traffic.units
    for phase, seconds in zip(("fetch", "train", "push"), model.traffic.seconds, strict=True):
        spans = [event["dur"] for event in events if event["name"] == phase]
        assert sum(spans) == pytest.approx(1e6 * seconds, rel=0.01, abs=100)
    ends = defaultdict(float)
    for event in events:
        assert event["ts"] >= ends[event["tid"]] - 1
        ends[event["tid"]] = event["ts"] + event["dur"]
    assert 1 <= len(ends) <= 2


def test_training_by_threads_writes_no_trace(tmp_path, short_layouts):
    TFWord2Vec(corpus_file=LEE, vector_size=8, epochs=1, log_dir=tmp_path)
    assert not (tmp_path / "trace.json").exists()


def test_str_of_traffic_shows_all_figures():
    traffic = Traffic(420, 0, 10_000, 1_000_000, 2_000_000, 0, [0, 1] * 210, np.array([3, 5, 2]))
    assert str(traffic).splitlines() == [
        "network    3.0 MB, 300 bytes per trained word",
        "workers    50% of their time training, 30% fetching rows, 20% pushing changes",
        "work units 420, 0 of them repeated",
        "staleness  0.5 concurrent updates per work unit",
    ]
    assert len(repr(traffic)) < 300


def test_str_of_traffic_omits_uncounted_figures():
    traffic = Traffic(units=4, repeated=2, tokens=10, corpus_bytes=50)
    assert str(traffic).splitlines() == [
        "network    50 bytes, 5 bytes per trained word",
        "work units 4, 2 of them repeated",
    ]
