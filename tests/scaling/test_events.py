"""Simulated programs share cores and links evenly, and all work is accounted for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scaling.events import Compute, Host, Put, Send, Simulation, Take, Together, Wait

ONE, THREE = [Host(1, 100.0)], [Host(1, 100.0)] * 3


def run(hosts, *programs, counts=None):
    """Run programs given as lists; return the simulation and the end time of each program."""
    simulation, ends = Simulation(hosts, counts or {}), {}

    def program(number, wanted):
        yield from wanted
        ends[number] = simulation.now

    simulation.run(program(number, wanted) for number, wanted in enumerate(programs))
    return simulation, [ends[number] for number in range(len(programs))]


@pytest.mark.parametrize(
    ("hosts", "programs", "expected"),
    [
        # one program on one core
        (ONE, [[Compute(0, 3)]], [3]),
        # a shared core: both run at half speed until the shorter one ends
        (ONE, [[Compute(0, 1)], [Compute(0, 3)]], [2, 4]),
        # two cores: programs run independently, and one thread uses one core
        ([Host(2, 1)], [[Compute(0, 1)], [Compute(0, 3)]], [1, 3]),
        ([Host(2, 1)], [[Compute(0, 3, threads=2)]], [1.5]),
        # three threads on two cores: each gets two thirds of a core
        ([Host(2, 1)], [[Compute(0, 4, threads=2)], [Compute(0, 2)]], [3, 3]),
        # waiting uses no core
        (ONE, [[Wait(2), Compute(0, 1)], [Compute(0, 2)]], [3, 2]),
        # transfers share the link of their sender, and of their receiver
        (
            THREE,
            [[Send(0, 1, 100)], [Send(0, 2, 100)]],
            [2, 2],
        ),
        (
            THREE,
            [[Send(0, 2, 100)], [Send(1, 2, 100)]],
            [2, 2],
        ),
        # sending and receiving do not slow each other
        ([Host(1, 100), Host(1, 100)], [[Send(0, 1, 100)], [Send(1, 0, 100)]], [1, 1]),
        # the slower end limits a transfer
        ([Host(1, 100), Host(1, 50)], [[Send(0, 1, 100)]], [2]),
        # transfers within a host take no time
        (ONE, [[Send(0, 0, 1e9)]], [0]),
    ],
)
def test_cores_and_links_are_shared_evenly(hosts, programs, expected):
    _, ends = run(hosts, *programs)
    assert ends == pytest.approx(expected)


def test_lock_is_granted_to_the_longest_waiting_program():
    def holding(before):
        return [Wait(before), Take("lock"), Compute(0, 1), Put("lock")]

    _, ends = run([Host(8, 1)], *map(holding, (0.0, 0.2, 0.1)), counts={"lock": 1})
    assert ends == pytest.approx([1, 3, 2])


def test_put_wakes_the_longest_waiting_take():
    making = [Compute(0, 1), Put("thing"), Compute(0, 1), Put("thing")]
    _, ends = run([Host(8, 1)], making, [Take("thing")], [Take("thing")])
    assert ends == pytest.approx([2, 1, 2])


def test_waiting_forever_is_an_error():
    with pytest.raises(RuntimeError, match="a resource that is never released"):
        run(ONE, [Compute(0, 1)], [Take("nothing")])


def test_together_ends_with_its_last_part():
    def part(*wanted):
        yield from wanted

    parts = [part(Compute(0, 1)), part(Wait(5)), part()]
    _, ends = run([Host(8, 1)], [Together(parts), Compute(0, 1)], [Together([]), Wait(1)])
    assert ends == pytest.approx([6, 1])


@settings(max_examples=50)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0.01, 100), st.booleans()),
            max_size=5,
        ),
        min_size=1,
        max_size=6,
    )
)
def test_random_programs_do_all_requested_work(programs):
    hosts = [Host(1, 10), Host(2, 5), Host(4, 20)]
    asked = [
        [Compute(a, size) if computes else Send(a, b, size) for a, b, size, computes in program]
        for program in programs
    ]
    simulation, ends = run(hosts, *asked)
    wanted = [one for program in asked for one in program]
    for host in range(3):
        computed = sum(
            one.seconds for one in wanted if isinstance(one, Compute) and one.host == host
        )
        sends = [one for one in wanted if isinstance(one, Send) and one.source != one.target]
        sent = sum(one.size for one in sends if one.source == host)
        received = sum(one.size for one in sends if one.target == host)
        assert simulation.computed[host] == pytest.approx(computed, abs=1e-6)
        assert simulation.sent[host] == pytest.approx(sent, abs=1e-6)
        assert simulation.received[host] == pytest.approx(received, abs=1e-6)
        assert simulation.now >= computed / hosts[host].cores - 1e-6
        assert simulation.now >= max(sent, received) / hosts[host].net - 1e-6
    assert simulation.now == pytest.approx(max(ends))
    assert np.isfinite(ends).all()
