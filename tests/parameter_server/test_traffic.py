"""What is said of a cluster's work."""

import numpy as np

from gensim_tfw2v.parameter_server.traffic import Traffic


def test_printed_it_is_what_a_user_wants_to_know():
    traffic = Traffic(420, 0, 10_000, 1_000_000, 2_000_000, 0, [0, 1] * 210, np.array([3, 5, 2]))
    assert str(traffic).splitlines() == [
        "network    3.0 MB, 300 bytes per trained word",
        "workers    50% of their time training, 30% fetching rows, 20% pushing changes",
        "work units 420, 0 of them repeated",
        "staleness  0.5 concurrent updates per work unit",
    ]
    assert len(repr(traffic)) < 300


def test_what_has_not_been_counted_is_left_out():
    traffic = Traffic(units=4, repeated=2, tokens=10, corpus_bytes=50)
    assert str(traffic).splitlines() == [
        "network    50 bytes, 5 bytes per trained word",
        "work units 4, 2 of them repeated",
    ]
