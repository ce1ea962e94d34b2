"""The table of options agrees with gensim's classes, and options are parsed once."""

import collections
import inspect
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import gensim.models
import pytest
from gensim.models import Doc2Vec, FastText, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

import gensim_tfw2v.options
from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cli.training_options import NEEDED_OPTIONS
from gensim_tfw2v.options import config
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import DEFAULTS, TABLE, option_names
from gensim_tfw2v.regimes.parameter_server import LAYOUTS
from tests.docs.pages import PAGES

#: Parameters without values to check, or checked by gensim.
UNCHECKED = {
    *("sentences", "documents", "corpus_file", "comment", "compute_loss", "hashfxn", "null_word"),
    *("sorted_vocab", "word_ngrams", "dm_mean", "dv", "dv_mapfile"),
}


@pytest.mark.parametrize("class_", [TFWord2Vec, TFFastText, TFDoc2Vec])
def test_every_parameter_is_in_the_table(class_):
    names = {option.name for option in TABLE}
    assert set(inspect.signature(class_).parameters) - names <= UNCHECKED


@pytest.mark.parametrize("class_", [Word2Vec, FastText, Doc2Vec])
def test_defaults_equal_gensims(class_):
    parameters = inspect.signature(class_).parameters
    defaults = {name: parameters[name].default for name in parameters.keys() & DEFAULTS.keys()}
    if class_ is Doc2Vec:
        assert defaults.pop("epochs") == 10
    assert defaults == {name: DEFAULTS[name] for name in defaults}


#: Options of the classes that the command ``tfw2v train`` lacks: functions, experiments, and those
#: of Doc2Vec for which a program is written anyway.
PYTHON_ONLY = {"trim_rule", "callbacks", "dm_concat", "dm_tag_count"} | {
    *option_names(Use.EXPERIMENT)
}

CLASSES = {"": TFWord2Vec, "FastText": TFFastText, "Doc2Vec": TFDoc2Vec}

#: Functions that only check options, or convert them for later readers.
CHECKS = {"_check", "parse"}


