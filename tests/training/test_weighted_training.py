"""Training on sentences with weights, which equals that on repeated sentences."""

import numpy as np
import pytest
from gensim.models import Word2Vec
from scipy import stats

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec, WeightedSentences
from gensim_tfw2v.corpus.encoded_corpus import WorkUnit
from gensim_tfw2v.training.checkpoints import CheckpointError

OPTIONS = {"vector_size": 12, "min_count": 2, "epochs": 3, "workers": 1, "seed": 3}


@pytest.fixture(autouse=True)
def short_units(monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 1024)


def make_pairs(n=300, integers=False):
    """Return sentences whose words are near each other in a cycle of words, and their weights."""
    draws = np.random.default_rng(5)
    pairs = []
    for start in draws.integers(40, size=n).tolist():
        steps = np.cumsum(draws.integers(3, size=draws.integers(0, 15)))
        words = [f"w{(start + step) % 40}" for step in steps.tolist()]
        weight = draws.uniform(0, 4)
        pairs.append((words, round(weight) if integers else weight))
    return pairs


def repeat(pairs):
    return [words for words, weight in pairs for _ in range(weight)]


def assert_same(one, other):
    assert one.wv.index_to_key == other.wv.index_to_key
    np.testing.assert_array_equal(one.wv.vectors, other.wv.vectors)
    for name in "syn1", "syn1neg":
        assert (name in vars(one)) == (name in vars(other))
        if name in vars(one):
            np.testing.assert_array_equal(vars(one)[name], vars(other)[name])


@pytest.mark.parametrize(
    ("class_", "options"),
    [
        (TFWord2Vec, {"sg": 1}),
        (TFWord2Vec, {"sg": 1, "sample": 0.01, "hs": 1}),
        (TFWord2Vec, {"deterministic": True, "workers": 2}),
        (TFFastText, {"bucket": 300}),
        (TFWord2Vec, {"regime": "submodels", "sg": 1}),
    ],
)
def test_integer_weights_train_the_bits_of_repeated_sentences(class_, options):
    pairs = make_pairs(integers=True)
    weighted = class_(WeightedSentences(pairs), **OPTIONS | options)
    plain = class_(repeat(pairs), **OPTIONS | options)
    assert_same(weighted, plain)
    for name in "corpus_count", "corpus_total_words", "min_alpha_yet_reached":
        assert getattr(weighted, name) == getattr(plain, name)
    counts = [model.wv.expandos["count"].tolist() for model in (weighted, plain)]
    assert counts[0] == counts[1]


def test_sentences_are_read_as_often_as_their_weights_on_average(monkeypatch):
    pairs = [([f"w{index}", f"x{index}"], weight) for index, weight in enumerate((0.25, 1, 2.5, 7))]
    pairs *= 500
    pieces = []
    read = WorkUnit.read
    monkeypatch.setattr(
        WorkUnit, "read", lambda *args: pieces.append(read(*args).copy()) or pieces[-1]
    )
    n_epochs = 4
    model = TFWord2Vec(
        WeightedSentences(pairs), vector_size=4, min_count=1, workers=1, epochs=n_epochs, sample=0
    )
    n_copies = np.bincount(np.concatenate(pieces) + 1)[1:]
    for index, (_, weight) in enumerate(pairs[:4]):
        word = model.wv.key_to_index[f"w{index}"]
        assert model.wv.get_vecattr(f"w{index}", "count") == weight * 500
        assert n_copies[word] == n_copies[model.wv.key_to_index[f"x{index}"]]
        n_draws = n_epochs * 500
        n_extra = int(n_copies[word] - int(weight) * n_draws)
        assert stats.binomtest(n_extra, n_draws, weight - int(weight)).pvalue > 1e-3
    assert model.corpus_count == 10.75 * 500 and model.corpus_total_words == 2 * 10.75 * 500


