"""Packages that are too old raise an error with the fix."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gensim_tfw2v import _tensorflow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


ROOT = Path(__file__).parents[1]


def needed_by_package():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]["dependencies"]


@pytest.mark.parametrize(
    ("package", "found"), [("tensorflow", "2.20.1"), ("gensim", "4.3.3"), ("gensim", "3.8")]
)
def test_old_package_raises_with_the_fix(package, found, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    with pytest.raises(ImportError, match=rf"{found} is installed. Run: pip install --upgrade"):
        _tensorflow.require(package)


@pytest.mark.parametrize(("package", "found"), [("tensorflow", "2.21.0"), ("gensim", "10.0")])
def test_new_package_is_accepted(package, found, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    _tensorflow.require(package)


def test_each_requirement_has_a_minimum_version():
    needed = [Requirement(one) for one in needed_by_package()]
    lowest = {
        one.name: tuple(map(int, bound.version.split(".")))
        for one in needed
        for bound in one.specifier
        if bound.operator == ">="
    }
    assert lowest.keys() == {one.name for one in needed}
    assert lowest.items() >= _tensorflow.MIN_VERSIONS.items()
    # TensorBoard 2.20 imports pkg_resources, which setuptools has removed
    assert lowest["tensorboard"] >= (2, 21)


def test_light_requirements_are_all_but_tensorflow_and_tensorboard():
    lines = (ROOT / "requirements-light.txt").read_text("utf-8").splitlines()
    needed = {one for one in needed_by_package() if not one.startswith("tensor")}
    assert {line for line in lines if not line.startswith("#")} == needed


def test_keras_is_imported_on_first_use():
    """Takes 5 s of CPU, because it really imports Keras."""
    code = """
import sys
from gensim_tfw2v._tensorflow import tf
assert not [name for name in sys.modules if name.partition(".")[0] == "keras"]
assert tf.keras.optimizers.SGD(0.5).learning_rate == 0.5
import keras
assert keras is not None and "keras.src.optimizers" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("collects", [True, False])
def test_import_pauses_garbage_collection_and_restores_it(collects):
    code = f"""
import gc
collects, looks = {collects}, []
gc.enable() if collects else gc.disable()
gc.callbacks.append(lambda phase, _: looks.append(phase))
from gensim_tfw2v import TFWord2Vec
assert gc.isenabled() == collects
assert len(looks) < 100, len(looks)  # over 1,000 with garbage collection
"""
    subprocess.run([sys.executable, "-c", code], check=True)


#: Imports all names without the packages that are named; then opens a table.
IMPORT_ALL = """
import sys

sys.modules |= dict.fromkeys(sys.argv[1].split())  # importing these raises ModuleNotFoundError
from gensim_tfw2v import *
import gensim_tfw2v

missing = [name for name in gensim_tfw2v.__all__ if name not in globals()]
assert not missing, missing
TFWord2Vec([["a", "b"]] * 20, vector_size=4, min_count=1, epochs=1)
TableSentences("table.csv", "text")
"""


def test_all_names_are_imported_without_optional_packages():
    packages = "pyarrow usearch huggingface_hub safetensors model2vec yaml tensorflow tensorboard"
    command = [sys.executable, "-c", IMPORT_ALL, packages]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = "ImportError: reading tables needs pyarrow, which is missing. Run: pip install pyarrow"
    assert run.stderr.splitlines()[-1] == said
