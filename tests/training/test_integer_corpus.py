"""Models of arrays of integers are the models of the same lists of ints."""

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.corpus.scanner import library

ARRAY = (np.random.default_rng(3).zipf(1.3, (400, 20)) % 97 - 20).astype(np.int32)
LISTS = ARRAY.tolist()
OPTIONS = {"vector_size": 8, "epochs": 2, "workers": 1, "seed": 5}


def assert_equal(model, expected):
    assert model.wv.index_to_key == expected.wv.index_to_key
    assert model.wv.key_to_index == expected.wv.key_to_index
    assert {*map(type, model.wv.index_to_key)} == {*map(type, model.wv.key_to_index)} == {int}
    np.testing.assert_array_equal(model.wv.expandos["count"], expected.wv.expandos["count"])
    assert model.corpus_count == expected.corpus_count
    assert model.corpus_total_words == expected.corpus_total_words


def keep_even(word, count, min_count):
    from gensim import utils

    return utils.RULE_DISCARD if word % 2 else utils.RULE_DEFAULT


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_count": 1, "sample": 0, "sg": 1},
        {"max_final_vocab": 30},
        {"trim_rule": keep_even},
        {"sorted_vocab": 0},
        {"max_vocab_size": 40},
        {"hashfxn": hash},
        {"deterministic": True},
    ],
    ids=lambda options: "-".join(options) or "default",
)
def test_array_trains_the_model_of_lists_of_ints(options):
    model = TFWord2Vec(ARRAY, **OPTIONS, **options)
    options.pop("deterministic", None)
    assert_equal(model, Word2Vec(LISTS, **OPTIONS, **options))
    if library() is not None:
        expected = TFWord2Vec(LISTS, **OPTIONS, **options, deterministic=model.deterministic)
        np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)
    key = model.wv.index_to_key[0]
    assert model.wv.most_similar(key, topn=3) == model.wv.most_similar(np.int16(key), topn=3)


def test_vocabulary_and_training_are_continued_with_arrays():
    models = []
    for corpus in ARRAY, LISTS:
        model = TFWord2Vec(**OPTIONS)
        more = corpus + 70 if corpus is ARRAY else (ARRAY + 70).tolist()
        model.build_vocab(corpus)
        model.train(corpus, total_examples=model.corpus_count, epochs=2)
        model.build_vocab(more, update=True)
        model.train(more, total_examples=model.corpus_count, epochs=1)
        model.partial_fit(more, None, 1)
        models.append(model)
    model, expected = models
    assert len(model.wv) > len(np.unique(ARRAY))
    assert_equal(model, expected)
    np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)
    assert model.held_out_loss(ARRAY) == expected.held_out_loss(LISTS) > 0


def test_model_with_keys_of_numpy_is_trained_with_arrays_and_lists():
    model = Word2Vec(**OPTIONS, min_count=1)
    model.build_vocab([list(row) for row in ARRAY])  # gensim keeps the objects
    assert {*map(type, model.wv.index_to_key)} == {np.int32}
    model = TFWord2Vec.take_over(model)
    for corpus in ARRAY, LISTS:
        trained, raw = model.train(corpus, total_examples=400, epochs=1)
        assert raw == ARRAY.size and trained > 0


def test_documents_have_arrays_as_words():
    models = []
    for rows in ARRAY, LISTS:
        documents = [TaggedDocument(words, [tag]) for tag, words in enumerate(rows)]
        models.append(TFDoc2Vec(documents, **OPTIONS))
    assert_equal(*models)
    np.testing.assert_array_equal(models[0].dv.vectors, models[1].dv.vectors)


def test_fasttext_has_the_n_grams_of_integers_that_gensim_has():
    model = TFFastText(ARRAY, bucket=100, **OPTIONS)
    expected = FastText(LISTS, bucket=100, **OPTIONS)
    assert_equal(model, expected)
    for buckets, of_gensim in zip(model.wv.buckets_word, expected.wv.buckets_word, strict=True):
        np.testing.assert_array_equal(buckets, of_gensim)


def test_iterator_of_arrays_trains_several_epochs():
    model = TFWord2Vec(iter(list(ARRAY)), **OPTIONS)
    assert_equal(model, TFWord2Vec(LISTS, **OPTIONS))


def test_training_resumes_with_an_equal_array(tmp_path):
    class Stop(Exception):
        """Raised after the first epoch."""

    class Stopper(CallbackAny2Vec):
        def on_epoch_end(self, model):
            raise Stop

    options = OPTIONS | {"epochs": 3, "checkpoint_dir": str(tmp_path / "kept")}
    with pytest.raises(Stop):
        TFWord2Vec(ARRAY, callbacks=[Stopper()], **options)
    resumed = TFWord2Vec(ARRAY.astype(np.int64), **options)
    assert resumed._state.restored_words == ARRAY.size
    whole = TFWord2Vec(LISTS, **OPTIONS | {"epochs": 3})
    np.testing.assert_array_equal(resumed.wv.vectors, whole.wv.vectors)


def test_cluster_trains_on_an_array():
    model = TFWord2Vec(ARRAY, **OPTIONS, cluster="local:ps=1,worker=2")
    assert_equal(model, Word2Vec(LISTS, **OPTIONS))
    assert np.isfinite(model.wv.vectors).all()


class CountedJobs(TFWord2Vec):
    """Model that gensim's code trains, because of the method that it overrides."""

    jobs = 0

    def _do_train_job(self, *job):
        self.jobs += 1
        return super()._do_train_job(*job)


@pytest.mark.parametrize(
    "corpus",
    [ARRAY, list(ARRAY), (ARRAY.ravel(), np.arange(0, ARRAY.size + 1, 20)), LISTS],
    ids=["array", "rows", "ragged", "lists"],
)
def test_gensims_code_trains_and_scores_lists_of_ints(corpus):
    model = CountedJobs(corpus, max_vocab_size=60, **OPTIONS)
    assert model.jobs > 0
    assert_equal(model, Word2Vec(LISTS, max_vocab_size=60, **OPTIONS))


def test_array_is_scored_as_lists():
    model = TFWord2Vec(LISTS, hs=1, negative=0, **OPTIONS)
    np.testing.assert_array_equal(
        model.score(ARRAY, total_sentences=400), model.score(LISTS, total_sentences=400)
    )
