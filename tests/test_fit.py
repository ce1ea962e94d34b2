"""The costs that plans assume are those of the committed results."""

from statistics import median

import pytest

from benchmarks import fit as module
from benchmarks.fit import fit, record, reference_speeds, results
from gensim_tfw2v.planning import WORKER_FACTOR
from gensim_tfw2v.planning.workload import CORE_NS


def test_costs_of_plans_agree_with_the_results():
    found = fit()
    for is_skipgram, (word, dimension) in CORE_NS.items():
        of_word, of_dimension = found.core_ns[is_skipgram]
        for size in (100, 300):
            time = of_word + of_dimension * size
            assert word + dimension * size == pytest.approx(time, rel=0.1)
    assert WORKER_FACTOR == pytest.approx(found.worker_factor, rel=0.1)
    assert found.link_error < 1 / 3


def test_recorded_speeds_are_those_of_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "REFERENCE", tmp_path / "speeds.json")
    record()
    study, recorded = results("speed-avx512"), reference_speeds()
    assert recorded["machine"] == study["machine"]
    speeds = [
        run["words_per_second"]
        for run in study["runs"]
        if (run["setting"], run["engine"]) == ("sg300", "TFWord2Vec corpus_file")
    ]
    assert len(speeds) == 3 and recorded["words_per_second"]["sg300"] == median(speeds)
    # costs are fitted to the recorded speeds
    expected = 1e9 * recorded["threads"] / recorded["words_per_second"]["sg300"]
    constant, per_dimension = fit().core_ns[True]
    assert constant + 300 * per_dimension > expected  # subsampling skips some words