def test_each_training_has_new_draws(monkeypatch):
    source = WeightedSentences(make_pairs())
    model = TFWord2Vec(source, **OPTIONS)
    pieces = []
    read = WorkUnit.read
    monkeypatch.setattr(WorkUnit, "read", lambda *args: pieces.append(read(*args)) or pieces[-1])
    entries = []
    for _ in range(2):
        model.train(source, total_examples=model.corpus_count, epochs=1)
        entries.append(np.concatenate(pieces))
        pieces.clear()
    assert len(entries[0]) != len(entries[1])
    assert abs(len(entries[0]) - len(entries[1])) < 0.1 * len(entries[0])


class Interrupt:
    """Callback that stops training at the start of its second epoch."""

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_end(self, model): ...

    def on_epoch_begin(self, model):
        if model._state.training is not None and model._state.training.position.epoch == 1:
            raise KeyboardInterrupt


def test_interrupted_training_resumes_with_the_same_draws(tmp_path):
    pairs = make_pairs()
    whole = TFWord2Vec(WeightedSentences(pairs), **OPTIONS)
    kept = {"checkpoint_dir": tmp_path / "checkpoints"}
    with pytest.raises(KeyboardInterrupt):
        TFWord2Vec(WeightedSentences(pairs), **OPTIONS, **kept, callbacks=[Interrupt()])
    resumed = TFWord2Vec(WeightedSentences(pairs), **OPTIONS, **kept)
    assert_same(resumed, whole)


def test_checkpoint_of_different_weights_is_refused(tmp_path):
    pairs = make_pairs()
    kept = {"checkpoint_dir": tmp_path / "checkpoints"}
    TFWord2Vec(WeightedSentences(pairs), **OPTIONS, **kept)
    pairs[7] = pairs[7][0], pairs[7][1] + 1e-3
    with pytest.raises(CheckpointError):
        TFWord2Vec(WeightedSentences(pairs), **OPTIONS, **kept)


def test_deterministic_training_has_the_same_bits_with_any_workers():
    pairs = make_pairs(1000)
    options = OPTIONS | {"deterministic": True}
    one = TFWord2Vec(WeightedSentences(pairs), **options)
    for workers in 2, 3:
        other = TFWord2Vec(WeightedSentences(pairs), **options | {"workers": workers})
        assert_same(one, other)


def test_words_of_weight_below_min_count_are_dropped():
    pairs = [(["a", "b"], 4), (["b", "c"], 0.3), (["c", "d"], 0.3), (["a", "b"], 0)]
    model = TFWord2Vec(WeightedSentences(pairs), vector_size=4, min_count=1, workers=1)
    assert {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key} == {
        "b": 4,
        "a": 4,
        "c": 1,
    }


def test_units_without_entries_are_trained():
    pairs = [(["a", "b"], 0.02) for _ in range(3000)]
    model = TFWord2Vec(WeightedSentences(pairs), vector_size=4, min_count=1, epochs=2, workers=2)
    assert model.wv.get_vecattr("a", "count") == 60 and np.isfinite(model.wv.vectors).all()


def test_held_out_loss_is_the_mean_over_repetitions():
    pairs = make_pairs(integers=True)
    model = TFWord2Vec(repeat(pairs), **OPTIONS)
    assert model.held_out_loss(WeightedSentences(pairs)) == model.held_out_loss(repeat(pairs))


def test_gensim_trains_on_repeated_sentences():
    pairs = make_pairs(integers=True)
    options = {"vector_size": 8, "min_count": 1, "workers": 1, "seed": 1}
    weighted = Word2Vec(WeightedSentences(pairs), **options)
    plain = Word2Vec(repeat(pairs), **options)
    np.testing.assert_array_equal(weighted.wv.vectors, plain.wv.vectors)
    # gensim itself counts the words, because it prunes while it counts
    pruned = TFWord2Vec(WeightedSentences(pairs), **options, max_vocab_size=1000)
    assert pruned.corpus_total_words == plain.corpus_total_words
    fractions = Word2Vec(WeightedSentences(make_pairs()), **options)
    expected = sum(len(words) * weight for words, weight in make_pairs())
    assert abs(fractions.corpus_total_words - expected) < 0.1 * expected


def test_documents_with_weights_are_refused():
    with pytest.raises(TypeError, match="WeightedSentences are no documents"):
        TFDoc2Vec(WeightedSentences(make_pairs()), vector_size=8)
