"""Every kind of corpus has an example here, which is read in the fastest form that it allows."""

import importlib
import inspect
import pkgutil
import sys
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from gensim.models.word2vec import LineSentence
from pyarrow import parquet

import gensim_tfw2v
from gensim_tfw2v import TableDocuments, TableSentences, WeightedSentences, corpus, walks
from gensim_tfw2v.corpus import word_ids
from gensim_tfw2v.corpus.corpus_kinds import KINDS
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.corpus.integer_arrays import IntegerArrays, SentenceBlock
from gensim_tfw2v.corpus.protocol import Corpus, CorpusSource
from gensim_tfw2v.corpus.scanner import library
from gensim_tfw2v.corpus.sentence_corpus import IntegerCorpus, SentenceCorpus
from gensim_tfw2v.corpus.text_corpus import TextCorpus
from gensim_tfw2v.corpus.weighted_corpus import WeightedCorpus
from gensim_tfw2v.walks.random_walks import RandomWalks
from gensim_tfw2v.walks.walk_corpus import WalkCorpus
from tests.corpus.reference import decoded, open_corpus

WORDS = [["a", "b", "a"], ["c"], ["b", "c"]]
INTEGERS = [[1, 2, 1], [3, 2, 3]]


def write_text(folder):
    path = folder / "text.txt"
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in WORDS))
    return path


def write_table(folder, column):
    path = folder / "table.parquet"
    parquet.write_table(pa.table({"column": column, "ones": [1.0] * len(column)}), path)
    return path


def weighted_table(column):
    """Return a function that makes a table of sentences of weight 1."""
    return lambda folder: TableSentences(write_table(folder, column), "column", weight="ones")


def texts(folder, table=TableSentences):
    return table(write_table(folder, [" ".join(sentence) for sentence in WORDS]), "column")


def walk_chain():
    """Return walks on a chain of nodes. There is only one: 0, 1, 2."""
    chain = np.array([0, 1, 2, 2]), np.array([1, 2])
    return RandomWalks(chain, 2, 3, directed=True, start_nodes=[0])


class Example(NamedTuple):
    """Example of a kind, the type of the corpus that is open, and the sentences."""

    kind: str
    make: Any
    form: type[Corpus]
    sentences: list[list[Any]]


EXAMPLES = {
    "path": Example("texts", write_text, TextCorpus, WORDS),
    "LineSentence": Example(
        "texts", lambda folder: LineSentence(str(write_text(folder))), TextCorpus, WORDS
    ),
    "TableSentences": Example("sources", texts, TextCorpus, WORDS),
    "TableDocuments": Example(
        "sources", lambda folder: texts(folder, TableDocuments), TextCorpus, WORDS
    ),
    "table of integers": Example(
        "sources",
        lambda folder: TableSentences(write_table(folder, INTEGERS), "column"),
        IntegerCorpus,
        INTEGERS,
    ),
    "table of lists": Example(
        "sources",
        lambda folder: TableSentences(write_table(folder, WORDS), "column"),
        SentenceCorpus,
        WORDS,
    ),
    "table of texts with weights": Example(
        "sources", weighted_table([" ".join(words) for words in WORDS]), WeightedCorpus, WORDS
    ),
    "table of integers with weights": Example(
        "sources", weighted_table(INTEGERS), WeightedCorpus, INTEGERS
    ),
    "table of lists with weights": Example("sources", weighted_table(WORDS), WeightedCorpus, WORDS),
    "pairs": Example(
        "sources",
        lambda _: WeightedSentences([(words, 1) for words in WORDS]),
        WeightedCorpus,
        WORDS,
    ),
    "pairs with integers": Example(
        "sources",
        lambda _: WeightedSentences([(words, 1) for words in INTEGERS]),
        WeightedCorpus,
        INTEGERS,
    ),
    "array": Example("arrays", lambda _: np.array(INTEGERS), IntegerCorpus, INTEGERS),
    "ragged arrays": Example(
        "arrays", lambda _: (np.ravel(INTEGERS), np.array([0, 3, 6])), IntegerCorpus, INTEGERS
    ),
    "pyarrow": Example("arrays", lambda _: pa.array(INTEGERS), IntegerCorpus, INTEGERS),
    "batches": Example(
        "batches of integers",
        lambda _: IntegerArrays([SentenceBlock.ragged(np.ravel(INTEGERS), np.array([0, 3, 6]))]),
        IntegerCorpus,
        INTEGERS,
    ),
    "lists": Example("iterables", lambda _: WORDS, SentenceCorpus, WORDS),
    "RandomWalks": Example("sources", lambda _: walk_chain(), WalkCorpus, [[0, 1, 2], [0, 1, 2]]),
}

