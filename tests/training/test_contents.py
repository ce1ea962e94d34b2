"""Every attribute of odd models: listed, and after each way of storing equal, new, or refused."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from gensim.models.callbacks import CallbackAny2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.models.keyedvectors import KeyedVectors
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec, merge_models, train_slice
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.monitor.traffic import Traffic
from gensim_tfw2v.options.contents import KEPT, MADE, NEW, PARTS, RESULTS, names
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.regimes import Asynchronous
from gensim_tfw2v.options.table import DEFAULTS, option_names
from gensim_tfw2v.training.checkpoints import CheckpointError
from gensim_tfw2v.training.folder_contents import STATE
from gensim_tfw2v.training.path_array import PathArray
from gensim_tfw2v.training.pretrained import load_pretrained, save_pretrained

DOCUMENTS = [TaggedDocument(text, [n, f"t{n % 3}"]) for n, text in enumerate(common_texts)]
WAYS = ("copy", "file", "folder", "gensim", "merged", "slice")
LISTED = {name for part in PARTS for name in part.names}

#: Class attributes that say what a class is.
CONSTANTS = {
    *("_gensim_class", "_kinds", "_signature", "has_subwords", "has_documents", "_known_tags"),
}

#: Options that are not the default, of all three classes.
ODD = {
    **{"vector_size": 4, "alpha": 0.05, "min_alpha": 0.001, "window": 2, "min_count": 1},
    **{"max_vocab_size": 99, "max_final_vocab": 50, "sample": 0.1, "seed": 7, "workers": 1},
    **{"hs": 1, "negative": 3, "ns_exponent": 0.5, "cbow_mean": 0, "epochs": 2, "batch_words": 99},
    **{"sorted_vocab": 0, "comment": "a \u00e9", "shrink_windows": False, "compute_loss": True},
    **{"corrected_cbow": True, "deterministic": True, "progress": False},
}
CASES = ["words", "one word", "numbers", "ngrams", "documents", "a slice", "of a regime"]


def own_hash(word):
    return hash(word) ^ 1


def made(case, **options):
    """Make a trained model in which nothing has its default, as far as options allow."""
    options = ODD | options
    if case == "ngrams":
        options |= {"min_n": 2, "max_n": 4, "bucket": 30}
        del options["comment"]
        model = TFFastText(common_texts, **options)
    elif case == "documents":
        options |= {"dm_concat": 1, "dm_tag_count": 2, "dbow_words": 1}
        model = TFDoc2Vec(DOCUMENTS, **options)
        model.dv.vectors_lockf = np.linspace(0, 1, len(model.dv), dtype=np.float32)
        model.dv.set_vecattr("t1", "rank", 3)
    elif case == "a slice":
        compass = TFWord2Vec(common_texts, **options, null_word=1)
        model = train_slice(compass, common_texts[:5])
    elif case == "one word":
        model = TFWord2Vec([["a"]] * 9, **options | {"hs": 0})
    elif case == "numbers":
        texts = [[hash(word) % 99 for word in text] for text in common_texts]
        model = TFWord2Vec(texts, **options)
    elif case == "of a regime":
        model = TFWord2Vec(common_texts, **options | {"deterministic": False})
        model.regime = Asynchronous()
        model.traffic = Traffic(units=3, jobs=[])
        model.merge_report = merge_models([model]).merge_report
    else:
        model = TFWord2Vec(common_texts, **options, null_word=1)
    for name in ("vectors_lockf", "vectors_vocab_lockf", "vectors_ngrams_lockf"):
        if hasattr(model.wv, name):
            rows = getattr(model.wv, name.removesuffix("_lockf"))
            setattr(model.wv, name, np.linspace(0, 1, len(rows), dtype=np.float32))
    for name, value in (("rank", 3), ("share", 0.25), ("is_noun", True), ("half", np.float16(2))):
        model.wv.set_vecattr(model.wv.index_to_key[-1], name, value)
    model.wv.fill_norms()
    model.history, model.best_epoch, model.best_score = [0.25, 0.5], 1, 0.5
    if case != "a slice":
        model.comment = ODD["comment"]  # only the constructor of TFWord2Vec sets it
    model.random.random_sample(9)
    if case not in ("ngrams", "documents", "a slice"):
        model.negative_shards = 1 if case == "one word" else 2
    return model


def attributes(model):
    """All attributes by their names in the list."""
    found = {name: value for name, value in vars(model).items() if name not in ("wv", "dv")}
    for place in ("wv", "dv"):
        if place in vars(model):
            held = vars(getattr(model, place))
            found |= {f"{place}.{name}": value for name, value in held.items()}
            expandos = found.pop(f"{place}.expandos")
            found |= {f"{place}.expandos.{name}": value for name, value in expandos.items()}
    return found


def fate(way, name):
    return next((getattr(part, way) for part in PARTS if name in part.names), KEPT)


def check_equal(name, now, before):
    if isinstance(before, np.random.RandomState):
        now, before = now.get_state(), before.get_state()
    elif name == "lifecycle_events":  # storing adds one
        now = now[: len(before)]
    elif isinstance(before, Traffic):
        now, before = vars(now), vars(before)
    elif isinstance(before, np.ndarray | PathArray):
        assert np.asarray(now).dtype == before.dtype, name
        now, before = list(now), list(before)
    np.testing.assert_equal(now, before, err_msg=name)


def check_fates(way, model, before, new):
    """Check that each attribute is kept, or is that of a new model."""
    now = attributes(model)
    for name, value in before.items():
        if fate(way, name) in (KEPT, MADE):
            kept = now[name] if name in now else getattr(model, name)  # a class's default
            check_equal(name, kept, value)
        elif name in now and not name.startswith("_") and name != "lifecycle_events":
            check_equal(name, now[name], new[name])


def new_attributes(model):
    options = {name: getattr(model, name) for name in ("seed", "vector_size")}
    new = attributes(type(model)(**options))
    return new | {
        name: value for name, value in DEFAULTS.items() if name in option_names(Use.RUNNING)
    }


@pytest.mark.parametrize("case", CASES)
def test_every_attribute_is_listed(case):
    own = {
        f"{of}.expandos.{n}" for of in ("wv", "dv") for n in ("rank", "share", "is_noun", "half")
    }
    assert attributes(made(case)).keys() - own <= LISTED


def test_every_attribute_of_the_classes_is_listed():
    for class_ in (TFWord2Vec, TFFastText, TFDoc2Vec):
        data = {
            name
            for name, value in vars(class_).items()
            if not name.startswith("__")
            and not callable(value)
            and not isinstance(value, classmethod | staticmethod | property)
        }
        assert (data | inspect.get_annotations(class_).keys()) - CONSTANTS <= LISTED | {"wv", "dv"}


def test_every_saved_option_of_this_package_is_odd_in_some_case():
    models = [made(case) for case in CASES]
    for name in option_names(Use.OWN) + option_names(Use.EXPERIMENT):
        assert any(getattr(model, name) != DEFAULTS[name] for model in models), name


def test_the_list_names_each_attribute_once():
    listed = [name for part in PARTS for name in part.names]
    assert len(listed) == len(set(listed))
    assert STATE.keys() == {*RESULTS, *option_names(Use.EXPERIMENT), "comment"}
    for way in WAYS:
        assert {getattr(part, way) for part in PARTS} <= {KEPT, MADE, NEW, "refused"}
    assert set(names("gensim", NEW)) >= {
        *option_names(Use.OWN),
        *option_names(Use.EXPERIMENT),
        *option_names(Use.RUNNING),
    }


@pytest.mark.parametrize("case", CASES)
def test_copies_keep_everything(case, tmp_path):
    model = made(case)
    model.hashfxn, model.mine = own_hash, ["of the user"]
    model.checkpoint_dir, model.encoded_dir = str(tmp_path / "a"), str(tmp_path)
    model.log_dir = TensorBoardLog(tmp_path / "b", projector_words=9)
    before = attributes(model)
    for way in (copy.copy, copy.deepcopy, lambda of: pickle.loads(pickle.dumps(of))):
        check_fates("copy", way(model), before, {})
        check_fates("copy", model, before, before)


@pytest.mark.parametrize("sep_limit", [0, 1 << 30])
@pytest.mark.parametrize("case", CASES)
def test_files_keep_all_but_how_to_train(case, sep_limit, tmp_path):
    model = made(case)
    model.hashfxn, model.mine = own_hash, ["of the user"]
    model.checkpoint_dir = str(tmp_path / "a")
    model.wv.set_vecattr(model.wv.index_to_key[0], "part", "noun")
    before = attributes(model)
    model.save(str(tmp_path / "model"), sep_limit=sep_limit)
    loaded = type(model).load(str(tmp_path / "model"))
    check_fates("file", loaded, before, {})
    assert not vars(loaded).keys() & {*option_names(Use.RUNNING), "traffic", "merge_report"}
    check_fates("copy", model, before, before)


@pytest.mark.parametrize("case", CASES)
def test_folders_keep_models(case, tmp_path):
    model = made(case)
    model.save_pretrained(tmp_path / "folder")
    loaded = type(model).from_pretrained(tmp_path / "folder")
    check_fates("folder", loaded, attributes(model), new_attributes(model))


@pytest.mark.parametrize("case", CASES)
def test_gensims_models_lack_only_options_of_this_package(case, caplog):
    model = made(case)
    plain = model.to_gensim()
    check_fates("gensim", plain, attributes(model), {})
    assert "__init__" in vars(type(plain)) and type(plain).__module__.startswith("gensim.")
    assert ("without corrected_cbow=True" in caplog.text) and ("regime" not in caplog.text)
    assert ("without learn_hidden=False" in caplog.text) == (case == "a slice")


def test_merged_models_and_slices_have_the_options_of_the_first():
    model = made("words", sg=1)
    new = TFWord2Vec()
    model.hashfxn = own_hash
    options = set(inspect.signature(TFWord2Vec).parameters) & vars(model).keys()
    merged = merge_models([model, model], "concat")
    sliced = train_slice(model, common_texts)
    for way, made_of in (("merged", merged), ("slice", sliced)):
        for name in options - {"vector_size"}:
            expected = model if fate(way, name) == KEPT else new
            assert getattr(made_of, name) == getattr(expected, name), (way, name)
        assert not made_of.wv.expandos.keys() & {"rank", "share"}
        assert (made_of.vector_size, made_of.layer1_size) == (made_of.wv.vectors.shape[1],) * 2
        np.testing.assert_array_equal(made_of.wv.vectors_lockf, [1])


def test_models_from_vectors_take_only_words_counts_and_vectors():
    model = made("words")
    for null_word in (0, 1):
        fresh = TFWord2Vec.from_vectors(model.wv, hs=1, null_word=null_word)
        assert fresh.wv.index_to_key == model.wv.index_to_key
        np.testing.assert_array_equal(fresh.wv.vectors, model.wv.vectors)
        np.testing.assert_array_equal(fresh.wv.expandos["count"], model.wv.expandos["count"])
        assert not fresh.wv.expandos.keys() & {"rank", "share"}
        assert not fresh.syn1.any() and fresh.learn_hidden and fresh.history == ()


# Models that folders refuse


def keys_swapped(model):
    model.wv.key_to_index |= {"graph": 0, "trees": 1}


REFUSED = {
    "hashfxn": lambda model: setattr(model, "hashfxn", own_hash),
    "raw_vocab": lambda model: model.build_vocab(common_texts, keep_raw_vocab=True),
    "mine": lambda model: setattr(model, "mine", 1),
    "wv.mine": lambda model: setattr(model.wv, "mine", 1),
    "wv.expandos.part": lambda model: model.wv.set_vecattr("graph", "part", "noun"),
    "wv.key_to_index": keys_swapped,
    "wv.count": lambda model: model.wv.expandos.update(count=np.full(len(model.wv), 1.5)),
    "expandos['point']": lambda model: model.wv.expandos["point"].fill(np.array([1, 1])),
    "history": lambda model: setattr(model, "history", [float("nan")]),
    "best_score": lambda model: setattr(model, "best_score", float("inf")),
    "mean_losses": lambda model: setattr(model, "mean_losses", ["x"]),
    "expandos['rank'] has 3 entries": lambda model: model.wv.expandos.update(rank=np.ones(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_folders_cannot_contain_is_named_before_anything_is_written(name, tmp_path):
    model = TFWord2Vec(common_texts, vector_size=4, min_count=1, hs=1, workers=1)
    REFUSED[name](model)
    with pytest.raises((TypeError, ValueError)) as error:
        model.save_pretrained(tmp_path / "folder")
    assert name in str(error.value)
    assert not (tmp_path / "folder").exists()


def test_vectors_of_ngrams_are_refused_without_their_model(tmp_path):
    model = made("ngrams")
    with pytest.raises(TypeError, match=r"attribute wv.vectors_(vocab|ngrams) of this FastText"):
        save_pretrained(model.wv, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_vectors_alone_keep_their_tree_and_values(tmp_path):
    before = made("words").wv
    save_pretrained(before, tmp_path)
    now = load_pretrained(tmp_path, {"KeyedVectors": KeyedVectors})
    assert now.expandos.keys() == before.expandos.keys()
    for name, values in before.expandos.items():
        check_equal(name, now.expandos[name], values)


def test_own_noise_distribution_and_unused_arrays_are_kept_by_folders(tmp_path):
    model = made("words")
    model.cum_table = np.arange(1, len(model.wv) + 1, dtype=np.uint32)
    model.hs = 0
    model.save_pretrained(tmp_path)
    loaded = TFWord2Vec.from_pretrained(tmp_path)
    np.testing.assert_array_equal(loaded.cum_table, model.cum_table)
    np.testing.assert_array_equal(loaded.syn1, model.syn1)


# Copies


def test_copies_train_while_the_model_is_trained_with_folders_of_their_own(tmp_path):
    options = {"vector_size": 4, "min_count": 1, "workers": 1, "checkpoint_dir": tmp_path / "a"}
    model = TFWord2Vec(**options)
    model.build_vocab(common_texts)
    found = []

    class Copy(CallbackAny2Vec):
        def on_epoch_end(self, model):
            twin = copy.deepcopy(model)
            with pytest.raises(RuntimeError, match="use a copy .*with its own checkpoint_dir"):
                model.train(common_texts, total_examples=9, epochs=1)
            with pytest.raises(CheckpointError, match="another training run is using"):
                twin.train(common_texts, total_examples=9, epochs=1)
            twin.checkpoint_dir = tmp_path / "b"
            twin.train(common_texts, total_examples=9, epochs=1)
            found.append(twin)

    model.train(common_texts, total_examples=9, epochs=1, callbacks=[Copy()])
    (twin,) = found
    assert (tmp_path / "b" / "checkpoint-000001").exists()
    assert (twin.wv.vectors != model.wv.vectors).any()


@pytest.mark.parametrize("class_", [Word2Vec, FastText])
def test_null_word_is_added_once(class_):
    ours = TFWord2Vec if class_ is Word2Vec else TFFastText
    options = {"vector_size": 4, "min_count": 1, "null_word": 1, "workers": 1}
    options |= {"bucket": 9} if class_ is FastText else {}
    plain, model = (of(common_texts, **options) for of in (class_, ours))
    assert model.wv.index_to_key == plain.wv.index_to_key and "\0" in model.wv
    model.build_vocab([["new"]], update=True)
    assert model.wv.index_to_key == [*plain.wv.index_to_key, "new"]
    model.train(common_texts, total_examples=9, epochs=1)
