"""Deep nodes of hierarchical softmax in blocks."""

import numpy as np
import pytest
from gensim.models import Word2Vec

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.deep_nodes import deep_nodes, run_weights, shared_nodes
from gensim_tfw2v.objectives.tree import CODE_BITS, huffman_tree

STEPS, BLOCKS, WIDTH = 3, 4, 8


@pytest.fixture(params=["balanced", "skewed"])
def paths(request):
    """gensim's points and codes of 70 words; the skewed tree is deeper than codes are compared."""
    counts = np.full(70, 10) if request.param == "balanced" else 1.8 ** np.arange(70) + 1
    model = Word2Vec(hs=1, negative=0, min_count=1)
    model.build_vocab_from_freq({str(word): int(count) for word, count in enumerate(counts)})
    points, codes = (model.wv.expandos[name] for name in ("point", "code"))
    assert (max(map(len, codes)) > CODE_BITS) == (request.param == "skewed")
    return points, codes


def centres(tree, in_order):
    words = np.random.default_rng(5).integers(0, 70, (STEPS, BLOCKS, WIDTH))
    words[0, 0] = 3  # a block of one word
    if in_order:
        words = np.take_along_axis(words, np.argsort(tree.rank[words], 2), 2)
    return words


def columns_of(nodes, values, padding):
    """What each block of each step has in its slots."""
    in_slots = nodes.in_slots(values, nodes.slots, padding)
    for begin, number in zip(*(x[:, 0].numpy() for x in nodes.used), strict=True):
        yield from in_slots[begin : begin + number].numpy().reshape(BLOCKS, -1)


@pytest.mark.parametrize("top_depth", [0, 2, 5, 200])
@pytest.mark.parametrize("shared", [False, True])
def test_every_centre_has_the_deep_nodes_of_its_path(paths, top_depth, shared):
    points, codes = paths
    tree = huffman_tree(points, codes, top_depth)
    words = centres(tree, in_order=shared)
    nodes = (shared_nodes if shared else deep_nodes)(
        tf.constant(words, tf.int32), tf.nest.map_structure(tf.constant, tree)
    )
    itself = np.eye(WIDTH, dtype=np.float32)
    weights = (
        run_weights(WIDTH) if shared else np.concatenate([itself, -itself, np.zeros((1, WIDTH))])
    )
    rows = columns_of(nodes, nodes.nodes, -1)
    sources = nodes.sources.numpy()
    blocks = words.reshape(-1, WIDTH)
    used = 0
    for begin, number in zip(*(x[:, 0].numpy() for x in nodes.used), strict=True):
        for source in sources[begin : begin + number].reshape(BLOCKS, -1):
            block, row = blocks[used], next(rows)
            assert not weights[source][row < 0].any()
            for place, word in enumerate(block):
                signs = weights[source][:, place]
                found = sorted(zip(row[signs != 0], signs[signs != 0], strict=True))
                path = zip(points[word][top_depth:], 1 - 2.0 * codes[word][top_depth:], strict=True)
                assert found == sorted(path)
            used += 1
    assert used == len(blocks)


def test_a_node_is_one_column_of_a_block_in_tree_order(paths):
    tree = huffman_tree(*paths, top_depth=2)
    words = centres(tree, in_order=True)
    nodes = shared_nodes(tf.constant(words, tf.int32), tf.nest.map_structure(tf.constant, tree))
    depth = {int(n): d for path in paths[0] for d, n in enumerate(path)}
    for row in columns_of(nodes, nodes.nodes, -1):
        compared = [node for node in row[row >= 0] if depth[node] <= CODE_BITS]
        assert len(compared) == len(set(compared))


def test_words_side_by_side_in_the_tree_have_close_ranks(paths):
    tree = huffman_tree(*paths)
    in_order = np.argsort(tree.rank)
    codes = ["".join(map(str, paths[1][word][:CODE_BITS])) for word in in_order]
    assert codes == sorted(codes)


@pytest.mark.parametrize("lay_out", [deep_nodes, shared_nodes])
def test_a_unit_without_steps_has_no_nodes(paths, lay_out):
    tree = tf.nest.map_structure(tf.constant, huffman_tree(*paths))
    nodes = lay_out(tf.zeros([0, BLOCKS, WIDTH], tf.int32), tree)
    assert [int(tf.size(x)) for x in (nodes.nodes, nodes.sources, nodes.used.begin)] == [0, 0, 0]
