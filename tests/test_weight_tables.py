"""Each declared weight array is initialized, checked, saved, resumed, merged and rotated."""

import copy
import pickle

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import (
    SubModels,
    TFDoc2Vec,
    TFFastText,
    TFWord2Vec,
    align_models,
    merge_models,
    train_slice,
)
from gensim_tfw2v.kernel.native.padded_rows import RowMemory
from gensim_tfw2v.kernel.tables import Divergence, Tables
from gensim_tfw2v.options.contents import KEPT, MADE, PARTS
from gensim_tfw2v.training.model_arrays import complete_added_words
from gensim_tfw2v.training.vocabulary import Vocabulary
from gensim_tfw2v.weight_tables import ALL_CLASSES, INPUT_LAYER, OUTPUT_LAYER

DOCUMENTS = [TaggedDocument(text, [index]) for index, text in enumerate(common_texts)]
CLASSES = dict(zip(ALL_CLASSES, (TFWord2Vec, TFFastText, TFDoc2Vec), strict=True))
ARRAYS = (*INPUT_LAYER, *OUTPUT_LAYER)
EACH_ARRAY_OF_EACH_CLASS = pytest.mark.parametrize(
    ("array", "class_name"),
    [(array, class_name) for array in ARRAYS for class_name in array.class_names],
    ids=lambda value: getattr(value, "name", value),
)
EACH_OUTPUT_OF_EACH_CLASS = pytest.mark.parametrize(
    ("array", "class_name"),
    [(array, class_name) for array in OUTPUT_LAYER for class_name in array.class_names],
    ids=lambda value: getattr(value, "name", value),
)
EACH_OUTPUT = pytest.mark.parametrize("array", OUTPUT_LAYER, ids=lambda array: array.name)


def corpus_of(model):
    return DOCUMENTS if model.has_documents else common_texts


def new(class_name="Word2Vec", **options):
    """Return a model with a vocabulary and all arrays of the output layer."""
    options = {"vector_size": 10, "min_count": 1, "workers": 1, "sample": 0, "seed": 1} | options
    options = {array.option: 1 for array in OUTPUT_LAYER} | options
    if class_name == "FastText":
        options |= {"bucket": 50}
    model = CLASSES[class_name](**options)
    model.build_vocab(corpus_of(model))
    return model


def filled(class_name="Word2Vec", **options):
    """Return a model whose output layer has random rows."""
    model = new(class_name, **options)
    rng = np.random.default_rng(1)
    for array in OUTPUT_LAYER:
        rows = getattr(model, array.name)
        rows[:] = rng.normal(0, 0.1, rows.shape)
    return model


def train(model, epochs=2, **options):
    model.train(corpus_of(model), total_examples=len(common_texts), epochs=epochs, **options)


def rows_of(model, array):
    holder = getattr(model, array.holder) if array.holder else model
    return getattr(holder, array.attribute)


def set_rows(model, array, rows):
    holder = getattr(model, array.holder) if array.holder else model
    setattr(holder, array.attribute, rows)


def count_keys(model, array):
    if array.rows_of == "tags":
        return len(model.dv)
    return model.wv.bucket if array.rows_of == "buckets" else len(model.wv)


def test_declared_tables_are_those_that_regimes_train():
    assert tuple(dict.fromkeys(array.table for array in ARRAYS)) == Tables._fields
    assert len({array.name for array in ARRAYS}) == len(ARRAYS)
    assert len({array.table for array in OUTPUT_LAYER}) == len(OUTPUT_LAYER)


@EACH_ARRAY_OF_EACH_CLASS
def test_new_model_has_an_array_with_a_row_per_key(array, class_name):
    model = new(class_name)
    rows = rows_of(model, array)
    assert rows.shape == (count_keys(model, array), 10) and rows.dtype == np.float32
    assert np.any(rows) == (array in INPUT_LAYER)
    if class_name == "Word2Vec":  # kernels train it in place
        assert RowMemory.of(rows) is not None


@EACH_OUTPUT_OF_EACH_CLASS
def test_model_without_the_option_has_no_array(array, class_name):
    model = new(class_name, **{array.option: 0})
    assert not hasattr(model, array.name)
    n_rows = Vocabulary.of(model).count_rows()._asdict()
    for table in OUTPUT_LAYER:
        assert n_rows[table.table] == (len(model.wv) if table.option != array.option else 0)


@EACH_OUTPUT_OF_EACH_CLASS
def test_missing_array_is_named(array, class_name):
    model = new(class_name)
    delattr(model, array.name)
    with pytest.raises(ValueError, match=f"{array.option}=1 needs {array.name}, which"):
        train(model)


@EACH_ARRAY_OF_EACH_CLASS
def test_wrong_shape_is_named(array, class_name):
    model = new(class_name)
    set_rows(model, array, np.zeros((3, 10), np.float32))
    with pytest.raises(ValueError, match=f"{array.name} has the shape"):
        train(model)


