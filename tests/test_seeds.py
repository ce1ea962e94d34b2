"""Seeds that NumPy takes, None among them."""

import json

import numpy as np
import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec


def trained(**options):
    return TFWord2Vec(
        common_texts, min_count=1, vector_size=4, workers=1, sample=0, epochs=1, **options
    )


def going_on(seed):
    """The output rows of a model that is given a seed after it was built, and trained."""
    model = TFWord2Vec(min_count=1, vector_size=4, workers=1, sample=0)
    model.build_vocab(common_texts)
    model.seed = seed
    model.train(common_texts, total_examples=9, epochs=1)
    return model.syn1neg


def test_without_a_seed_each_training_is_another():
    first, second = trained(seed=None), trained(seed=None)
    assert first.seed is None
    assert (first.wv.vectors != second.wv.vectors).all()
    assert (going_on(None) != going_on(None)).any()


@pytest.mark.parametrize(
    ("seed", "same"),
    [(np.int64(7), 7), (np.uint32(7), 7), (True, 1), (np.array([3, 4]), [3, 4]), ((3, 4), [3, 4])],
    ids=repr,
)
def test_seeds_that_are_equal(seed, same):
    np.testing.assert_array_equal(trained(seed=seed).wv.vectors, trained(seed=same).wv.vectors)
    np.testing.assert_array_equal(going_on(seed), going_on(same))


@pytest.mark.parametrize("seed", [-5, 2**32, 2**100])
def test_seeds_that_were_set_later_may_be_any_whole_number(seed):
    np.testing.assert_array_equal(going_on(seed), going_on(seed))
    assert (going_on(seed) != going_on(1)).any()


@pytest.mark.parametrize("options", [{}, {"regime": "submodels:models=2"}], ids=["one", "two"])
@pytest.mark.parametrize("seed", [None, np.int64(3)], ids=repr)
def test_checkpoints_go_on(tmp_path, seed, options):
    options = options | {"sample": np.float64(0), "ns_exponent": np.float32(0.5)}
    folder = tmp_path / "checkpoints"
    options |= {"checkpoint_dir": folder, "seed": seed, "epochs": np.int64(1)}
    first = TFWord2Vec(common_texts, min_count=1, vector_size=4, **options)
    again = TFWord2Vec(common_texts, min_count=1, vector_size=4, **options)
    np.testing.assert_array_equal(first.wv.vectors, again.wv.vectors)  # of the checkpoint
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())


def test_arrays_in_files(tmp_path):
    first, second = (
        trained(seed=None, tables_dir=tmp_path / name).wv.vectors for name in ("a", "b")
    )
    assert (first != second).all()


def test_the_loss_of_a_text_stays_without_a_seed():
    model = trained(seed=None)
    assert model.held_out_loss(common_texts) == model.held_out_loss(common_texts)
