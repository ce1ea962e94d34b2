"""TFDoc2Vec: gensim's contract on the same documents, and our additions."""

import contextlib
import copy
import logging
import math
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from gensim.models import Doc2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts, datapath

from gensim_tfw2v import EarlyStopping, TFDoc2Vec, patch_gensim

LEE = datapath("lee_background.cor")
SMALL = {"vector_size": 8, "min_count": 1, "sample": 0, "epochs": 3, "workers": 1}
DOCUMENTS = [TaggedDocument(words, [str(n)]) for n, words in enumerate(common_texts)]
TOTALS = {"total_examples": len(DOCUMENTS), "epochs": 2}

OBJECTIVES = {
    "DBOW": {"dm": 0},
    "DBOW with words": {"dm": 0, "dbow_words": 1},
    "DBOW with both layers": {"dm": 0, "hs": 1},
    "DM": {"dm": 1},
    "DM, sum": {"dm_mean": 0},
    "DM with a tree": {"hs": 1, "negative": 0},
    "DM with both layers": {"hs": 1},
    "DM concatenated": {"dm_concat": 1, "window": 3},
    "DM concatenated, with a tree": {"dm_concat": 1, "window": 3, "hs": 1, "negative": 0},
}
of_all = pytest.mark.parametrize("options", OBJECTIVES.values(), ids=OBJECTIVES)


def lee(number=300):
    with open(LEE, encoding="utf-8") as file:
        lines = file.read().splitlines()[:number]
    return [TaggedDocument(line.split(), [n]) for n, line in enumerate(lines)]


def built(documents=DOCUMENTS, cls=TFDoc2Vec, **options):
    """A model whose vectors are not trained yet."""
    model = cls(**SMALL | options)
    model.build_vocab(documents)
    return model


def arrays(model):
    held = {name: getattr(model, name) for name in ("syn1neg", "syn1") if hasattr(model, name)}
    return held | {"wv": model.wv.vectors, "dv": model.dv.vectors}


def assert_same(model, other):
    assert arrays(model).keys() == arrays(other).keys()
    for name, array in arrays(other).items():
        np.testing.assert_array_equal(arrays(model)[name], array, err_msg=name)
    assert list(model.dv.index_to_key) == list(other.dv.index_to_key)


def run(program, *arguments, check=True, **environment):
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, check=check, timeout=300
    )


# Vectors


@pytest.mark.parametrize("name", ["DBOW", "DM", "DM with a tree"])
def test_documents_are_as_similar_as_in_gensim(name):
    documents = lee(120)
    options = {"vector_size": 40, "epochs": 20, "min_count": 2, "workers": 1} | OBJECTIVES[name]
    similarities = []
    for number, cls in enumerate((Doc2Vec, Doc2Vec, TFDoc2Vec, TFDoc2Vec)):
        vectors = cls(documents, seed=number + 1, **options).dv.get_normed_vectors()
        similarities.append((vectors @ vectors.T)[np.triu_indices(len(documents), 1)])
    of_pairs = np.corrcoef(similarities)
    between_gensims = of_pairs[0, 1]
    assert of_pairs[:2, 2:].mean() > between_gensims - 0.02
    assert of_pairs[2, 3] > between_gensims - 0.02


def test_tags_are_trained_between_the_words():
    """If tags were trained after all words of a unit, their vectors would be a third shorter."""
    options = {"dm": 0, "dbow_words": 1, "window": 30, "hs": 1, "negative": 0, "alpha": 0.05}
    options |= {"vector_size": 20, "epochs": 8, "min_count": 2, "workers": 1}
    documents = [d._replace(tags=[n, "x", "y"][: 1 + n % 3]) for n, d in enumerate(lee(60))]
    own, gensims = (
        np.linalg.norm(cls(documents, **options).dv.vectors[:60], axis=1).mean()
        for cls in (TFDoc2Vec, Doc2Vec)
    )
    assert own == pytest.approx(gensims, rel=0.05)


