"""Type annotations, as the type checker of a user's script reads them."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gensim.models import KeyedVectors
from gensim.models.fasttext import FastTextKeyedVectors

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.options.keywords import Doc2VecOptions, FastTextOptions, Word2VecOptions
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import option_names

SCRIPT = """\
from pathlib import Path
from gensim_tfw2v import EarlyStopping, TFDoc2Vec, TFFastText, TFWord2Vec

TFWord2Vec(vector_sise=50)
TFWord2Vec(window="five")
TFWord2Vec(sg="yes")
TFWord2Vec(alpha="0.1")
TFWord2Vec(corpus_file=3)
TFWord2Vec(workers=2.5)
TFWord2Vec(cluster=4)
TFWord2Vec(checkpoint_minutes="10")
TFFastText(min_n="3")
TFFastText(buckets=10)
TFDoc2Vec(dm="dbow")
TFDoc2Vec(sg=1)
TFWord2Vec().train([["a"]], epochs="one")
EarlyStopping("loss", mode="least")
TFWord2Vec([["a", "b"]], vector_size=5, min_count=1, log_dir="runs", callbacks=[])
TFFastText(sentences=[["a"]], bucket=10, compute_loss=True, regime="synchronous", sg=True)
TFWord2Vec(corpus_file=Path("a")).train(corpus_file=Path("a"), epochs=1)
TFFastText(corpus_file=Path("a")).build_vocab(corpus_file=Path("a"))
TFDoc2Vec(corpus_file=Path("a")).build_vocab(corpus_file=Path("a"))
TFWord2Vec().partial_fit(corpus_file=Path("a"))
TFWord2Vec().held_out_loss(corpus_file=Path("a"))
TFWord2Vec().checkpoint_dir = Path("a")
TFWord2Vec().log_dir = Path("a")
TFDoc2Vec(documents=[], dm=0, dbow_words=1, alpha=0.05, compute_loss=True, log_dir="runs")
"""


def test_type_checker_finds_mistakes_in_a_script(tmp_path):
    """Takes 5 s of CPU, or 10 without mypy's cache: mypy reads everything that is imported."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = re.findall(r"script\.py:(\d+): error", checked.stdout)
    assert found == [str(line) for line in range(4, 18)], checked.stdout


def test_every_option_has_a_type():
    assert set(Word2VecOptions.__annotations__) == set(inspect.signature(TFWord2Vec).parameters)
    of_fasttext = set(inspect.signature(TFFastText).parameters)
    assert {*FastTextOptions.__annotations__, "compute_loss", "tables_dir"} == of_fasttext
    of_documents = set(inspect.signature(TFDoc2Vec).parameters)
    assert set(Doc2VecOptions.__annotations__) == of_documents


def test_every_own_option_is_an_annotated_attribute():
    own = {name for use in (Use.OWN, Use.EXPERIMENT, Use.RUNNING) for name in option_names(use)}
    assert own <= set(TFWord2Vec.__annotations__)


@pytest.mark.parametrize(
    ("class_", "name", "expected"),
    [
        (TFWord2Vec, "wv", KeyedVectors),
        (TFFastText, "wv", FastTextKeyedVectors),
        (TFDoc2Vec, "wv", KeyedVectors),
        (TFDoc2Vec, "dv", KeyedVectors),
    ],
)
def test_vectors_are_annotated_with_their_class(class_, name, expected):
    """Editors complete methods of ``model.wv``; mypy needs ``--follow-untyped-imports`` for it."""
    owner = next(base for base in class_.__mro__ if name in vars(base).get("__annotations__", {}))
    annotation = owner.__annotations__[name]
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(sys.modules[owner.__module__]))
    assert annotation is expected
    assert type(getattr(class_(), name)) is expected