#: Subpackages with corpora.
PACKAGES = (corpus, walks)


def all_modules():
    for package in PACKAGES:
        yield from pkgutil.walk_packages(package.__path__, f"{package.__name__}.")


def classes_of(base):
    """Return the subclasses of a class in all modules of corpora.

    Tests that import a module again make classes that nothing refers to; these are left out.
    """
    for module in all_modules():
        importlib.import_module(module.name)
    found = set()
    waiting = [base]
    while waiting:
        waiting += (subclasses := waiting.pop().__subclasses__())
        found.update(kind for kind in subclasses if kind.__module__.startswith("gensim_tfw2v"))
    return {kind for kind in found if getattr(sys.modules[kind.__module__], kind.__name__) is kind}


def test_every_kind_and_every_source_have_an_example(tmp_path):
    assert {example.kind for example in EXAMPLES.values()} == {kind.name for kind in KINDS}
    made = {type(example.make(tmp_path)) for example in EXAMPLES.values()}
    assert not classes_of(CorpusSource) - made


def test_every_opener_is_of_a_kind():
    openers = {kind.opener for kind in KINDS}
    for module in all_modules():
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isfunction(value) and [*inspect.signature(value).parameters] == [
                "source",
                "tagged",
            ]:
                assert value in openers or not name.startswith("open_"), (module.name, name)


def test_public_classes_of_corpora_open_themselves():
    modules = gensim_tfw2v._MODULES.items()
    public = [name for name, module in modules if module.startswith(("corpus.", "walks."))]
    assert public
    for name in public:
        assert issubclass(getattr(gensim_tfw2v, name), CorpusSource), name


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_opened_by_its_kind_in_its_form(name, tmp_path):
    example = EXAMPLES[name]
    source = example.make(tmp_path)
    opened = [(kind.name, kind.opener(source, False)) for kind in KINDS]
    assert next(kind for kind, form in opened if form is not None) == example.kind
    assert type(open_corpus(source)) is example.form


@pytest.mark.skipif(library() is None, reason="the compiled library is missing")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_read_by_compiled_code(name, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a word became an object")

    monkeypatch.setattr(word_ids.WordIds, "__missing__", refuse)
    monkeypatch.setattr(word_ids.KnownWordIds, "__missing__", refuse)
    example = EXAMPLES[name]
    source = example.make(tmp_path)
    with scan_corpus(open_corpus(source)) as scan:
        assert scan.corpus_count == len(example.sentences)
        known = {word: index for index, word in enumerate(scan.raw_vocab)}
        for encoded in scan.encode(known), encode_corpus(open_corpus(source), known):
            with encoded:
                assert decoded(encoded, list(known)) == example.sentences


class Doubled(TableSentences):
    """Sentences of a table, each twice."""

    def __iter__(self):
        for sentence in super().__iter__():
            yield sentence * 2


class Named(TableSentences):
    """Sentences of a table, with a name."""

    name = "a name"


@pytest.mark.parametrize("column", [[" ".join(words) for words in WORDS], INTEGERS])
def test_subclass_with_its_own_iterator_is_read_by_it(column, tmp_path):
    path = write_table(tmp_path, column)
    doubled = Doubled(path, "column")
    form = open_corpus(doubled)
    assert type(form) is SentenceCorpus
    with scan_corpus(form) as scan:
        assert scan.total_words == 12
    assert type(open_corpus(Named(path, "column"))) is not SentenceCorpus