@of_all
def test_inferred_vectors_are_nearest_to_their_documents(options):
    documents = lee(60)
    model = TFDoc2Vec(
        documents, vector_size=30, epochs=30, min_count=2, alpha=0.05, workers=2, **options
    )
    before = {name: array.copy() for name, array in arrays(model).items()}
    texts = [document.words for document in documents]
    inferred = model.infer_vectors(texts)
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(model.infer_vectors(iter(texts)), inferred)
    scores = model.dv.get_normed_vectors() @ inferred.T
    found = np.mean(scores.argmax(0) == np.arange(60))
    assert found > (0.1 if "dm_concat" in options else 0.9)  # dm_concat needs much more text
    alone = model.infer_vector(texts[7])
    np.testing.assert_array_equal(model.infer_vector(texts[7]), alone)
    assert (model.infer_vector(texts[7], epochs=1, alpha=0.01, min_alpha=0.01) != alone).any()
    long = model.infer_vectors([texts[0] * 100, [], ["unknown"]])
    assert long.shape == (3, 30) and np.isfinite(long).all()


def test_inference_uses_the_current_state_of_the_model():
    model = TFDoc2Vec(DOCUMENTS, dm=1, **SMALL)
    known = model.infer_vector(["human", "graph"])
    model.wv.vectors = model.wv.vectors * 3
    changed = model.infer_vector(["human", "graph"])
    assert (changed != known).any()
    model.wv.vectors[:] /= 3
    np.testing.assert_allclose(model.infer_vector(["human", "graph"]), known, atol=1e-6)
    model.build_vocab([TaggedDocument(["new"], ["n"])], update=True)
    assert (model.infer_vector(["new"]) != model.infer_vector(["human"])).any()
    model.seed, model.cbow_mean = 5, np.int64(1)
    assert ((known := model.infer_vector(["human", "graph"])) != changed).any()
    model.cbow_mean = np.int64(0)
    assert (model.infer_vector(["human", "graph"]) != known).any()
    known = model.infer_vector(["human", "graph"])
    model.dv.vectors_lockf = np.zeros(3, np.float32)  # wrong length: inference does not use them
    model.workers = 2
    np.testing.assert_array_equal(model.infer_vector(["human", "graph"]), known)


@pytest.mark.filterwarnings("error")
def test_inferred_vectors_depend_on_the_seed():
    model, vectors = built(seed=1), []
    for seed in (1, 2, 1 << 31):
        model.seed = seed
        vectors.append(model.infer_vector(DOCUMENTS[0].words))
        np.testing.assert_array_equal(vectors[-1], model.infer_vector(DOCUMENTS[0].words))
    assert len(np.unique(vectors, axis=0)) == 3


def test_inference_in_another_process_gives_the_same_vector(tmp_path):
    model = TFDoc2Vec(DOCUMENTS, **SMALL)
    model.save(str(tmp_path / "model"))
    program = (
        "import sys, numpy\nfrom gensim_tfw2v import TFDoc2Vec\n"
        "vector = TFDoc2Vec.load(sys.argv[1]).infer_vector(['human', 'graph'])\n"
        "numpy.save(sys.argv[2], vector)\n"
    )
    run(program, tmp_path / "model", tmp_path / "vector.npy", PYTHONHASHSEED="7")
    there = np.load(tmp_path / "vector.npy")
    np.testing.assert_array_equal(there, model.infer_vector(["human", "graph"]))


@of_all
def test_deterministic_gives_the_same_bits_for_any_workers(options, monkeypatch):
    monkeypatch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 1024)
    models = []
    for workers in (1, 3):
        model = built(lee(30), **options)
        model.workers, model.deterministic = workers, True
        model.train(lee(30), total_examples=30, epochs=2)
        models.append(model)
    assert_same(*models)


# Models


@of_all
def test_saved_and_copied_models_equal_the_original(options, tmp_path):
    model = TFDoc2Vec(DOCUMENTS, **SMALL | options)
    path = str(tmp_path / "model")
    model.save(path, sep_limit=100)
    mapped = TFDoc2Vec.load(path, mmap="r")
    for other in (mapped, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(other) is TFDoc2Vec
        assert_same(other, model)
        np.testing.assert_array_equal(other.infer_vector(["human"]), model.infer_vector(["human"]))
    of_gensim = copy.deepcopy(model.to_gensim())  # to_gensim() shares the model's arrays
    assert type(of_gensim) is Doc2Vec
    assert_same(of_gensim, model)
    before = {name: array.copy() for name, array in arrays(model).items()}
    mapped.train(DOCUMENTS, **TOTALS)
    of_gensim.train(DOCUMENTS, **TOTALS)
    assert (mapped.dv.vectors != before["dv"]).any()
    assert (of_gensim.dv.vectors != before["dv"]).any()
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name])


