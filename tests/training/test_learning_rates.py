"""Learning rates of an epoch, beside those of gensim's batches."""

import numpy as np
import pytest
from gensim.models import Word2Vec

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.kernel.tables import UnitTask

SENTENCES = [["word", "other", "third"] * 7] * 1000  # 21,000 words
LOOP = (0.025, 0.017, 0.009)


def train_in_loop(class_, batch_words, totals, monkeypatch):
    """Train with falling rates; return each call's mean and last rate, as stored and as used."""
    model = class_(vector_size=4, workers=1, batch_words=batch_words)
    model.build_vocab(SENTENCES)
    asked, trained = [], []
    rate_at = model._get_next_alpha

    def recorded_rate(progress, epoch):
        asked.append((progress, float(rate_at(progress, epoch))))
        return asked[-1][1]

    def recorded_task(unit, epoch, key, alphas):
        trained.append((unit.raw_words, *alphas))
        return UnitTask(unit, epoch, key, alphas)

    model._get_next_alpha = recorded_rate
    monkeypatch.setattr("gensim_tfw2v.training.epoch.UnitTask", recorded_task)
    results = []
    for alpha in LOOP:
        asked.clear()
        trained.clear()
        model.train(SENTENCES, epochs=1, start_alpha=alpha, **totals)
        if class_ is Word2Vec:
            progress, rates = np.array(asked).T
            # gensim trains each batch with the rate at its start
            end = len(SENTENCES) / totals.get("total_examples", np.inf)
            end += 21 * len(SENTENCES) / totals.get("total_words", np.inf)
            words, last = np.diff([*progress, end]), rates[-1]
        else:
            words, begin, end = np.array(trained).T
            rates, last = (begin + end) / 2, end[-1]
        mean = float(np.average(rates, weights=words))
        results.append((mean, float(last), model.min_alpha_yet_reached))
    return np.array(results)


@pytest.mark.parametrize(
    "totals",
    [
        {"total_examples": 1000},
        {"total_examples": 2000},
        {"total_examples": 600},
        {"total_words": 21_000},
        {"total_words": 50_000},
    ],
    ids=str,
)
@pytest.mark.parametrize("batch_words", [1000, 2100, 10_000])
def test_rates_of_a_loop_equal_gensims_up_to_the_size_of_its_last_batch(
    monkeypatch, batch_words, totals
):
    gensims = train_in_loop(Word2Vec, batch_words, totals, monkeypatch)
    ours = train_in_loop(TFWord2Vec, batch_words, totals, monkeypatch)
    mean, last, stored = ours.T
    np.testing.assert_array_equal(stored, last)  # the stored rate is the last one used
    np.testing.assert_allclose(mean, gensims[:, 0], rtol=0.06)
    # a last batch of all batch_words words starts at most this much earlier than a short one
    expected = 21 * totals.get("total_examples", 0) + totals.get("total_words", 0)
    fall = (np.array(LOOP) - 1e-4) * batch_words / expected
    assert (last >= gensims[:, 1] - 1e-9).all()
    assert (last <= gensims[:, 1] + fall + 1e-9).all()
    if totals == {"total_examples": 1000} and batch_words == 2100:  # all batches are full
        np.testing.assert_allclose(last, gensims[:, 1], rtol=1e-6)
