"""Trees of hierarchical softmax: encoded as children, selected, and refused if they are none."""

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec, word2vec
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.training.checkpoints import CheckpointError
from gensim_tfw2v.training.huffman import Paths, decode, encode, select


def tree(counts):
    """gensim's tree of words with these counts."""
    vectors = KeyedVectors(1)
    vectors.index_to_key = [f"w{word}" for word in range(len(counts))]
    vectors.key_to_index = {word: row for row, word in enumerate(vectors.index_to_key)}
    vectors.expandos["count"] = np.array(counts)
    word2vec._assign_binary_codes(vectors)
    return Paths.of(vectors)


def check_equal(found, expected):
    assert found.equal(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_equal(list(one), list(other))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.data())
def test_children_give_the_paths_again(counts, data):
    paths = tree(counts)
    children = encode(paths)
    assert children.shape == (len(counts) - 1, 2) and children.dtype == np.uint32
    check_equal(decode(children, len(counts)), paths)
    rows = data.draw(st.lists(st.none() | st.integers(0, len(counts) - 1), unique=True))
    some, nodes = select(paths, rows)
    check_equal(decode(encode(some), len(rows)), some)
    assert len(nodes) == max(0, len([row for row in rows if row is not None]) - 1)
    for row, point, code in zip(rows, *some, strict=True):
        path = [] if row is None else [*zip(paths.points[row], paths.codes[row], strict=True)]
        kept = [*zip(nodes[np.asarray(point, int)], code, strict=True)]
        assert kept == [step for step in path if step[0] in nodes]


def test_trees_differ_by_their_checksum():
    sums = {tree(counts).checksum() for counts in ([3, 2, 1], [3, 2, 9], [3, 2, 2], [1, 1, 1, 1])}
    assert len(sums) == 3  # the first and the third are equal


def changed(point, code):
    paths = tree([5, 4, 3, 2, 1])
    paths.points[2] = np.array(point, np.uint32)
    paths.codes[2] = np.array(code, np.uint8)
    return paths


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ([3], [0, 1]),
        ([9], [1]),
        ([2**32 - 1], [1]),
        ([3], [2]),
        ([3, 3], [0, 0]),
        ([], []),
        ([0], [0]),
        ([3, 2, 1, 0], [1, 1, 1, 1]),
    ],
)
def test_paths_that_are_no_tree_are_refused(point, code):
    with pytest.raises(ValueError, match=r"wv.expandos\['point'\]"):
        encode(changed(point, code))


@pytest.mark.parametrize(
    "children",
    [
        [[0, 1]] * 2,
        [[0, 2]],
        [[0, 9]],
        [[2, 0]],
        [[0, 1], [2, 3]],
        [[0, 1], [4, 3]],
        [[3, 0], [2, 1]],
        [0, 1],
        [[0], [1]],
        [[0, 1, 2]],
    ],
)
def test_children_that_are_no_tree_are_refused(children):
    with pytest.raises(ValueError, match="not those of a tree"):
        decode(np.array(children, np.uint32), 2)


@pytest.mark.parametrize("words", [range(5), [3, 1, 2, 0, 4], [1.5, (1, 2), "x", 0, b"y"]])
def test_words_of_any_type_have_the_tree_of_their_counts(words):
    """gensim's code takes a row that is also a word for the word."""
    texts = [[word] * count for word, count in zip(words, (9, 7, 4, 2, 1), strict=True)]
    named = [[f"w{row}"] * len(text) for row, text in enumerate(texts)]
    options = {"vector_size": 2, "min_count": 1, "hs": 1, "negative": 0}
    model = TFWord2Vec(texts, **options)
    assert model.wv.index_to_key == list(words)
    check_equal(Paths.of(model.wv), Paths.of(Word2Vec(named, **options).wv))


def test_checkpoints_of_another_tree_are_refused(tmp_path):
    def made():
        options = {"vector_size": 2, "min_count": 1, "hs": 1, "workers": 1, "seed": 3}
        model = TFWord2Vec(checkpoint_dir=tmp_path, **options)
        model.build_vocab(common_texts)
        return model

    def train(model):
        model.train(common_texts, total_examples=9, epochs=2)
        return model.wv.vectors

    vectors = train(made())
    np.testing.assert_array_equal(train(made()), vectors)
    other = made()
    other.wv.set_vecattr("human", "count", 99)
    other.create_binary_tree()
    with pytest.raises(CheckpointError, match="of a different training run: it has tree='"):
        train(other)