def test_gensim_and_tfdoc2vec_train_each_others_models(tmp_path):
    documents = [document._replace(tags=[n]) for n, document in enumerate(DOCUMENTS)]
    model = TFDoc2Vec(documents, dm=1, **SMALL)
    assert model.dv.index_to_key == list(range(9))
    path = str(tmp_path / "model")
    model.to_gensim().save(path)
    model.save_word2vec_format(str(tmp_path / "text"), doctag_vec=True)
    program = (
        "import sys\nsys.modules['gensim_tfw2v'] = None\n"
        "from gensim.models.doc2vec import Doc2Vec, TaggedDocument\n"
        "from gensim.test.utils import common_texts\n"
        "model = Doc2Vec.load(sys.argv[1])\n"
        "texts = [TaggedDocument(text, [n]) for n, text in enumerate(common_texts)]\n"
        "before = model.dv.vectors.copy()\n"
        "model.train(texts, total_examples=9, epochs=2)\n"
        "assert (model.dv.vectors != before).any()\n"
        "model.infer_vector(['human']), model.dv.most_similar(3), model.dv[8]\n"
        "model.save(sys.argv[1])\n"
    )
    run(program, path)
    again = TFDoc2Vec.load(path)
    assert type(again) is TFDoc2Vec and again.dv.index_to_key == list(range(9))
    before = again.dv.vectors.copy()
    again.train(documents, **TOTALS)
    assert (again.dv.vectors != before).any()
    again.build_vocab([TaggedDocument(["human"], [11])], update=True)
    assert again.dv.index_to_key == list(range(12))
    assert (tmp_path / "text").read_text("utf-8").count("\n") >= 10


@of_all
def test_take_over_converts_gensims_model(options):
    model = Doc2Vec(DOCUMENTS, **SMALL | options)
    model = TFDoc2Vec.take_over(model)
    assert type(model) is TFDoc2Vec
    assert model.infer_vectors(common_texts).shape == (9, 8)
    before = model.dv.vectors.copy()
    model.train(DOCUMENTS, **TOTALS)
    assert (model.dv.vectors != before).any() and np.isfinite(model.dv.vectors).all()


def test_attributes_and_logs_are_gensims(caplog):
    with caplog.at_level(logging.INFO):
        model = TFDoc2Vec(DOCUMENTS, dm=0, dbow_words=1, **SMALL)
    assert "from a corpus of 29 raw words and 9 documents" in caplog.text
    assert "EPOCH 2: training on 29 raw words (29 effective words)" in caplog.text
    other = Doc2Vec(DOCUMENTS, dm=0, dbow_words=1, **SMALL)
    assert str(model) == "TF" + str(other)
    for name in ("dm", "dbow", "dbow_words", "dm_concat", "dm_tag_count", "corpus_total_words"):
        assert getattr(model, name) == getattr(other, name)
    with pytest.warns(DeprecationWarning):
        assert model.docvecs is model.dv
    assert model.estimate_memory() == other.estimate_memory()
    assert model["3"].shape == model["human"].shape == (8,)
    assert abs(model.similarity_unseen_docs(["human"], ["graph"])) <= 1
    again = TFDoc2Vec(dm=1, **SMALL)
    again.reset_from(model)
    again.train(DOCUMENTS, **TOTALS)
    assert again.dv is not model.dv and (again.dv.vectors != model.dv.vectors).any()
    with patch_gensim():
        from gensim.models.doc2vec import Doc2Vec as Patched

        assert Patched is TFDoc2Vec


def test_model_without_sample_is_described_trained_and_saved(tmp_path):
    options = SMALL | {"sample": None}
    model, expected = TFDoc2Vec(DOCUMENTS, **options), TFDoc2Vec(DOCUMENTS, **SMALL)
    assert_same(model, expected)
    assert str(model) == repr(model) == str(expected) == "TF" + str(model.to_gensim())
    model.sample = None
    assert str(model) == str(expected)
    for one in (model, expected):
        one.train(DOCUMENTS, **TOTALS)
    model.save(str(tmp_path / "model"))
    assert_same(TFDoc2Vec.load(str(tmp_path / "model")), expected)


# Documents and tags


