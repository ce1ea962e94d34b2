"""The table of options agrees with gensim's classes, and options are parsed once."""

import ast
import functools
import inspect
import json
import re
from pathlib import Path

import gensim.models
import pytest
from gensim.models import Doc2Vec, FastText, Word2Vec

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.options.table import DEFAULTS, TABLE, Option
from gensim_tfw2v.regimes.parameter_server import LAYOUTS
from tests.docs.pages import PAGES, ROOT

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


def test_every_use_is_described():
    described = re.findall(r"^ +- ([\w, -]+):", str(Option.__doc__), re.MULTILINE)
    known = {use for uses in described for use in uses.split(", ")}
    assert {use for option in TABLE for use in option.uses.split()} == known


#: Files that name options without using their values.
LISTS = ("options/table.py", "options/keywords.py", "cli")

CLASSES = {"": TFWord2Vec, "FastText": TFFastText, "Doc2Vec": TFDoc2Vec}


def names_read(paths):
    """Return the names of variables and attributes whose values are used in Python files."""
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    read = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Load)]
    return {getattr(node, "attr", getattr(node, "id", None)) for node in read}


@functools.cache
def names_read_here():
    package = ROOT / "gensim_tfw2v"
    lists = tuple(str(package / name) for name in LISTS)
    return names_read(path for path in package.rglob("*.py") if not str(path).startswith(lists))


@functools.cache
def names_read_by_gensim():
    folder = Path(gensim.models.__file__).parent
    return names_read(folder / f"{name}.py" for name in ("word2vec", "fasttext", "doc2vec"))


def is_of_gensim(option):
    return (
        option.name in inspect.signature(getattr(gensim.models, option.of or "Word2Vec")).parameters
    )


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.name)
def test_every_option_is_read(option):
    """An option that only the table, the keywords and the command name would do nothing."""
    assert option.name in names_read_here() | (
        names_read_by_gensim() if is_of_gensim(option) else set()
    )


@pytest.mark.parametrize("option", TABLE, ids=lambda option: option.name)
def test_every_option_is_documented(option):
    """Options are in the docstring of their class, and this package's own ones on a page."""
    texts = {"the docstring": CLASSES[option.of].__doc__}
    if "experiment" in option.uses.split():
        texts.clear()  # no argument sets it
    if not is_of_gensim(option):
        pages = [path for path in PAGES if path.name != "CHANGELOG.md"]
        texts["the pages"] = "".join(path.read_text("utf-8") for path in pages)
    assert texts
    missing = [name for name, text in texts.items() if not re.search(rf"\b{option.name}\b", text)]
    assert not missing, f"{missing} must mention {option.name}"


@pytest.mark.parametrize("kind", CLASSES)
def test_every_parameter_is_described_with_its_type(kind):
    """A reader of the reference needs no page of gensim's beside it."""
    described = set()
    for class_ in {CLASSES[""], CLASSES[kind]}:
        parameters = inspect.cleandoc(class_.__doc__).partition("\n----------\n")[2]
        parameters = parameters.partition("\n\nRaises\n")[0]
        # a line "name : type" at the margin, and an indented description
        for names in re.findall(r"^(\w[\w, ]*) : .+\n    \S", parameters, re.MULTILINE):
            described |= set(names.split(", "))
    assert described >= set(inspect.signature(CLASSES[kind]).parameters)


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
