"""A worker that trains alone may hand over after any job."""

from dataclasses import replace

import pytest

from gensim_tfw2v.options.regimes import Asynchronous
from gensim_tfw2v.regimes.relay import Relay
from tests.regimes.trials import ENTRIES, OBJECTIVES, Trial, assert_equal, corpus, tasks


@pytest.fixture(scope="module")
def units():
    with corpus(96) as encoded:
        yield encoded.units(ENTRIES)


class Turns(Relay):
    """Relay in which turns end after their first result."""

    def __init__(self, workers):
        super().__init__(workers)
        self.jobs = []  # number of jobs of each turn

    def begin_turn(self):
        super().begin_turn()
        self.jobs.append(0)

    def must_hand_over(self, durations):
        assert all(0 < seconds < 60 for seconds in durations)
        self.jobs[-1] += len(durations)
        return self.jobs[-1] > 0


def test_handovers_do_not_change_the_result(units, monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.processes.threads.LOOK_SECONDS", 1e-3)
    trial = Trial(OBJECTIVES[0], workers=2, native=True)
    config = replace(trial.setup.config, one_at_a_time=True)
    regime = Asynchronous().make(trial.setup._replace(config=config), trial.workers)
    regime._relay = turns = Turns(trial.workers)
    regime.load(trial.arrays)
    reports = []
    regime.train_epoch(tasks(units), reports.append)
    assert sorted(report.unit.index for report in reports) == list(range(len(units)))
    assert len(turns.jobs) > 1 and sum(turns.jobs) == len(units)
    assert regime.traffic.repeated == 0
    assert_equal(trial.exported(regime), trial.by_hand(units))
    regime.close()
