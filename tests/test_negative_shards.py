"""Negatives of the target's shard, in whole training runs."""

import numpy as np
import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec

#: Counts of words by rank. If there are two shards, words of odd ranks are in the second.
COUNTS = {f"w{rank}": 1000 - rank for rank in range(100)}


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize(("shards", "touched"), [(1, {0, 1}), (2, {0})])
def test_negatives_change_only_the_targets_shard(sg, shards, touched):
    model = TFWord2Vec(sg=sg, vector_size=8, min_count=1, sample=0, workers=1)
    model.negative_shards = shards
    model.build_vocab_from_freq(COUNTS)
    rng = np.random.default_rng(1)
    sentences = [[f"w{2 * rank}" for rank in rng.integers(0, 25, 20)] for _ in range(200)]
    model.train(sentences, total_examples=len(sentences), epochs=1)
    moved = np.flatnonzero(model.syn1neg.any(axis=1))
    assert set(moved % 2) == touched
    assert (moved >= 50).any()  # negatives include words that are not in the text


def test_negative_shards_are_saved_but_left_out_by_to_gensim(tmp_path):
    model = TFWord2Vec(common_texts, min_count=1)
    model.negative_shards = 2
    model.save(str(tmp_path / "model"))
    assert TFWord2Vec.load(str(tmp_path / "model")).negative_shards == 2
    assert "negative_shards" not in vars(model.to_gensim())


def test_more_shards_than_words_raise():
    model = TFWord2Vec(common_texts, min_count=1)
    model.negative_shards = 13
    with pytest.raises(ValueError, match=r"negative_shards=13 is more than the vocabulary's 12"):
        model.train(common_texts, total_examples=9, epochs=1)
    model = TFWord2Vec(common_texts, min_count=1, hs=1, negative=0)
    model.negative_shards = 13  # ignored without negative sampling
    model.train(common_texts, total_examples=9, epochs=1)


@pytest.mark.usefixtures("each_engine")
def test_sharded_negatives_learn_the_topics():
    rng = np.random.default_rng(2)
    topics = [[f"{topic}{number}" for number in range(12)] for topic in "ab"]
    sentences = [list(rng.choice(topics[number % 2], 10)) for number in range(600)]
    model = TFWord2Vec(sg=1, vector_size=16, min_count=1, workers=1)
    model.negative_shards = 4
    model.build_vocab(sentences)
    model.train(sentences, total_examples=len(sentences), epochs=5)
    near = [word for word, _ in model.wv.most_similar("a0", topn=11)]
    assert {word[0] for word in near} == {"a"}
