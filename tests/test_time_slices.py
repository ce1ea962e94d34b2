"""Models of time slices in one space, by rotation and by a compass."""

import copy
import pickle
from operator import attrgetter

import numpy as np
import pytest
from gensim import utils
from gensim.models import Doc2Vec, FastText, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts, lee_corpus_list
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from typer.testing import CliRunner

from gensim_tfw2v import (
    TFDoc2Vec,
    TFFastText,
    TFWord2Vec,
    align_models,
    merge_models,
    self_similarities,
    train_slice,
)
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.files.mapped import is_mapped
from gensim_tfw2v.keyed import keyed

TOPICS, WORDS = 16, 8

#: Words that trade places in the second slice; the remaining words are stable.
SWAPPED = {"t0w0": "t1w0", "t1w0": "t0w0"}

#: Objectives, with options that train the small slices well.
OBJECTIVES = {
    "CBOW": {"alpha": 0.05},
    "skip-gram": {"sg": 1},
    "CBOW with a tree": {"alpha": 0.05, "hs": 1, "negative": 0},
    "skip-gram with a tree": {"sg": 1, "hs": 1, "negative": 0},
    "skip-gram with both": {"sg": 1, "hs": 1},
}


def make_slice(seed, swapped=()):
    """Sentences of words of one topic each; words of topic t are equally frequent."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, TOPICS, 2000)
    drawn = rng.integers(0, WORDS, (2000, 10))
    texts = [[f"t{topic}w{word}" for word in row] for topic, row in zip(topics, drawn, strict=True)]
    return [[dict(swapped).get(word, word) for word in text] for text in texts]


SLICES = [make_slice(1), make_slice(2, SWAPPED)]


def trained(texts, class_=TFWord2Vec, **options):
    return class_(texts, **{"vector_size": 24, "workers": 1, "epochs": 5, "min_count": 1} | options)


def cosines(first, second):
    """Similarity of each word to itself, one by one."""
    found = {}
    for word in first.wv.index_to_key:
        if word in second.wv.key_to_index:
            a, b = first.wv[word], second.wv[word]
            found[word] = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    return found


def topics_near(model, word):
    return {near.split("w")[0] for near, _ in model.wv.most_similar(word, topn=5)}


def check_change_is_found(models):
    """The words that trade places have the lowest similarities, and other neighbours."""
    found = {word: matrix[0, 1] for word, matrix in self_similarities(models).items()}
    assert found == pytest.approx(cosines(*models), abs=1e-5)
    assert set(sorted(found, key=found.get)[:2]) == set(SWAPPED)
    stable = [similarity for word, similarity in found.items() if word not in SWAPPED]
    assert min(stable) > max(found[word] for word in SWAPPED) + 0.2
    for word, other in SWAPPED.items():
        assert topics_near(models[0], word) == {word[:2]}
        assert topics_near(models[1], word) == {other[:2]}
    return np.mean(stable)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_both_ways_find_the_words_that_change(objective):
    options = OBJECTIVES[objective]
    alone = [trained(texts, seed=seed, **options) for seed, texts in enumerate(SLICES, 1)]
    apart = np.mean(list(cosines(*alone).values()))
    rotated = check_change_is_found(align_models(alone))
    compass = trained(SLICES[0] + SLICES[1], **options)
    by_compass = [train_slice(compass, texts, seed=3 + i) for i, texts in enumerate(SLICES)]
    compassed = check_change_is_found(by_compass)
    assert compassed > 0.9 and rotated > 0.7 and apart < 0.3


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_outputs_are_bit_identical_to_the_compass(objective, workers, deterministic):
    compass = trained(SLICES[0][:400], workers=3, **OBJECTIVES[objective])
    before = pickle.dumps([vars(compass), compass.wv])
    options = {"workers": workers, "deterministic": deterministic, "min_count": 2}
    model = train_slice(compass, SLICES[1][:90], epochs=2, **options)
    assert pickle.dumps([vars(compass), compass.wv]) == before
    check_outputs(model, compass)
    vectors = model.wv.vectors.copy()
    model.train(SLICES[1][:90], total_examples=90, epochs=1)  # not in place
    assert (model.wv.vectors != vectors).any()
    check_outputs(model, compass)


def check_outputs(model, compass):
    """Each word has its output row, and each decision on its path a node, of the compass."""
    tree = {}
    for word in model.wv.index_to_key:
        row, of_compass = model.wv.key_to_index[word], compass.wv.key_to_index[word]
        if model.negative:
            np.testing.assert_array_equal(model.syn1neg[row], compass.syn1neg[of_compass])
        if model.hs:
            path = [
                (compass.syn1[node].tobytes(), code)
                for node, code in zip(
                    compass.wv.get_vecattr(word, "point"),
                    compass.wv.get_vecattr(word, "code"),
                    strict=True,
                )
            ]
            own = zip(
                model.wv.get_vecattr(word, "point"),
                model.wv.get_vecattr(word, "code"),
                strict=True,
            )
            own = [(model.syn1[node].tobytes(), code) for node, code in own]
            assert own == [step for step in path if step in own]  # in the same order
            tree[tuple(code for _, code in own)] = word
    if model.hs:  # a prefix code that uses every branch
        assert len(tree) == len(model.wv)
        assert sum(2.0 ** -len(code) for code in tree) == 1


def test_a_slice_counts_the_words_that_it_shares_with_the_compass():
    compass = trained(common_texts, min_count=2, ns_exponent=0.5, sample=0)
    texts = [["system", "user", "unheard"], ["system", "trees"], ["user", "system"]]
    model = train_slice(compass, texts, min_count=2)
    assert model.wv.index_to_key == ["system", "user"]
    assert [model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key] == [3, 2]
    assert (model.vector_size, model.ns_exponent, model.epochs) == (24, 0.5, 5)
    assert model.corpus_total_words == 7
    new = TFWord2Vec(vector_size=24, min_count=2)
    new.build_vocab_from_freq({"system": 3, "user": 2})
    assert not np.array_equal(model.wv.vectors, new.wv.vectors)


def test_a_saved_slice_stays_in_its_space(tmp_path):
    compass = trained(SLICES[0][:200])
    train_slice(compass, SLICES[0][:90]).save(str(tmp_path / "slice"))
    model = TFWord2Vec.load(str(tmp_path / "slice"))
    model.train(SLICES[0][:90], total_examples=90, epochs=1)
    check_outputs(model, compass)
    assert "learn_hidden" not in vars(model.to_gensim())


def same_paths(model, other, words):
    for word in words:
        for name in ("point", "code"):
            paths = [of.wv.get_vecattr(word, name) for of in (model, other)]
            np.testing.assert_array_equal(*paths)


def in_a_folder(model, folder):
    model.save_pretrained(folder / "folder")
    return TFWord2Vec.from_pretrained(folder / "folder")


def converted(model, folder):
    model.save(str(folder / "model"))
    result = CliRunner().invoke(
        app, ["convert", str(folder / "model"), str(folder / "folder"), "--to", "pretrained"]
    )
    assert result.exit_code == 0, result.output
    return TFWord2Vec.from_pretrained(folder / "folder")


def updated(model, folder):
    again = copy.deepcopy(model)
    again.build_vocab(SLICES[1][:90], update=True)
    return again


def fitted(model, folder):
    again = copy.deepcopy(model)
    again.partial_fit(SLICES[1][:90], alpha=1e-9)
    return again


@pytest.mark.parametrize("way", [in_a_folder, converted, updated, fitted])
@pytest.mark.parametrize("objective", ["skip-gram with a tree", "CBOW with a tree", "skip-gram"])
def test_a_slice_stays_in_its_space_and_keeps_its_tree(objective, way, tmp_path):
    compass = trained(SLICES[0][:400], **OBJECTIVES[objective])
    model = train_slice(compass, SLICES[1][:90], min_count=2)
    again = way(model, tmp_path)
    assert again.learn_hidden is False
    check_outputs(again, compass)
    if model.hs:
        same_paths(again, model, model.wv.index_to_key)
    text = SLICES[0][400:500]
    assert again.held_out_loss(text) == pytest.approx(model.held_out_loss(text), rel=0.01)
    again.train(SLICES[1][:90], total_examples=90, epochs=1)
    check_outputs(again, compass)


@pytest.mark.parametrize("objective", ["skip-gram with a tree", "skip-gram"])
def test_words_added_to_a_slice_are_predicted_from_but_not_predicted(objective, tmp_path):
    compass = trained(SLICES[0][:400], **OBJECTIVES[objective])
    model = train_slice(compass, SLICES[1][:300], epochs=20)
    texts = [[word if word != "t2w0" else "new" for word in text] for text in SLICES[1][:900]]
    known = list(model.wv.index_to_key)
    before = copy.deepcopy(model)
    model.partial_fit(texts, epochs=20)
    assert model.wv.index_to_key == [*known, "new"]
    assert topics_near(model, "new") == {"t2"}
    output = model.syn1 if model.hs else model.syn1neg
    if model.hs:
        same_paths(model, before, known)
        assert not len(model.wv.get_vecattr("new", "point"))
    np.testing.assert_array_equal(output[:-1], before.syn1 if model.hs else before.syn1neg)
    assert not output[-1].any()
    again = in_a_folder(model, tmp_path)
    if model.hs:
        same_paths(again, model, model.wv.index_to_key)


def test_the_tree_of_a_slice_is_not_built_anew():
    compass = trained(SLICES[0][:200], hs=1)
    model = train_slice(compass, SLICES[0][:90])
    with pytest.raises(ValueError, match="another tree would not fit them"):
        model.create_binary_tree()
    check_outputs(model, compass)


def test_a_slice_with_a_new_vocabulary_is_not_trained_in_vain():
    model = train_slice(trained(SLICES[0][:200], hs=1), SLICES[0][:90])
    model.build_vocab(SLICES[1][:90])
    with pytest.raises(ValueError, match="it is all 0, so that nothing would be learnt"):
        model.train(SLICES[1][:90], total_examples=90, epochs=1)
    model.learn_hidden = True
    model.train(SLICES[1][:90], total_examples=90, epochs=1)


def test_merged_slices_keep_their_common_tree():
    compass = trained(SLICES[0][:400], sg=1, hs=1, negative=0)
    models = [train_slice(compass, texts[:300], epochs=9) for texts in SLICES]
    assert {*models[0].wv.index_to_key} == {*models[1].wv.index_to_key}
    assert models[0].wv.index_to_key != models[1].wv.index_to_key
    merged = merge_models(models, "concat")
    same_paths(merged, models[0], models[0].wv.index_to_key)
    # the mean of equal rows: the product with an input row is that of the mean of both vectors
    for half in np.split(merged.syn1, 2, axis=1):
        np.testing.assert_allclose(half, compass.syn1 * 0.5**0.5, rtol=1e-5)
    text = SLICES[0][400:500]
    losses = [model.held_out_loss(text) for model in models]
    assert merged.held_out_loss(text) < max(losses)
    assert merge_models(models).held_out_loss(text) < 1.02 * max(losses)


@pytest.mark.parametrize("of_compass", [0, 1])
@pytest.mark.parametrize("of_slice", [0, 1])
def test_slices_may_have_a_null_word(of_compass, of_slice):
    compass = trained(common_texts, hs=1, null_word=of_compass)
    model = train_slice(compass, common_texts[:5], null_word=of_slice)
    assert ("\0" in model.wv) == bool(of_slice)
    for word in model.wv.index_to_key:
        row = model.syn1neg[model.wv.key_to_index[word]]
        is_known = word in compass.wv.key_to_index
        expected = compass.syn1neg[compass.wv.key_to_index[word]] if is_known else 0
        np.testing.assert_array_equal(row, expected)
    assert np.isfinite(model.wv.vectors).all()


def test_slices_reject_what_they_cannot_train():
    compass = trained(common_texts)
    for other in (
        compass.wv,
        FastText(common_texts, vector_size=4, min_count=1),
        Doc2Vec([TaggedDocument(["a"] * 9, [0])], vector_size=4),
    ):
        with pytest.raises(TypeError, match=r"the compass is a \w+: pass a full Word2Vec model"):
            train_slice(other, common_texts)
    with pytest.raises(ValueError, match="sg=1 differs from sg=0 of the compass"):
        train_slice(compass, common_texts, sg=1)
    for options in ({"cluster": "local:ps=1,worker=1"}, {"regime": "asynchronous"}):
        with pytest.raises(ValueError, match="leave out cluster and regime"):
            train_slice(compass, common_texts, **options)
    with pytest.raises(ValueError, match="no word of the compass occurs at least min_count=1"):
        train_slice(compass, [["unheard"]])
    with pytest.raises(TypeError, match="corpus_file or corpus_iterable value must be provided"):
        train_slice(compass)
    model = trained(common_texts, TFFastText, bucket=9)
    model.learn_hidden = False
    with pytest.raises(ValueError, match="only Word2Vec can be trained"):
        model.train(common_texts, total_examples=9, epochs=1)


@settings(max_examples=50)
@given(
    size=st.integers(2, 40),
    words=st.integers(40, 90),
    missing=st.integers(0, 30),
    seed=st.integers(0, 1000),
)
def test_rotations_are_recovered_from_common_words(size, words, missing, seed):
    """Words that only one model has, in any place, and lengths of vectors have no effect."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(words, size)).astype(np.float32)
    models = []
    for number in range(3):
        turn = ortho_group.rvs(size, random_state=rng).astype(np.float32)
        own = rng.normal(size=(missing, size)).astype(np.float32)
        lengths = rng.uniform(0.5, 2, (words + missing, 1)).astype(np.float32)
        names = [f"w{i}" for i in range(words)] + [f"of {number} {i}" for i in range(missing)]
        order = rng.permutation(words + missing)
        models.append(KeyedVectors(size))
        models[-1].add_vectors(
            [names[i] for i in order], (np.concatenate([rows @ turn, own]) * lengths)[order]
        )
    before = [model.vectors.copy() for model in models]
    aligned = align_models(models)
    assert aligned[0] is models[0]
    for model, held in zip(models, before, strict=True):
        np.testing.assert_array_equal(model.vectors, held)
    found = self_similarities(aligned)
    assert sorted(found) == sorted(f"w{i}" for i in range(words))
    for word, matrix in found.items():
        np.testing.assert_allclose(matrix, 1, atol=1e-4, err_msg=word)
    for model, own in zip(aligned, models, strict=True):
        np.testing.assert_allclose(
            model.vectors @ model.vectors.T, own.vectors @ own.vectors.T, atol=1e-3
        )