@pytest.mark.parametrize(
    "tags",
    [
        lambda n: [n],
        lambda n: [np.int64(n)],
        lambda n: [f"tag {n}", "all"],
        lambda n: [n, "odd" if n % 2 else "even", "all", "all"],
        lambda n: "xy",
        lambda n: [] if n % 2 else [n],
        lambda n: [-1, n],
        lambda n: [("a", n), None, 1.5],
        lambda n: [3 * n + 20],
    ],
    ids=["int", "NumPy", "str", "mixed", "string", "some none", "negative", "objects", "large"],
)
@pytest.mark.parametrize("dm", [0, 1])
def test_tags_of_any_type_give_gensims_rows(tags, dm):
    documents = [document._replace(tags=tags(n)) for n, document in enumerate(DOCUMENTS)]
    model, other = (built(documents, cls, dm=dm) for cls in (TFDoc2Vec, Doc2Vec))
    assert model.dv.index_to_key == other.dv.index_to_key
    np.testing.assert_array_equal(model.dv.vectors, other.dv.vectors)
    before = model.dv.vectors.copy()
    for one in (model, other):
        one.train(documents, **TOTALS)
    for moved in ((one.dv.vectors != before).any(axis=1) for one in (model, other)):
        rows = [
            n in {model.dv.get_index(t, -1) for d in documents for t in d.tags}
            for n in range(len(before))
        ]  # noqa: E501
        np.testing.assert_array_equal(moved, rows)


@pytest.mark.parametrize("options", [{"dm": 1}, {"dm": 0}, {"dm": 0, "dbow_words": 1}], ids=str)
def test_words_count_once_for_any_number_of_tags(options):
    words = sum(len(document.words) for document in DOCUMENTS)
    for tags in ([], [0], [0, 1, "x"]):
        documents = [TaggedDocument(document.words, tags) for document in DOCUMENTS]
        model = built(documents, **options)
        assert model.train(documents, total_examples=9, epochs=3) == (3 * words, 3 * words)


@pytest.mark.parametrize(
    ("documents", "error", "said"),
    [
        ([["human"]], TypeError, r"pass TaggedDocument\(words, tags\)"),
        ([TaggedDocument(["a"], 3)], TypeError, "not iterable"),
        ([TaggedDocument(["a"], [2**40])], MemoryError, "TiB"),
        ([TaggedDocument([], ["a"])], RuntimeError, "first build vocabulary"),
        ([], RuntimeError, "first build vocabulary"),
        ((document for document in DOCUMENTS), TypeError, "generator"),
    ],
)
def test_invalid_corpus_of_documents_raises(documents, error, said):
    with pytest.raises(error, match=said):
        TFDoc2Vec(documents, **SMALL)


def test_generator_trains_one_epoch():
    model = built()
    trained, _ = model.train((d for d in DOCUMENTS), total_examples=9, epochs=1)
    assert trained > 0


def test_generator_with_max_vocab_size_raises():
    model = TFDoc2Vec(max_vocab_size=99, **SMALL)
    with pytest.raises(TypeError, match="can be read only once"):
        model.partial_fit(document for document in DOCUMENTS)
    model.partial_fit(DOCUMENTS)
    assert len(model.dv) == 9


def test_new_documents_are_added_and_trained():
    model = TFDoc2Vec(DOCUMENTS, dm=0, **SMALL)
    before = {name: array.copy() for name, array in arrays(model).items()}
    more = [TaggedDocument(["human", "new", "trees"], ["n"]), TaggedDocument(["graph"], ["0"])]
    model.build_vocab(more, update=True)
    assert model.dv.index_to_key == [*map(str, range(9)), "n"] and "new" in model.wv
    np.testing.assert_array_equal(model.dv.vectors[:9], before["dv"])
    model.train(more, total_examples=2, epochs=2)
    moved = (model.dv.vectors[:9] != before["dv"]).any(axis=1)
    assert moved.tolist() == [True] + 8 * [False]
    model.partial_fit(document for document in [TaggedDocument(["more", "trees"], ["m", "5"])])
    assert model.dv.index_to_key[9:] == ["n", "m"] and "more" in model.wv
    assert (model.dv.vectors[5] != before["dv"][5]).any()
    assert model.dv.get_vecattr("5", "doc_count") == 2
    started = TFDoc2Vec(**SMALL)
    started.partial_fit(document for document in DOCUMENTS)
    assert len(started.dv) == 9


