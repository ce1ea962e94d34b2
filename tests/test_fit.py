"""The costs that plans assume are those of the committed results."""

import pytest

from benchmarks.fit import fit
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
