"""What is advised follows from what limits each way to train."""

from dataclasses import replace

import pytest

from gensim_tfw2v.kernel.objectives.blocks import StepShape
from gensim_tfw2v.planning import Frequencies, Machines, Workload, compare

SHAPE = StepShape(512, 32, 5, 16, "centres")
SMALL = Workload(Frequencies.zipf(100_000), 100, SHAPE)
LARGE = Workload(Frequencies.zipf(1_000_000), 100, SHAPE)
HUGE = Workload(Frequencies.zipf(5_000_000), 500, SHAPE)


def by_name(choices):
    return {one.name.split(",")[0]: one for one in choices}


def test_fast_networks_take_rows():
    choices = compare(SMALL, 1e9, Machines(workers=4, shards=2))
    assert choices[0].name == "rows, asynchronous"
    assert choices[0].bound == "workers"
    one = compare(SMALL, 1e9, Machines(workers=1, shards=1))[0]
    assert choices[0].words_a_second == pytest.approx(4 * one.words_a_second)


def test_slow_networks_take_sub_models():
    machines = Machines(workers=16, shards=2, net=1e8)
    choices = compare(LARGE, 10e9, machines)
    assert choices[0].name == "sub-models"
    assert by_name(choices)["rows"].bound == "network"
    small = compare(LARGE, 1e8, machines)  # of which a sub-model would see too little
    assert [one.bound for one in small] == ["network", "network", "corpus"]
    assert small[0].name == "rows, asynchronous"


def test_many_long_rows_take_columns():
    machines = Machines(workers=4, shards=2, net=3e8, latency=2e-5, memory=12e9)
    choices = compare(HUGE, 100e9, machines)
    assert choices[0].name == "columns"
    assert choices[-1].name == "sub-models"  # no worker could hold one
    assert choices[-1].bound == "memory"


def test_what_does_not_fit():
    choices = compare(HUGE, 1e9, Machines(workers=4, shards=1, memory=1e9))
    assert {one.bound for one in choices} == {"memory"}
    tables = 2 * 5_000_000 * 500 * 4
    assert by_name(choices)["columns"].ps_memory == tables
    eight = compare(HUGE, 1e9, Machines(workers=4, shards=8))
    assert by_name(eight)["rows"].ps_memory == tables / 8
    assert by_name(eight)["sub-models"].worker_memory == tables
    slow = compare(HUGE, 1e11, Machines(workers=4, shards=8, net=1e6, memory=16e9))
    assert by_name(slow)["sub-models"].bound == "memory"  # whatever the network


@pytest.mark.parametrize("net", [1e6, 1e8, 1e10])
def test_no_task_is_asked_for_more_than_its_network_has(net):
    for workers, shards in ((1, 4), (8, 2)):
        for one in compare(HUGE, 1e9, Machines(workers, shards, net=net)):
            assert max(one.ps_net, one.worker_net) <= net * (1 + 1e-9)


def test_waiting_slows_columns_alone():
    near = Machines(workers=4, shards=2, latency=1e-5)
    far = replace(near, latency=1e-2)
    fast, slow = (by_name(compare(SMALL, 1e9, machines)) for machines in (near, far))
    assert slow["columns"].bound == "latency"
    assert slow["columns"].words_a_second < fast["columns"].words_a_second / 5
    assert slow["rows"] == fast["rows"]
