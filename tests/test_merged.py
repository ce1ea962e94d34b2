"""`merge_models`: separately trained models become one, which gensim and TFWord2Vec can train."""

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

import gensim_tfw2v
from gensim_tfw2v import TFWord2Vec, merge_models
from gensim_tfw2v.files.mapped import is_mapped
from gensim_tfw2v.merging import METHODS
from tests.merging.test_merging import assert_rotated

TEXTS = list(LineSentence(datapath("lee_background.cor")))
methods = pytest.mark.parametrize("method", METHODS)


def trained(texts, **options):
    return Word2Vec(texts, **{"vector_size": 10, "workers": 1, "epochs": 2, "sg": 1} | options)


@pytest.fixture(scope="module")
def halves():
    return [trained(TEXTS[:200]), trained(TEXTS[100:], seed=2)]


def counts(model):
    return {word: int(model.wv.get_vecattr(word, "count")) for word in model.wv.index_to_key}


def test_merge_models_is_a_public_name():
    assert "merge_models" in dir(gensim_tfw2v)


@methods
def test_merged_model_can_be_trained_further(halves, method, tmp_path):
    merged = merge_models(halves, method)
    assert type(merged) is TFWord2Vec
    size = 20 if method == "concat" else 10
    assert merged.wv.vectors.shape == merged.syn1neg.shape == (len(merged.wv), size)
    assert merged.sg == 1 and merged.vector_size == size
    before = merged.wv.vectors.copy()
    merged.train(TEXTS, total_examples=len(TEXTS), epochs=1)
    assert np.isfinite(merged.wv.vectors).all() and (merged.wv.vectors != before).any()
    merged.to_gensim().save(str(tmp_path / "model"))
    loaded = Word2Vec.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.wv.vectors, merged.wv.vectors)
    loaded.train(TEXTS, total_examples=len(TEXTS), epochs=1)
    merged.build_vocab([["unheard"] * 5], update=True)
    assert "unheard" in merged.wv


@methods
def test_merged_counts_are_summed_and_sorted(halves, method):
    merged = merge_models(halves, method)
    summed = {word: 0 for half in halves for word in half.wv.index_to_key}
    for half in halves:
        for word, count in counts(half).items():
            summed[word] += count
    assert counts(merged) == summed
    assert list(summed := counts(merged).values()) == sorted(summed, reverse=True)
    report = merged.merge_report
    both = set(halves[0].wv.index_to_key) & set(halves[1].wv.index_to_key)
    assert report.words == (0, len(summed) - len(both), len(both))
    assert not both & set(report.examples[1])


@methods
def test_single_model_is_returned_up_to_a_rotation(halves, method):
    merged = merge_models(halves[:1], method)
    assert merged.wv.index_to_key == halves[0].wv.index_to_key
    assert counts(merged) == counts(halves[0])
    np.testing.assert_array_equal(merged.cum_table, halves[0].cum_table)
    assert_rotated(merged.wv.vectors, halves[0].wv.vectors)
    np.testing.assert_allclose(
        merged.wv.vectors @ merged.syn1neg.T,
        halves[0].wv.vectors @ halves[0].syn1neg.T,
        atol=1e-4,
    )


def test_equal_vocabularies_keep_their_counts():
    models = []
    for seed, texts in enumerate((TEXTS[:150], TEXTS[150:])):
        model = Word2Vec(vector_size=10, seed=seed, workers=1)
        model.build_vocab(TEXTS)
        model.train(texts, total_examples=150, epochs=1)
        models.append(model)
    merged = merge_models(models)
    assert merged.wv.index_to_key == models[0].wv.index_to_key
    assert counts(merged) == counts(models[0])


