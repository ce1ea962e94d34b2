"""Vocabularies, reports, events and logs equal those of gensim's `prepare_vocab`."""

import collections
import logging

import numpy as np
import pytest
from gensim.models import Word2Vec
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.corpus.raw_vocabulary import RawVocabulary
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from gensim_tfw2v.keys.string_keys import StringKeys
from gensim_tfw2v.training import vocabulary_preparation


def compact(counts):
    """Return counts without an object per word."""
    return RawVocabulary(StringKeys.from_strings(counts), np.array([*counts.values()], np.int64))


#: Kinds of raw vocabularies, with functions that make them of dicts.
KINDS = {"dict": dict, "counter": collections.Counter}
if view_types.IS_SUPPORTED:
    KINDS["compact"] = compact


def prepare(model, raw_vocab, arguments):
    """Prepare a vocabulary; return the report, the model's events and what was logged."""
    model.raw_vocab = raw_vocab
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        report = model.prepare_vocab(**arguments)
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
    # the first events differ: a model of a different class was created
    events = [event["msg"] for event in model.lifecycle_events if "msg" in event]
    logged = [text for text in messages if "lifecycle event" not in text]
    return report, events, logged


def new_models(options, make=dict):
    """Return a model of gensim and ours, each with a function that makes its raw vocabulary."""
    return [(Word2Vec(**options), dict), (TFWord2Vec(**options), make)]


def assert_equal_vocabularies(counts, models, arguments):
    """Prepare the vocabularies of a model of gensim and of ours, and compare them."""
    (model, _), (mine, make) = models
    report, events, logged = prepare(model, dict(counts), arguments)
    my_report, my_events, my_logged = prepare(mine, make(counts), arguments)
    assert my_report == report
    assert {name: type(value) for name, value in my_report.items()} == {
        name: type(value) for name, value in report.items()
    }
    assert my_events == events
    assert my_logged == logged
    assert mine.wv.index_to_key == model.wv.index_to_key
    assert list(mine.wv.key_to_index.items()) == list(model.wv.key_to_index.items())
    assert mine.wv.expandos.keys() == model.wv.expandos.keys()
    for name in {"count", "sample_int"} & model.wv.expandos.keys():
        np.testing.assert_array_equal(mine.wv.expandos[name], model.wv.expandos[name], strict=True)
    for name in ("min_count", "sample", "effective_min_count"):
        assert getattr(mine, name) == getattr(model, name)
    assert (mine.raw_vocab == model.raw_vocab) and mine.raw_vocab == (
        counts if arguments.get("keep_raw_vocab") or arguments.get("dry_run") else {}
    )
    if model.negative:
        np.testing.assert_array_equal(mine.cum_table, model.cum_table, strict=True)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
@given(
    counts=st.dictionaries(
        st.text(max_size=3), st.one_of(st.integers(1, 20), st.integers(1, 10**9)), min_size=1
    ),
    options=st.fixed_dictionaries(
        {"min_count": st.integers(0, 6), "sample": st.sampled_from([0, 1e-3, 0.1, 1, 3, 5.5])},
        optional={
            "max_final_vocab": st.integers(1, 8),
            "sorted_vocab": st.sampled_from([0, 1]),
            "null_word": st.just(1),
            "negative": st.just(0),
            "hs": st.just(1),
        },
    ),
    arguments=st.fixed_dictionaries(
        {}, optional={"keep_raw_vocab": st.just(True), "min_count": st.integers(1, 3)}
    ),
)
def test_random_counts_give_the_vocabulary_of_gensim(make, counts, options, arguments):
    is_empty = max(counts.values()) < max(options["min_count"], arguments.get("min_count", 0))
    if is_empty or options.get("max_final_vocab", 99) < len(counts):
        options = options | {"negative": 0, "hs": 0}  # gensim refuses an empty vocabulary
    if "\0" in counts:
        options = options | {"null_word": 0}  # gensim would add it twice
    assert_equal_vocabularies(counts, new_models(options, make), arguments)


