"""Training on renumbered rows, as workers do, equals training on the whole tables."""

import numpy as np
import pytest

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.kernel_shape import KernelShape
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.kernel.word_arrays import WordArrays, huffman_tree
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.units import draw_unit, number_rows, reuse_negatives, train_unit
from tests.engines import kernel_options
from tests.graph.unit_function import word_tensors

VOCABULARY, TAGS, SIZE = 200, 30, 16

#: Nodes of each word's path, and its codes.
PATHS = [np.array([w % 7 + 3, w % 3]) for w in range(VOCABULARY)]
CODES = [np.array([w % 2, w // 2 % 2]) for w in range(VOCABULARY)]


@pytest.mark.parametrize(("shards", "locked"), [(1, False), (3, False), (1, True)])
@pytest.mark.parametrize(
    "objective",
    [
        Objective(True, 5),
        Objective(False, 5, mean=True),
        Objective(True, 0, hierarchical=True),
        Objective(True, 5, hierarchical=True),
        Objective(False, 5, mean=True, hierarchical=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("documents", [{}, {"train_words": False}, {"train_words": True}], ids=str)
def test_training_on_renumbered_rows_equals_training_on_the_tables(
    objective, shards, locked, documents
):
    rng = np.random.default_rng(0)
    # blocks of (tag, token) pairs cannot have shards
    windows = bool(documents) and shards > 1
    options = kernel_options(
        objective,
        KernelShape(16, 3, 8, sequential=windows),
        shards=shards,
        documents=bool(documents),
        **documents,
    )
    number = VOCABULARY + bool(documents) * TAGS
    lock = rng.choice([0.0, 0.5, 1.0], number) if locked else None
    tree = huffman_tree(PATHS, CODES) if objective.hierarchical else None
    noise = np.ones(VOCABULARY) if objective.negative else None
    words = word_tensors(WordArrays.of(np.ones(VOCABULARY), noise, tree, lock, shards))
    # words with few distinct ids, so that the renumbered rows differ from the ids
    entries = [rng.choice(np.arange(5, 90, 7), 100).astype(np.int32) for _ in range(2)]
    for entry in entries if documents else ():
        entry[9::10], entry[::10] = -1, -3 - rng.integers(TAGS, size=10)
    units = [
        draw_unit(options, words, entry, tf.constant([1, key]), tf.constant([0.1, 0.05]))
        for key, entry in enumerate(entries)
    ]
    rows = rng.normal(0, 0.3, (3, number, SIZE)).astype(np.float32)

    def trained(units, words, tables):
        variables = [tf.Variable(table) for table in tables]
        handles = Tables(*(variable.handle for variable in variables))
        sums = [train_unit(options, unit, handles, words, SIZE, 1) for unit in units]
        return [variable.numpy() for variable in variables], sums

    expected, sums = trained(units, words, rows)
    ids, numbered, own = number_rows(units, words)
    of_ids = [
        table[ids[name].numpy()] if name in ids else table[:0]
        for name, table in zip(Tables._fields, rows, strict=True)
    ]
    found, again = trained(numbered, own, of_ids)
    for name, table, part in zip(Tables._fields, expected, found, strict=True):
        if name in ids:
            assert len(ids[name]) < VOCABULARY
            np.testing.assert_array_equal(table[ids[name].numpy()], part)
    assert ("nodes" in ids) == objective.hierarchical
    assert ("outputs" in ids) == bool(objective.negative)
    np.testing.assert_array_equal(tf.nest.flatten(sums), tf.nest.flatten(again))


@pytest.mark.parametrize("ids", [[], [5], [7, 3, 3, 64, 63, 128, 0, 7], [*range(130)], [64] * 9])
def test_distinct_ids_ascend(ids):
    distinct, places = load_ops().tfw2v_distinct(np.array(ids, np.int32), 130)
    expected, inverse = np.unique(np.array(ids, np.int32), return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(places, inverse)


@pytest.mark.parametrize("wrong", [-1, 130, -(1 << 31), (1 << 31) - 1])
def test_ids_out_of_range_are_rejected(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must be in 0 .. limit - 1"):
        load_ops().tfw2v_distinct(np.array([1, wrong], np.int32), 130)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("uses", [1, 5, 10**6])
def test_reused_negatives_are_the_first_draws_of_words_outside_of_the_text(
    shards, uses, monkeypatch
):
    monkeypatch.setattr("gensim_tfw2v.ops.units.NEGATIVE_USES", uses)
    monkeypatch.setattr("gensim_tfw2v.ops.units.MIN_OTHER_NEGATIVES", 20)
    options = kernel_options(Objective(True, 5), KernelShape(16, 3, 12), shards=shards)
    words = word_tensors(WordArrays.of(np.ones(VOCABULARY), np.arange(1, VOCABULARY + 1)))
    rng = np.random.default_rng(2)
    units = [
        draw_unit(
            options,
            words,
            rng.integers(0, 120, 150),
            tf.constant([1, key]),
            tf.constant([0.1, 0.1]),
        )
        for key in range(2)
    ]
    reused = reuse_negatives(units, words, shards)
    own = np.unique(np.concatenate([unit.draws.targets for unit in units]))
    drawn, found = (
        np.concatenate([unit.draws.negatives for unit in each]) for each in (units, reused)
    )
    assert [len(unit.draws.negatives) for unit in reused] == [120, 120]
    inside = np.isin(drawn, own)
    np.testing.assert_array_equal(drawn[inside], found[inside])
    assert not np.isin(found[~inside], own).any()
    for shard in range(shards):
        of_shard = ~inside & (drawn % shards == shard)
        others = drawn[of_shard]
        kept = others[: max(20, len(others) // uses)]
        np.testing.assert_array_equal(found[of_shard], np.resize(kept, len(others)))
    assert 100 < len(own) < VOCABULARY - 50


def test_reuse_refuses_unknown_words():
    for own, negatives in (([3], [0]), ([-1], [0]), ([0], [3]), ([0], [-1])):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"in 0 .. V - 1"):
            load_ops().tfw2v_reuse(own, negatives, [3, 1, 2, 1])
    for sizes in ([3, 1, 2], [0, 1, 1, 1], [3, 0, 1, 1], [3, 1, 0, 1], [3, 1, 1, 0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="4 numbers of at least 1"):
            load_ops().tfw2v_reuse([0], [0], sizes)