@EACH_ARRAY_OF_EACH_CLASS
def test_rows_that_are_not_finite_are_named(array, class_name):
    model = new(class_name)
    rows_of(model, array)[2, 3] = np.nan
    with pytest.raises(ValueError, match=f"{array.name} holds 1 rows that are not finite"):
        train(model)


@EACH_ARRAY_OF_EACH_CLASS
def test_copies_and_files_have_the_array(array, class_name, tmp_path):
    model = filled(class_name)
    model.save(str(tmp_path / "model"))
    model.save_pretrained(tmp_path / "folder")
    for twin in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        type(model).load(str(tmp_path / "model")),
        type(model).from_pretrained(tmp_path / "folder"),
        model.to_gensim(),
    ):
        np.testing.assert_array_equal(rows_of(twin, array), rows_of(model, array))


def test_every_array_is_in_the_list_of_contents():
    for array in ARRAYS:
        (part,) = (part for part in PARTS if array.name in part.names)
        assert (part.copy, part.file, part.folder, part.gensim) == (KEPT,) * 4
        assert part.merged == MADE


@EACH_ARRAY_OF_EACH_CLASS
def test_resumed_training_has_the_array_of_the_checkpoint(array, class_name, tmp_path):
    model = filled(class_name)
    model.checkpoint_dir = str(tmp_path)
    train(model)
    (*_, last) = sorted(tmp_path.glob("checkpoint-*"))
    assert {path.stem for path in last.glob("*.npy")} == {*Tables._fields}
    resumed = new(class_name)  # its output layer is 0
    resumed.checkpoint_dir = str(tmp_path)
    train(resumed)
    np.testing.assert_array_equal(rows_of(resumed, array), rows_of(model, array))


@EACH_OUTPUT
@pytest.mark.parametrize("method", ["alir", "pca", "concat"])
def test_merged_model_has_the_merged_array(array, method):
    models = [filled(), filled(seed=2)]
    merged = merge_models(models, method)
    assert rows_of(merged, array).any(axis=1).sum() >= len(merged.wv) - 1
    scores = rows_of(merged, array) @ merged.wv.vectors.T
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("class_name", ["Word2Vec", "FastText"])
def test_sub_models_are_merged_into_each_array(class_name):
    model = filled(class_name, regime=SubModels(2, rate=1.0))
    arrays = [array for array in ARRAYS if class_name in array.class_names]
    before = {array.name: rows_of(model, array).copy() for array in arrays}
    train(model)
    for array in arrays:
        assert (rows_of(model, array) != before[array.name]).any(), array.name


@EACH_OUTPUT
def test_slice_has_the_rows_of_the_compass_and_keeps_them(array):
    compass = filled()
    model = train_slice(compass, common_texts)
    assert model.wv.index_to_key == compass.wv.index_to_key
    np.testing.assert_array_equal(
        rows_of(model, array)[: len(model.wv) - 1], rows_of(compass, array)[: len(model.wv) - 1]
    )


@EACH_OUTPUT
def test_aligned_model_has_a_rotated_array(array):
    models = [filled(), filled(seed=2)]
    before = rows_of(models[1], array).copy()
    after = rows_of(align_models(models)[1], array)
    assert not np.allclose(before, after)
    np.testing.assert_allclose(before @ before.T, after @ after.T, atol=1e-5)


@EACH_OUTPUT_OF_EACH_CLASS
def test_added_words_get_rows_of_zeros(array, class_name):
    model = filled(class_name)
    before = rows_of(model, array).copy()
    model.wv.add_vector("added", np.full(10, 0.1, np.float32))
    complete_added_words(model)
    np.testing.assert_array_equal(rows_of(model, array)[:-1], before)
    assert not rows_of(model, array)[-1].any()


@EACH_OUTPUT_OF_EACH_CLASS
def test_updated_vocabulary_has_rows_of_zeros_for_new_words(array, class_name):
    model = filled(class_name)
    before = rows_of(model, array).copy()
    texts = [["added"] * 3]
    model.build_vocab([TaggedDocument(*texts, [0])] if model.has_documents else texts, update=True)
    assert len(rows_of(model, array)) == len(model.wv) == len(before) + 1
    np.testing.assert_array_equal(rows_of(model, array)[: len(before)], before)


@EACH_OUTPUT_OF_EACH_CLASS
def test_array_of_a_model_that_diverged_in_place_is_removed(array, class_name):
    model = new(class_name)
    model._get_next_alpha = lambda *_: float("inf")
    with pytest.raises(Divergence) as error:
        train(model)
    assert ("are lost" in str(error.value)) == (len(rows_of(model, array)) == 0)
    assert class_name != "Word2Vec" or "are lost" in str(error.value)
