"""Seeds of every kind that NumPy accepts, including None."""

import json

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFWord2Vec
from gensim_tfw2v.training.untrained import random_vectors_reason


def trained(**options):
    return TFWord2Vec(
        common_texts, min_count=1, vector_size=4, workers=1, sample=0, epochs=1, **options
    )


def seeded_later(seed):
    """Output rows of a model whose seed is set after its vocabulary is built."""
    model = TFWord2Vec(min_count=1, vector_size=4, workers=1, sample=0)
    model.build_vocab(common_texts)
    model.seed = seed
    model.train(common_texts, total_examples=9, epochs=1)
    return model.syn1neg


def test_seed_none_gives_different_vectors_each_time():
    first, second = trained(seed=None), trained(seed=None)
    assert first.seed is None
    assert (first.wv.vectors != second.wv.vectors).all()
    assert (seeded_later(None) != seeded_later(None)).any()


@pytest.mark.parametrize(
    ("seed", "same"),
    [(np.int64(7), 7), (np.uint32(7), 7), (True, 1), (np.array([3, 4]), [3, 4]), ((3, 4), [3, 4])],
    ids=repr,
)
def test_equal_seeds_give_equal_vectors(seed, same):
    np.testing.assert_array_equal(trained(seed=seed).wv.vectors, trained(seed=same).wv.vectors)
    np.testing.assert_array_equal(seeded_later(seed), seeded_later(same))


@pytest.mark.parametrize("seed", [-5, 2**32, 2**100])
def test_seed_set_later_may_be_any_integer(seed):
    np.testing.assert_array_equal(seeded_later(seed), seeded_later(seed))
    assert (seeded_later(seed) != seeded_later(1)).any()


@pytest.mark.parametrize(
    "options", [{}, {"regime": "submodels:models=2"}], ids=["one model", "sub-models"]
)
@pytest.mark.parametrize("seed", [None, np.int64(3)], ids=repr)
def test_checkpoints_accept_numpy_seeds_and_none(tmp_path, seed, options):
    options = options | {"sample": np.float64(0), "ns_exponent": np.float32(0.5)}
    folder = tmp_path / "checkpoints"
    options |= {"checkpoint_dir": folder, "seed": seed, "epochs": np.int64(1)}
    first = TFWord2Vec(common_texts, min_count=1, vector_size=4, **options)
    again = TFWord2Vec(common_texts, min_count=1, vector_size=4, **options)
    np.testing.assert_array_equal(first.wv.vectors, again.wv.vectors)  # loaded from the checkpoint
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())


def test_seed_none_with_tables_dir_gives_different_vectors(tmp_path):
    first, second = (
        trained(seed=None, tables_dir=tmp_path / name).wv.vectors for name in ("a", "b")
    )
    assert (first != second).all()


def test_held_out_loss_is_reproducible_with_seed_none():
    model = trained(seed=None)
    assert model.held_out_loss(common_texts) == model.held_out_loss(common_texts)


@pytest.mark.parametrize("seed", [None, (3, 4), np.array([3, 4])], ids=repr)
def test_seeds_of_doc2vec_may_be_none_or_sequences(seed):
    documents = [TaggedDocument(text, [index]) for index, text in enumerate(common_texts)]
    model = TFDoc2Vec(vector_size=4, min_count=1, seed=seed)
    model.build_vocab(documents)
    is_known = seed is not None
    for has_tags in False, True:
        assert bool(random_vectors_reason(model, has_tags)) == is_known
    model.train(documents, total_examples=9, epochs=1)
    assert np.isfinite(model.dv.vectors).all()