def test_partial_fit_works_with_concatenated_windows():
    """Each update adds gensim's null word again, under the same key."""
    model = TFDoc2Vec(DOCUMENTS, dm_concat=1, window=2, **SMALL)
    for number in range(4):
        more = [TaggedDocument([f"new {number} {n}" for n in range(3)], [number])]
        model.partial_fit(more)
    before = model.wv["new 3 2"].copy()
    model.train(more, total_examples=1, epochs=9)
    assert (model.wv["new 3 2"] != before).any()


def test_window_0_is_accepted_only_by_dbow():
    model = TFDoc2Vec(DOCUMENTS, dm=0, window=0, **SMALL)
    same = TFDoc2Vec(DOCUMENTS, dm=0, window=9, **SMALL)
    assert (model.window, model.infer_vector(["human"]).shape) == (0, (8,))
    np.testing.assert_array_equal(model.dv.vectors, same.dv.vectors)
    for options in ({"dm": 1}, {"dm": 0, "dbow_words": 1}):
        with pytest.raises(ValueError, match="window must be at least 1"):
            TFDoc2Vec(DOCUMENTS, window=0, **SMALL | options)


@pytest.mark.parametrize("window", [1, 300])
def test_concatenated_windows_need_dm_tag_count_tags(window):
    documents = [d._replace(tags=[*d.tags, "all"]) for d in DOCUMENTS]
    options = SMALL | {"dm_concat": 1, "window": window}
    two = TFDoc2Vec(documents, dm_tag_count=2, **options)
    assert two.syn1neg.shape[1] == 8 * (2 + 2 * window)
    assert (two.dv.vectors != built(documents, dm_tag_count=2).dv.vectors).any(axis=1).all()
    one = TFDoc2Vec(documents, **options)  # no document has one tag
    np.testing.assert_array_equal(one.dv.vectors, built(documents).dv.vectors)
    everything_is_rare = TFDoc2Vec(DOCUMENTS, **options | {"sample": 1e-12})
    np.testing.assert_array_equal(everything_is_rare.dv.vectors, built().dv.vectors)


def test_concatenated_windows_have_full_size_as_in_gensim():
    options = {"dm_concat": 1, "window": 2, "vector_size": 20, "epochs": 20, "min_count": 2}
    model, other = (cls(lee(100), workers=1, **options) for cls in (TFDoc2Vec, Doc2Vec))
    own, gensims = (np.linalg.norm(m.dv.vectors, axis=1).mean() for m in (model, other))
    assert own == pytest.approx(gensims, rel=0.05)
    texts, plain = [document.words for document in lee(20)], model.to_gensim()
    found = model.infer_vectors(texts)
    expected = np.array([plain.infer_vector(words) for words in texts])
    products = (found * expected).sum(1)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    assert (products / lengths).mean() > 0.95


# Arrays set by the user


@pytest.mark.parametrize("dm", [0, 1])
def test_locked_rows_do_not_change(dm):
    model = built(dm=dm)
    model.dv.vectors_lockf = np.ones(9, np.float32)
    model.dv.vectors_lockf[3] = 0
    model.wv.vectors_lockf = np.zeros(1, np.float32)
    before = {name: array.copy() for name, array in arrays(model).items()}
    model.train(DOCUMENTS, **TOTALS)
    moved = (model.dv.vectors != before["dv"]).any(axis=1)
    assert moved.tolist() == [n != 3 for n in range(9)]
    np.testing.assert_array_equal(model.wv.vectors, before["wv"])


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("holder", ["wv", "dv"])
@pytest.mark.parametrize(
    "change", [np.copy, read_only, np.float64, np.asfortranarray], ids=lambda f: f.__name__
)
def test_replaced_vectors_are_trained(holder, change):
    model, as_made = built(), built()
    getattr(model, holder).vectors = change(getattr(model, holder).vectors)
    for one in (model, as_made):
        one.train(DOCUMENTS, **TOTALS)
        one.train(DOCUMENTS, **TOTALS)  # now from views of one array
    assert_same(model, as_made)


@pytest.mark.parametrize("dm", [0, 1])
def test_vectors_sharing_an_array_in_another_order_are_trained(dm):
    model, as_made = (TFDoc2Vec(DOCUMENTS, **SMALL, dm=dm) for _ in range(2))
    for vectors in (model.dv, model.wv):
        vectors.vectors[:] = vectors.vectors[::-1].copy()
        vectors.vectors = vectors.vectors[::-1]
    for one in (model, as_made):
        one.train(DOCUMENTS, **TOTALS)
    assert_same(model, as_made)
    whole = np.concatenate([model.dv.vectors, model.wv.vectors])
    model.dv.vectors, model.wv.vectors = whole[:9], whole[9:]
    for one in (model, as_made):
        one.train(DOCUMENTS, **TOTALS)
    assert_same(model, as_made)