def test_each_model_is_aligned_to_the_one_before_it():
    """The first and the last have no word in common."""
    rows = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    turns = [ortho_group.rvs(4, random_state=seed).astype(np.float32) for seed in range(3)]
    models = [KeyedVectors(4) for _ in turns]
    for first, model, turn in zip((0, 5, 10), models, turns, strict=True):
        words = range(first, first + 10)
        model.add_vectors([f"w{word}" for word in words], rows[words] @ turn)
    for first, model in zip((0, 5, 10), align_models(models), strict=True):
        np.testing.assert_allclose(model.vectors, rows[first : first + 10] @ turns[0], atol=1e-5)


@pytest.mark.parametrize(
    ("class_", "options"),
    [
        (Word2Vec, {}),
        (TFWord2Vec, {}),
        (TFFastText, {"bucket": 99}),
        (TFFastText, {"bucket": 0}),
        (FastText, {"max_n": 0}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_scores_of_a_full_model_stay(class_, options):
    texts = common_texts * 9
    options = {"hs": 1, "sample": 0} | options
    models = [trained(texts, class_, vector_size=10, seed=seed, **options) for seed in (1, 2)]
    models[1].wv.fill_norms()
    kept = copy.deepcopy(models[1])
    _, rotated = align_models(models)
    assert type(rotated) is class_
    assert not np.allclose(rotated.wv.vectors, kept.wv.vectors, atol=1e-3)
    np.testing.assert_array_equal(models[1].wv.vectors, kept.wv.vectors)
    for name in ("syn1", "syn1neg"):
        np.testing.assert_allclose(
            rotated.wv.vectors @ getattr(rotated, name).T,
            kept.wv.vectors @ getattr(kept, name).T,
            atol=1e-5,
        )
    np.testing.assert_allclose(
        rotated.wv.norms, np.linalg.norm(rotated.wv.vectors, axis=1), rtol=1e-6
    )
    if getattr(rotated.wv, "bucket", 0):  # a word that is not in the vocabulary
        assert rotated.wv.similarity("unheard", "human") == pytest.approx(
            kept.wv.similarity("unheard", "human"), abs=1e-5
        )
    rotated.train(texts, total_examples=len(texts), epochs=1)


def test_tags_of_documents_are_rotated():
    texts = [TaggedDocument(text, [tag]) for tag, text in enumerate(common_texts)]
    options = {"vector_size": 6, "min_count": 1, "workers": 1, "dm_concat": 1, "window": 2}
    models = [Doc2Vec(texts, seed=seed, **options) for seed in (1, 2)]
    rotated = align_models(models)[1]
    for first, second in ((rotated.dv, models[1].dv), (rotated.wv, models[1].wv)):
        np.testing.assert_allclose(
            first.vectors @ rotated.wv.vectors.T, second.vectors @ models[1].wv.vectors.T, atol=1e-6
        )
    np.testing.assert_allclose(
        rotated.syn1neg[:, -6:] @ rotated.wv.vectors.T,
        models[1].syn1neg[:, -6:] @ models[1].wv.vectors.T,
        atol=1e-6,
    )


def test_words_missing_from_a_model_have_no_similarity():
    first, second = trained(common_texts[:5]), trained(common_texts)
    missing = next(word for word in second.wv.index_to_key if word not in first.wv)
    found = self_similarities([first, second], [missing, "system"])
    np.testing.assert_allclose(found[missing], [[np.nan, np.nan], [np.nan, 1]])
    assert list(self_similarities([first, second])) == first.wv.index_to_key


def test_models_that_were_not_aligned_log_a_warning(caplog):
    models = [
        TFWord2Vec(lee_corpus_list, vector_size=20, seed=seed, workers=1, epochs=2)
        for seed in (1, 2)
    ]
    apart = [keyed(one.wv.index_to_key, turned(one.wv.vectors, n)) for n, one in enumerate(models)]
    self_similarities(apart, ["the"])
    (warning,) = caplog.messages
    assert "models 0 and 1 are not in one space, because the mean similarity of 1000" in warning
    assert "align them first" in warning
    caplog.clear()
    self_similarities(align_models(apart))
    self_similarities([models[0], train_slice(models[0], lee_corpus_list[:150])])
    assert not caplog.messages


@pytest.mark.parametrize("class_", [TFWord2Vec, TFDoc2Vec])
def test_mapped_models_have_mapped_rotated_copies(class_, tmp_path):
    documents = [TaggedDocument(text, [n]) for n, text in enumerate(common_texts)]
    corpus = documents if class_ is TFDoc2Vec else common_texts
    models = [class_(corpus, vector_size=4, min_count=1, seed=seed) for seed in (1, 2)]
    paths = [str(tmp_path / str(n)) for n in range(2)]
    for model, path in zip(models, paths, strict=True):
        model.wv.fill_norms()
        model.save(path, sep_limit=0)
    mapped = [class_.load(path, mmap="r") for path in paths]
    before = np.array(mapped[1].wv.vectors)
    copy = align_models(mapped)[1]
    expected = align_models(models)[1]
    names = ["wv.vectors", "syn1neg", "wv.norms", "dv.vectors"]
    for name in names if class_ is TFDoc2Vec else names[:3]:
        array = attrgetter(name)(copy)
        np.testing.assert_array_equal(array, attrgetter(name)(expected), err_msg=name)
        assert is_mapped(array) == (name != "wv.norms"), name
    np.testing.assert_array_equal(mapped[1].wv.vectors, before)


def turned(rows, seed):
    """Rotate rows at random."""
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(rows.shape[1],) * 2))
    return (rows @ rotation).astype(np.float32)


def test_models_that_cannot_be_aligned_raise(caplog):
    model = trained(common_texts)
    for empty in ([], iter(())):
        with pytest.raises(ValueError, match="there are no models: pass one or more"):
            align_models(empty)
        with pytest.raises(ValueError, match="there are no models: pass one or more"):
            self_similarities(empty)
    with pytest.raises(TypeError, match="words is 'the': pass a list of words"):
        self_similarities([model], "the")
    with pytest.raises(ValueError, match=r"of \[24, 4\] dimensions: pass models of one size"):
        align_models([model, trained(common_texts, vector_size=4)])
    with pytest.raises(TypeError, match="model 1 is a list"):
        align_models([model, []])
    with pytest.raises(ValueError, match="model 1 has no word in common with the previous one"):
        align_models([model, trained([["unheard"] * 9])])
    bad = copy.deepcopy(model)
    bad.wv.vectors[3, 2] = np.nan
    with pytest.raises(ValueError, match="vectors that are not finite"):
        align_models([model, bad])
    assert len(align_models(one for one in (model, model))) == 2
    assert "shares only 12 words with the previous one, fewer than its 24" in caplog.text


def test_trim_rule_of_a_slice_is_applied():
    compass = trained(common_texts)

    def trim_rule(word, count, min_count):
        return utils.RULE_DISCARD if word == "system" else utils.RULE_DEFAULT

    model = train_slice(compass, [*common_texts, ["unheard"]], min_count=1, trim_rule=trim_rule)
    assert {*model.wv.index_to_key} == {*compass.wv.index_to_key} - {"system"}