def is_gensims(option):
    class_ = getattr(gensim.models, option.class_name or "Word2Vec")
    return option.name in inspect.signature(class_).parameters


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Train small models of all classes, and return who has read each option meanwhile.

    The result maps the owner of an attribute ("model", "config" or "arguments") and its name to the
    (file, function) pairs that have read it. Only functions that spell the name count: loops over
    all options, as for hashes, copies and log files, read options without using them.
    """
    found = collections.defaultdict(set)

    def record(patched, class_, owner):
        get = class_.__getattribute__

        def recording(self, name):
            code = sys._getframe(1).f_code
            if name in code.co_names:
                found[owner, name].add((Path(code.co_filename), code.co_name))
            return get(self, name)

        patched.setattr(class_, "__getattribute__", recording)

    class Arguments(SimpleNamespace):
        """Options while they are parsed."""

    folder = tmp_path_factory.mktemp("read")
    small = {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1}
    folders = {name: str(folder / name) for name in option_names(Use.FOLDER)}
    (folder / "encoded_dir").mkdir()
    documents = [TaggedDocument(words, [index]) for index, words in enumerate(common_texts)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(config, "SimpleNamespace", Arguments)
        record(patched, Arguments, "arguments")
        record(patched, TrainingConfig, "config")
        record(patched, TFWord2Vec, "model")
        TFWord2Vec(common_texts, **small, **folders)
        TFWord2Vec(common_texts, **small, regime="asynchronous")
        TFFastText(common_texts, **small, bucket=10)
        TFDoc2Vec(documents, **small, dm_concat=1)
        TFDoc2Vec(documents, **small, dm=0, dbow_words=1)
    return found


def is_in(package, path):
    return Path(inspect.getfile(package)).parent in path.parents


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.name)
def test_every_option_is_read_by_a_training(option, readers):
    """An option that is declared, but that nobody reads, would be accepted and ignored."""
    if Use.ARGUMENT in option.uses:
        assert is_gensims(option)  # no attribute: it is passed on to gensim's constructor
        return
    files = {path for owner in ("model", "config") for path, _ in readers[owner, option.name]}
    trained = {
        path
        for path in files
        if is_in(gensim.models, path)
        or is_in(gensim_tfw2v, path)
        and not is_in(gensim_tfw2v.options, path)
    }
    # `parse` makes a field of a different name of it, which the next test covers
    is_converted = "parse" in {function for _, function in readers["arguments", option.name]}
    is_field = option.name in {field.name for field in fields(TrainingConfig)}
    assert trained or is_converted and not is_field


@pytest.mark.parametrize("field", fields(TrainingConfig), ids=lambda field: field.name)
def test_every_field_of_the_configuration_is_read_by_a_training(field, readers):
    functions = {
        (path, function)
        for path, function in readers["config", field.name]
        if is_in(gensim_tfw2v, path)
    }
    assert {function for _, function in functions} - CHECKS


@pytest.mark.parametrize("name", option_names(Use.OWN) + option_names(Use.EXPERIMENT))
def test_own_option_belongs_to_the_identity_and_is_refused_in_gensims_code(name):
    """Models are trained by different options: a checkpoint of another value must not resume."""
    (uses,) = (option.uses for option in TABLE if option.name == name)
    assert Use.IDENTITY in uses and Use.REFUSED in uses


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.name)
def test_every_option_is_documented(option):
    """Options are parameters or attributes in the docstring of their class, and are on a page."""
    pages = "".join(path.read_text("utf-8") for path in PAGES if path.name != "CHANGELOG.md")
    typed = option.name.replace("_", "-")
    assert re.search(rf"`{option.name}`|\b{option.name} ?=|--{typed}\b", pages), "on no page"
    if option.name == "negative_shards":  # an experiment, which only a page describes
        return
    docstring = inspect.cleandoc(CLASSES[option.class_name].__doc__)
    described = re.findall(r"^(\w[\w, ]*) : .+\n    \S", docstring, re.MULTILINE)
    assert option.name in ", ".join(described).split(", "), "not in the docstring"


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.name)
def test_every_option_is_one_of_the_command(option):
    is_option = option.name in inspect.signature(train).parameters
    assert is_option == (option.name not in PYTHON_ONLY)
    if is_option and option.class_name:  # refused unless the command trains this class
        assert NEEDED_OPTIONS[option.name] == (option.class_name.lower(),)


def test_layout_option_lists_all_layouts():
    (layout,) = (option.kind for option in TABLE if option.name == "layout")
    assert layout.values == tuple(LAYOUTS)


def test_options_are_parsed_again_only_after_a_change():
    model = TFWord2Vec([["a", "b"]] * 9, min_count=1, vector_size=2, workers="2")
    config = model._current_config()
    assert model._current_config() is config
    assert config.workers == 2
    model.window = 3
    assert model._current_config().window == 3
    model.window = 3.0  # equal, but a different object
    assert model._current_config() is not config
    model.window = "3"
    with pytest.raises(TypeError, match="window must be a whole number"):
        model._current_config()


def test_changed_tf_config_is_read_again(monkeypatch):
    addresses = {"ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": addresses, "task": task}))
    model = TFWord2Vec(cluster="TF_CONFIG")
    addresses["worker"].append("10.0.0.4:2222")
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": addresses, "task": task}))
    assert len(model._current_config().cluster.worker) == 2


@pytest.mark.parametrize(
    ("class_", "name"),
    [
        *((TFWord2Vec, name) for name in ("vector_size", "epochs", "max_final_vocab")),
        *((TFFastText, name) for name in ("min_n", "max_n", "bucket")),
        *((TFDoc2Vec, name) for name in ("dm", "dm_tag_count")),
    ],
)
def test_floats_are_refused_where_gensim_needs_an_integer(class_, name):
    """gensim would fail later, when the number is a shape or the end of a range."""
    with pytest.raises(TypeError, match=f"{name} must be a whole number"):
        class_(**{name: 1.0})


@pytest.mark.parametrize("use", Use)
def test_every_use_is_of_some_option(use):
    assert any(use in option.uses for option in TABLE)