@pytest.mark.parametrize(
    ("attribute", "change", "error", "said"),
    [
        ("vectors", lambda rows: rows[:-1], ValueError, r"dv\.vectors has the shape \(8, 8\)"),
        ("vectors", lambda rows: rows[:, 1:], ValueError, r"\(9, 7\), but 9 tags"),
        ("vectors", lambda rows: rows.tolist(), TypeError, r"dv\.vectors must be a NumPy array"),
        ("vectors", lambda rows: rows * np.nan, ValueError, r"dv\.vectors holds 9 rows .* '0'"),
        ("vectors_lockf", lambda _: np.ones(3), ValueError, "3 factors: .* all tags"),
        ("vectors_lockf", lambda _: np.array(["a"]), TypeError, "must hold numbers"),
        ("index_to_key", lambda keys: keys[1:], ValueError, r"\(9, 8\), but 8 tags"),
    ],
)
def test_invalid_vectors_of_tags_raise(attribute, change, error, said):
    model = built()
    setattr(model.dv, attribute, change(getattr(model.dv, attribute)))
    with pytest.raises(error, match=said):
        model.train(DOCUMENTS, **TOTALS)


# Training


class Each:
    """Callback that calls a function after each epoch."""

    def __init__(self, call):
        self.on_epoch_end = call

    def on_train_begin(self, model): ...
    def on_train_end(self, model): ...
    def on_epoch_begin(self, model): ...


def test_early_stopping_keeps_the_best_vectors_of_documents():
    seen, scores = [], iter([1, 2, 1, 0, 0])
    stopping = EarlyStopping(lambda _: next(scores), patience=2)
    model = built()
    model.dv.fill_norms()
    watching = Each(lambda model: seen.append(copy.deepcopy(arrays(model))))
    model.train(DOCUMENTS, total_examples=9, epochs=9, callbacks=[watching, stopping])
    assert len(seen) == 4 and stopping.best_epoch == 1
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, seen[1][name])
    np.testing.assert_allclose(model.dv.norms, np.linalg.norm(model.dv.vectors, axis=1))


def test_held_out_loss_skips_unknown_tags():
    """Without known tags, only words predict in DM, and nothing does in DBOW."""
    strangers = [document._replace(tags=["stranger"]) for document in DOCUMENTS]
    for dm in (0, 1):
        model = TFDoc2Vec(DOCUMENTS, dm=dm, compute_loss=True, **SMALL | {"epochs": 40})
        loss = model.held_out_loss(DOCUMENTS)
        assert loss == pytest.approx(model.mean_losses[-1], rel=0.1)
        assert loss < model.mean_losses[0]
        if dm:
            assert model.held_out_loss(strangers) > 0
        else:
            with pytest.raises(ValueError, match="nothing was predicted"):
                model.held_out_loss(strangers)
    untrained = built(dm=0)
    # a negative that equals the target is skipped
    assert 0 < untrained.held_out_loss(DOCUMENTS) <= 6 * math.log(2) + 1e-6


@of_all
def test_killed_training_resumes_to_the_same_bits(options, tmp_path, caplog):
    def train(last=None):
        model = built(lee(20), **options)
        if last:
            model.checkpoint_dir = str(tmp_path)
        left = iter(range(last or 9))
        kill = Each(
            lambda _: next(left, None) == 1 and last and os.kill(os.getpid(), signal.SIGKILL)
        )
        model.train(lee(20), total_examples=20, epochs=4, callbacks=[kill])
        return model

    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            train(2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert list(tmp_path.iterdir())
    model = built(lee(20), **options)
    model.checkpoint_dir = str(tmp_path)
    with caplog.at_level(logging.INFO):
        model.train(lee(20), total_examples=20, epochs=4)
    assert "of 4 epochs are trained" in caplog.text
    assert_same(model, train())


def test_vector_is_inferred_with_a_window_of_the_whole_document():
    documents = [TaggedDocument(text, [index]) for index, text in enumerate(common_texts)]
    model = TFDoc2Vec(documents, vector_size=4, min_count=1, window=10**9)
    assert np.isfinite(model.infer_vector(common_texts[0])).all()
