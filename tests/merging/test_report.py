import numpy as np

from gensim_tfw2v.merging import Merged, SubModel, merge

WORDS = ["a", "b", "c", "d", "e"]
HELD = np.array([2, 2, 1, 0, 1])


def report_of(held, models, words=None):
    return Merged(np.zeros((len(held), 2)), {}, held, models).report(words)


def test_report_has_counts_and_examples():
    report = report_of(HELD, 2, WORDS)
    assert report.words == (1, 2, 2)
    assert (report.in_all, report.missing) == (2, 3)
    assert report.examples == {0: ("d",), 1: ("c", "e")}
    assert str(report) == (
        "words of 2 sub-models: in all: 2; in 1 of 2: 2 (c, e, …); in none: 1 (d, …)"
    )


def test_report_without_words_has_no_examples():
    report = report_of(HELD, 3)
    assert report.words == (1, 2, 2, 0) and not report.examples
    assert str(report) == "words of 3 sub-models: in all: 0; in 2 of 3: 2; in 1 of 3: 2; in none: 1"


def test_report_has_at_most_5_examples_each():
    held = np.zeros(50, int)
    assert len(report_of(held, 1, list(map(str, held))).examples[0]) == 5


def test_merge_result_reports_missing_words():
    models = [SubModel(np.array(rows), np.ones((len(rows), 2))) for rows in ([0, 1], [1, 2, 4])]
    assert merge(models, 5, "concat").report(WORDS).examples == {0: ("d",), 1: ("a", "c", "e")}
