"""Held-out loss: laws that it obeys, gensim's own score, and the unchanged model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import TFWord2Vec

LEE = datapath("lee_background.cor")


def lines():
    with open(LEE, encoding="utf-8") as file:
        return [line.split() for line in file]


@pytest.mark.parametrize("sg", [0, 1])
def test_untrained_model_has_the_loss_of_random_guessing(sg):
    model = TFWord2Vec(sg=sg, negative=7, vector_size=16, workers=1)
    model.build_vocab(corpus_file=LEE)
    # a negative that equals the target is skipped
    assert model.held_out_loss(corpus_file=LEE) == pytest.approx(8 * math.log(2), rel=0.03)


def test_loss_is_the_mean_over_pairs_and_near_gensims_score():
    options = {"sg": 1, "hs": 1, "negative": 0, "vector_size": 16, "sample": 0, "workers": 1}
    model = TFWord2Vec(corpus_file=LEE, window=2, shrink_windows=False, seed=1, **options)
    held = [[word for word in line if word in model.wv][:9] for line in lines()[:20]]
    index, tree, losses = model.wv.key_to_index, model.wv.expandos, []
    for line in held:
        for at, target in enumerate(line):
            path, code = (tree[name][index[target]] for name in ("point", "code"))
            for word in line[max(0, at - 2) : at] + line[at + 1 : at + 3]:
                score = (1 - 2.0 * code) * (model.syn1[path] @ model.wv[word])
                losses.append(np.logaddexp(0, -score).sum())
    loss = model.held_out_loss(held)
    assert loss == pytest.approx(np.mean(losses), rel=1e-3)
    # gensim reads logarithms from a table of 1,000 entries
    score = model.to_gensim().score(held, total_sentences=len(held)).sum()
    assert loss == pytest.approx(-score / len(losses), rel=0.03)


@pytest.mark.parametrize("options", [{"sg": 1}, {"hs": 1, "negative": 0}], ids=["sg", "cbow-hs"])
def test_unseen_and_shuffled_texts_have_higher_losses(options):
    text = lines()
    model = TFWord2Vec(text[30:], vector_size=32, seed=1, workers=1, min_count=2, epochs=8,
                       compute_loss=True, **options)  # fmt: skip
    seen, held = model.held_out_loss(text[30:]), model.held_out_loss(text[:30])
    shuffled = np.random.default_rng(1).permutation(sum(text[:30], [])).tolist()
    mixed = model.held_out_loss([shuffled[at : at + 200] for at in range(0, len(shuffled), 200)])
    assert seen == pytest.approx(model.mean_losses[-1], rel=0.03)
    assert seen < held < mixed


def test_number_of_workers_does_not_change_the_loss(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 2048)
    model = TFWord2Vec(corpus_file=LEE, vector_size=16, epochs=1, workers=1)
    alone, model.workers = model.held_out_loss(corpus_file=LEE), 4
    assert model.held_out_loss(corpus_file=LEE) == pytest.approx(alone, rel=1e-6)


def test_held_out_loss_leaves_the_model_unchanged():
    model = TFWord2Vec(common_texts, min_count=1, sample=0, workers=1)
    model.cluster, model.log_dir = "local:ps=1,worker=1", "runs"  # neither is used
    for table in (model.wv.vectors, model.syn1neg):
        table.flags.writeable = False
    caches = ("random", "config", "option_values")  # the last two are of parsed options

    def contents():
        values = vars(model) | vars(model._state)
        del values["_state"]
        return {name: repr(value) for name, value in values.items() if name not in caches}

    before = contents()
    losses = [model.held_out_loss(common_texts) for _ in range(2)]
    assert losses[0] == losses[1]  # the same draws, and nothing was trained
    assert contents() == before


def test_callback_may_call_held_out_loss():
    asked = []

    class Ask:
        def on_train_begin(self, model): ...
        def on_train_end(self, model): ...
        def on_epoch_begin(self, model): ...
        def on_epoch_end(self, model):
            asked.append(model.held_out_loss(corpus_file=LEE))

    model = TFWord2Vec(corpus_file=LEE, vector_size=16, epochs=3, workers=1, callbacks=[Ask()])
    assert asked[0] > asked[1] > asked[2] == model.held_out_loss(corpus_file=LEE)


def test_invalid_texts_or_models_raise():
    model = TFWord2Vec(common_texts, min_count=1, sample=0, workers=1)
    with pytest.raises(ValueError, match="two words of the vocabulary"):
        model.held_out_loss([["computer"], ["unknown", "words"]])
    for given in ({}, {"corpus_iterable": common_texts, "corpus_file": LEE}):
        with pytest.raises(TypeError, match="(?i)either|both"):
            model.held_out_loss(**given)
    model.wv.vectors[0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        model.held_out_loss(common_texts)


def test_loaded_gensim_model_has_a_held_out_loss(tmp_path):
    Word2Vec(common_texts, min_count=1, sample=0, seed=1).save(str(tmp_path / "model"))
    model = TFWord2Vec.load(str(tmp_path / "model"))
    assert 0 < model.held_out_loss(common_texts) < 6 * math.log(2) + 0.01