def test_vocabulary_of_many_words_is_summed_in_the_order_of_gensim(monkeypatch):
    monkeypatch.setattr(vocabulary_preparation, "WORDS_AT_A_TIME", 7)
    ranks = np.arange(1, 3000)
    counts = {f"word {rank}": int(1e6 / rank**1.1) for rank in ranks}
    for sample in (1e-3, 1e-5, 0.3, 0, 1234.5):
        models = new_models({"sample": sample, "min_count": 150})
        assert_equal_vocabularies(counts, models, {})


def test_dry_run_changes_no_words():
    counts = {"a": 5, "b": 1, "c": 2}
    arguments = {"dry_run": True, "min_count": 2, "sample": 0.1}
    models = new_models({"negative": 0, "hs": 0})
    assert_equal_vocabularies(counts, models, arguments)
    assert len(models[1][0].wv) == 0


@pytest.mark.parametrize(
    "counts",
    [{"a": 2**60, "b": 2**60}, {"a": 2**62, "b": 2**62}, {"a": 2**70}, {"a": 2.5, "b": 1.5}],
    ids=["inexact", "sum too large", "too large", "floats"],
)
def test_unusual_counts_give_what_gensim_gives(counts):
    """Compare results, or the types of errors."""
    results = []
    for kind in (Word2Vec, TFWord2Vec):
        try:
            model = kind(min_count=1)
            report, events, _ = prepare(model, dict(counts), {})
        except Exception as error:
            results.append(type(error))
        else:
            arrays = [model.wv.expandos[name].tolist() for name in ("count", "sample_int")]
            results.append([report, events, arrays, model.wv.index_to_key])
    assert results[0] == results[1]


def test_count_of_zero_is_an_error_as_in_gensim():
    for kind in (Word2Vec, TFWord2Vec):
        with pytest.raises(ZeroDivisionError):
            prepare(kind(min_count=0), {"a": 0, "b": 1}, {"min_count": -1})


def test_trim_rule_is_called_for_each_word():
    counts = {"a": 5, "b": 1, "c": 2}
    rule = lambda word, count, min_count: 2 if word == "b" else 1  # noqa: E731  keep b only
    models = new_models({"min_count": 2})
    assert_equal_vocabularies(counts, models, {"trim_rule": rule})
    assert models[1][0].wv.index_to_key == ["b"]


def test_vocabulary_is_built_twice_as_by_gensim():
    """Attributes of the first vocabulary are replaced."""
    models = []
    for kind in (Word2Vec, TFWord2Vec):
        model = kind(min_count=1, negative=0, hs=1)
        for counts in ({"a": 3, "b": 4}, {"c": 1, "a": 9, "d": 9}):
            model.raw_vocab = counts
            model.prepare_vocab()
        models.append(model)
    assert models[0].wv.index_to_key == models[1].wv.index_to_key
    for name in ("count", "sample_int"):
        assert (models[0].wv.expandos[name] == models[1].wv.expandos[name]).all()


@pytest.mark.usefixtures("compact_keys")
@pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")
def test_compact_counts_become_compact_keys(tmp_path):
    path = tmp_path / "text"
    path.write_text("c a b a\nb a d\n" * 3)
    for corpus in ({"corpus_file": str(path)}, {"corpus_iterable": [["c", "a", "b", "a"]] * 3}):
        for min_count in (1, 4):
            model = TFWord2Vec(min_count=min_count, vector_size=4)
            model.build_vocab(**corpus)
            expected = Word2Vec(min_count=min_count, vector_size=4)
            expected.build_vocab(**corpus)
            assert isinstance(model.wv.index_to_key, KeyList)
            assert isinstance(model.wv.key_to_index, KeyIndex)
            assert model.wv.index_to_key == expected.wv.index_to_key
            assert model.wv.key_to_index == expected.wv.key_to_index
            np.testing.assert_array_equal(model.wv.vectors, expected.wv.vectors)


@pytest.mark.usefixtures("compact_keys")
@pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys")
def test_frequencies_of_a_dict_become_compact_keys():
    model = TFWord2Vec(min_count=2, vector_size=4)
    model.build_vocab_from_freq({"a": 5, "b": 1, "c": 7})
    assert isinstance(model.wv.index_to_key, KeyList)
    assert model.wv.index_to_key == ["c", "a"]