@pytest.mark.parametrize("negative", [0, 5])
def test_nodes_are_merged_only_if_all_trees_are_equal(negative):
    """Nodes belong to a Huffman tree: those of different trees do not correspond."""
    options = {"hs": 1, "negative": negative}
    whole = trained(TEXTS, **options)
    merged = merge_models([whole, whole])
    np.testing.assert_allclose(merged.syn1, whole.syn1, atol=1e-4)
    for mine, theirs in zip(merged.wv.expandos["point"], whole.wv.expandos["point"], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    merged = merge_models([whole, trained(TEXTS[:200], **options)])
    assert not merged.syn1.any()
    assert (negative == 0) or merged.syn1neg.any()
    merged.train(TEXTS[:50], total_examples=50, epochs=1)


@methods
def test_keyed_vectors_are_merged_without_output_layers(halves, method, tmp_path):
    halves[0].wv.save_word2vec_format(str(tmp_path / "vectors.txt"))
    bare = KeyedVectors.load_word2vec_format(str(tmp_path / "vectors.txt"))
    for given in ([half.wv for half in halves], [halves[0], halves[1].wv], [bare, halves[1].wv]):
        merged = merge_models(given, method)
        assert merged.sg == getattr(given[0], "sg", 0)
        assert not merged.syn1neg.any()
        assert len(merged.wv) == len(merge_models(halves, method).wv)
        merged.train(TEXTS[:50], total_examples=50, epochs=1)
    summed = counts(merge_models([half.wv for half in halves], method))
    assert summed == counts(merge_models(halves, method))
    # counts from the order of the words, because one of the two has none
    assert merged.wv.index_to_key[0] == "the"
    assert merged.wv.get_vecattr("the", "count") == len(halves[0].wv) + len(halves[1].wv)


def test_counts_that_happen_to_be_a_numbering_are_counts():
    """gensim numbers words of files without counts V, ..., 1. A text may have these counts, too."""
    texts = [["a"] * 3, ["b"] * 2, ["c"]] * 3
    models = [trained(texts[:3], min_count=1), trained(texts, min_count=1)]
    assert list(counts(models[0]).values()) == [3, 2, 1]
    for given in (models, [model.wv for model in models]):
        assert counts(merge_models(given, "concat")) == {"a": 12, "b": 8, "c": 4}
    assert counts(TFWord2Vec.from_vectors(models[0].wv)) == {"a": 3, "b": 2, "c": 1}


def test_null_words_are_merged_as_any_word():
    models = [trained(TEXTS[:20], null_word=n, hs=1) for n in (1, 0)]
    merged = merge_models(models, "concat")
    assert merged.null_word == 1 and merged.wv.get_vecattr("\0", "count") == 1
    merged.build_vocab([["unheard"] * 5], update=True)
    assert merged.wv.index_to_key.count("\0") == 1


def test_merging_leaves_the_inputs_unchanged(halves):
    before = [half.wv.vectors.copy() for half in halves]
    merged = merge_models(halves[:1], "concat")
    merged.train(TEXTS[:50], total_examples=50, epochs=1)
    np.testing.assert_array_equal(halves[0].wv.vectors, before[0])


@methods
def test_memory_mapped_models_are_merged(halves, method, tmp_path):
    mapped = []
    for number, half in enumerate(halves):
        half.save(str(tmp_path / str(number)), sep_limit=0)
        mapped.append(Word2Vec.load(str(tmp_path / str(number)), mmap="r"))
    assert isinstance(mapped[0].syn1neg, np.memmap)
    merged, expected = merge_models(mapped, method), merge_models(halves, method)
    np.testing.assert_array_equal(merged.wv.vectors, expected.wv.vectors)
    assert merged.wv.vectors.flags.writeable and merged.syn1neg.flags.writeable
    assert is_mapped(merged.wv.vectors) and is_mapped(merged.syn1neg) and merged.tables_dir is None
    assert not is_mapped(merge_models([mapped[0], halves[1]], method).wv.vectors)
    for model in (merged, expected):  # the temporary files have no names any more
        model.workers, model.seed = 1, 1
        model.train(TEXTS[:20], total_examples=20, epochs=1)
    np.testing.assert_array_equal(merged.wv.vectors, expected.wv.vectors)


@pytest.fixture(scope="module")
def whole_and_halves():
    options = {"vector_size": 20, "epochs": 20, "min_count": 10}
    return [
        trained(TEXTS, **options),
        *(trained(TEXTS[n::2], seed=n + 2, **options) for n in range(2)),
    ]


@methods
def test_merged_vectors_agree_with_a_model_of_the_whole_text(whole_and_halves, method):
    """Similarities of frequent words match a single model's no worse than a sub-model's do."""
    single, *halves = whole_and_halves
    merged = merge_models(halves, method)
    words = [w for w in halves[0].wv.index_to_key if w in halves[1].wv][20:200]
    pairs = np.triu_indices(len(words), 1)

    def similarities(model):
        rows = model.wv.vectors_for_all(words).get_normed_vectors()
        return (rows @ rows.T)[pairs]

    def agreement(model):
        return np.corrcoef(similarities(model), similarities(single))[0, 1]

    assert agreement(merged) > max(map(agreement, halves)) - 0.02
    assert agreement(merged) > 0.5


@pytest.mark.parametrize("given", [["text"], [None]], ids=str)
def test_non_model_arguments_raise(given):
    with pytest.raises(TypeError, match="model 0 is a .*: pass Word2Vec models"):
        merge_models(given)


def test_no_models_raise():
    with pytest.raises(ValueError, match="no sub-models"):
        merge_models([])
