"""Units of PV-DBOW with very many (tag, token) pairs are drawn in pieces while they are trained."""

import subprocess
import sys

import numpy as np
import pytest

from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import Lists, alias_table
from tests.kernel.native.units import DEFAULTS, words_of

VOCABULARY, TAGS, SIZE = 30, 12, 20
KEY = np.array([4, -7], np.int32)


def words(shards=1):
    rng = np.random.default_rng(1)
    paths = [2 * rng.permutation(VOCABULARY - 1)[:5] + n % 2 for n in range(VOCABULARY)]
    return words_of(
        keep=np.full(VOCABULARY, 0.8, np.float32),
        noise=alias_table(rng.uniform(0.1, 1.0, VOCABULARY), shards),
        tree=Lists.of(paths),
    )


def entries():
    """Return 20 documents of 30 words and 5 tags; one has no tags, one has no words."""
    rng = np.random.default_rng(2)
    documents = []
    for number in range(20):
        tags = FIRST_TAG - rng.choice(TAGS, 5 * (number != 3), replace=False)
        documents += [tags, rng.integers(0, VOCABULARY, 30 * (number != 7)), [END]]
    return np.concatenate(documents).astype(np.int32)


def tables(words):
    rng = np.random.default_rng(3)
    rows = VOCABULARY + TAGS, VOCABULARY, VOCABULARY - 1
    return by_ctypes.KernelTables(
        [rng.normal(size=(n, SIZE)).astype(np.float32) / SIZE for n in rows], words
    )


def trained(options, max_pairs, alphas=(0.05, 0.01)):
    """Return the rows, and the result, of a unit drawn in pieces of so many pairs."""
    made = tables(words())
    unit = by_ctypes.draw(options, entries(), KEY, words(), max_pairs)
    result = made.train(options, unit, np.array(alphas, np.float32), loss_every=1)
    return made.rows, result, unit


@pytest.mark.parametrize("train_words", [0, 1])
@pytest.mark.parametrize("sequential", [0, 1])
@pytest.mark.parametrize("max_pairs", [1, 7, 8, 1000])
def test_pieces_make_the_updates_of_the_whole_unit(train_words, sequential, max_pairs):
    options = DEFAULTS._replace(
        **dict(documents=1, negative=0, hierarchical=1, learn_hidden=0),
        **dict(train_words=train_words, sequential=sequential),
    )
    # with small steps, and outputs that are not trained, the order of the pairs does not matter
    alphas = 1e-3, 1e-3
    expected, whole, unit = trained(options, 1 << 20, alphas)
    assert unit.counts[0] > 2000
    rows, result, unit = trained(options, max_pairs, alphas)
    assert unit.counts.tolist() == [0, unit.counts[1], *KEY, max_pairs]
    assert len(unit.targets) == unit.counts[1] < 500
    assert result.predictions == whole.predictions and result.trained == 1
    assert result.loss == pytest.approx(whole.loss, rel=1e-3)
    before = tables(words()).rows[0]
    way = np.abs(expected[0] - before).max(1)
    assert (way[VOCABULARY:] > 1e-3).all() and (way[:VOCABULARY] > 0).any() == bool(train_words)
    np.testing.assert_allclose(rows[0], expected[0], rtol=0, atol=0.02 * way.max())


@pytest.mark.parametrize("hierarchical", [0, 1])
@pytest.mark.parametrize("train_words", [0, 1])
@pytest.mark.parametrize("sequential", [0, 1])
def test_pieces_have_the_loss_of_the_whole_unit(train_words, sequential, hierarchical):
    options = DEFAULTS._replace(
        **dict(documents=1, train_words=train_words),
        **dict(sequential=sequential, hierarchical=hierarchical),
    )
    _, whole, _ = trained(options, 1 << 20)
    rows, result, _ = trained(options, 300)
    assert result.predictions == whole.predictions
    assert result.loss == pytest.approx(whole.loss, rel=0.03)
    again, same, _ = trained(options, 300)
    assert same == result
    for one, other in zip(rows, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_more_pairs_than_the_limit_are_drawn_at_once():
    options = DEFAULTS._replace(documents=1, train_words=0)
    pairs = int(by_ctypes.draw(options, entries(), KEY, words()).counts[0])
    for max_pairs, is_whole in ((pairs, True), (pairs - 1, False)):
        unit = by_ctypes.draw(options, entries(), KEY, words(), max_pairs)
        assert (len(unit.inputs) == pairs) == is_whole == (len(unit.counts) == 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents": [99]}, "documents must be indices of lists of tags"),
        ({"tags": [VOCABULARY + TAGS]}, "rows of the table of inputs"),
        ({"targets": [VOCABULARY]}, "targets must be words|needs a path"),
        ({"counts": [0]}, "a unit in pieces needs"),
    ],
    ids=str,
)
def test_wrong_unit_in_pieces_is_refused_before_rows_change(change, message):
    options = DEFAULTS._replace(documents=1)
    unit = by_ctypes.draw(options, entries(), KEY, words(), 100)
    for name, value in change.items():
        getattr(unit, name)[-1:] = value
    made = tables(words())
    before = [rows.copy() for rows in made.rows]
    with pytest.raises(ValueError, match=message):
        made.train(options, unit, np.array([0.05, 0.01], np.float32))
    for rows, right in zip(made.rows, before, strict=True):
        np.testing.assert_array_equal(rows, right)


def test_unit_in_pieces_is_trained_whole():
    options = DEFAULTS._replace(documents=1)
    unit = by_ctypes.draw(options, entries(), KEY, words(), 100)
    with pytest.raises(ValueError, match="is trained whole"):
        tables(words()).train(options, unit, np.array([0.05, 0.01], np.float32), 0, 8)


#: Prints the MiB that training a document with 2,000 tags and 2,000 words needs.
MEMORY = """
import resource
import numpy as np
from gensim_tfw2v.corpus.shard_files import FIRST_TAG
from gensim_tfw2v.kernel.native import by_ctypes
from tests.kernel.native.units import DEFAULTS, words_of
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
noise = np.tile(np.array([[1 << 30, 1]], np.int32), (9, 1))
words = words_of(keep=np.ones(9, np.float32), noise=noise)
tables = by_ctypes.KernelTables(
    [np.zeros((n, 8), np.float32) for n in (2009, 9, 0)], words
)
tags = FIRST_TAG - np.arange(2000)
entries = np.concatenate([tags, np.arange(2000) % 9, [-1]]).astype(np.int32)
options = DEFAULTS._replace(documents=1, train_words=0)
before = used()
unit = by_ctypes.draw(options, entries, np.array([1, 2], np.int32), words)
result = tables.train(options, unit, np.array([.05, .01], np.float32), loss_every=1)
assert result.predictions == 4_000_000
print(used() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs ru_maxrss in KiB")
def test_document_with_many_tags_and_words_needs_little_memory():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 40  # 276 if all pairs are drawn at once
