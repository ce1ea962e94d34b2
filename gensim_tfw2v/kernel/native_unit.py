"""A work unit whose draws and training are ops of `gensim_tfw2v.kernel.native`."""

from __future__ import annotations

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native import Options, load_ops
from gensim_tfw2v.kernel.program import KernelConfig
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays


class NativeUnit(NamedTuple):
    """A unit of n tokens of which all is drawn, and which has only to be trained."""

    rows: tf.Tensor  # [n], int32, of each token in the table of inputs; its word if it has subwords
    targets: tf.Tensor  # [n], int32, of each token in the table of outputs
    reaches: tf.Tensor  # [n, 2], int32, how many tokens its window holds before and after it
    negatives: tf.Tensor  # [blocks, S], int32, rows of the table of outputs
    documents: tf.Tensor  # [n], int32, of each token, whose tags its window holds; [0] without
    tags: Lists  # rows of the table of inputs, of each document
    # [2], int64: of so many tokens at the end, the row alone predicts the target; words that were
    # left, each once. [1] without documents
    pairs: tf.Tensor
    tokens: tf.Tensor  # [n], int32, word ids, however rows are numbered: they tell targets' shards
    leaves: tf.Tensor  # [n], int32, of each token in the lists of paths
    alphas: tf.Tensor  # [2], step size at the unit's first and last step

    @property
    def kept(self) -> tf.Tensor:
        """Tokens trained on, after subsampling."""
        return tf.size(self.rows)

    def train(self, program: KernelConfig, tables: Tables, words: WordArrays) -> UnitResult:
        """Train it on `Tables` of `WholeRows`, which are updated in place."""
        kept = tf.cast(self.kept, tf.int64)
        objective = program.objective
        with tf.device("CPU"):
            nothing = tf.zeros([0, program.row_size])
            sums = load_ops().tfw2v_train(
                tables.inputs.whole(),
                tables.outputs.whole() if objective.negative else nothing,
                tables.nodes.whole() if objective.hierarchical else nothing,
                words.lock if program.locked else tf.zeros([0]),
                *tf.nest.flatten(self[:-1]),
                *words.tree,
                self.alphas,
                tf.stack([tf.zeros([], tf.int64), kept, tf.constant(program.loss_every, tf.int64)]),
                tf.constant(program.vector_size),
                *words.subwords,
                words.weights,
                options=list(options_of(program)),
            )
        counted = tf.cast(self.pairs[1], tf.int32) if program.documents else self.kept
        return UnitResult(counted, *tf.unstack(tf.cast(sums, tf.float32), num=3))


def options_of(program: KernelConfig) -> Options:
    """Convert a program to the kernels' options: most have the names of its fields."""
    shape = program.shape
    given = vars(program) | vars(shape) | vars(program.objective)
    given |= {
        "shards": program.negative_shards,
        "shrink": program.shrink_windows,
        "widest": program.max_window or shape.window,
        "windows": shape.sequential,
    }
    return Options(*(int(given[name]) for name in Options._fields))


def draw_unit(
    program: KernelConfig, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> NativeUnit:
    """Draw a unit; arguments as in `prepare_unit`."""
    with tf.device("CPU"):
        tokens, reaches, negatives, inputs, *documents = load_ops().tfw2v_draw(
            entries, key, words.keep, words.noise, options=list(options_of(program))
        )
    pairs = program.documents and program.objective.skipgram
    if not program.documents:  # constants, which no function is handed
        documents = [*[tf.zeros([0], tf.int32)] * 3, tf.zeros([1], tf.int64)]
    of_document, first, tags, number = documents
    return NativeUnit(
        *(inputs if pairs else tokens, tokens, reaches, negatives),
        *(of_document, Lists(first, tags), number, tokens, tokens, alphas),
    )


def number_rows(
    units: list[NativeUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[NativeUnit], WordArrays]:
    """Number the rows that drawn units use from 0, and give the ids that have these numbers.

    The ids [n] of each table in use, by its name, are distinct and ascend.
    """
    number = tf.size(words.keep)
    tokens = [unit.tokens for unit in units]
    own, leaves = _numbered(tokens, number)
    inputs = own
    rows = leaves
    tags = [unit.tags.entries for unit in units]
    if words.subwords.entries.shape[0] != 0:
        lists = words.subwords.of_words(own)
        limit = 1 + tf.reduce_max(words.subwords.entries)
        inputs, (entries,) = _numbered([lists.entries], limit)
        words = words._replace(subwords=Lists(lists.first, entries))
    # whether the table of inputs has rows other than those of tokens
    if units[0].rows is not units[0].tokens or tags[0].shape[0] != 0:
        parts = [*(unit.rows for unit in units), *tags]
        limit = 1 + tf.reduce_max(tf.concat([number[None], *parts], 0))
        inputs, numbered = _numbered(parts, limit)
        rows = numbered[: len(units)]
        tags = numbered[len(units) :]
    ids = {"inputs": inputs}
    units = [
        unit._replace(rows=of_unit, leaves=of_paths, tags=Lists(unit.tags.first, of_tags))
        for unit, of_unit, of_paths, of_tags in zip(units, rows, leaves, tags, strict=True)
    ]
    if words.noise.shape[0] != 0:
        parts = [*tokens, *(unit.negatives for unit in units)]
        ids["outputs"], inverse = _numbered(parts, number)
        of_units = zip(units, inverse[: len(units)], inverse[len(units) :], strict=True)
        units = [
            unit._replace(targets=targets, negatives=negatives)
            for unit, targets, negatives in of_units
        ]
    if words.tree.entries.shape[0] != 0:
        paths = words.tree.of_words(own)
        ids["nodes"], (inverse,) = _numbered([paths.entries // 2], number)
        words = words._replace(tree=Lists(paths.first, 2 * inverse + paths.entries % 2))
    if words.lock.shape[0] != 0:
        words = words._replace(lock=tf.gather(words.lock, inputs))
    if words.weights.shape[0] != 0:
        words = words._replace(weights=tf.gather(words.weights, inputs))
    return ids, units, words


def _numbered(parts: list[tf.Tensor], limit: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """The distinct ids below a limit in some tensors, and the tensors with numbers of these."""
    with tf.device("CPU"):
        distinct, inverse = load_ops().tfw2v_distinct(
            tf.concat([tf.reshape(part, [-1]) for part in parts], 0), limit
        )
    sizes = tf.stack([tf.size(part) for part in parts])
    pieces = tf.split(tf.ensure_shape(inverse, [None]), sizes, num=len(parts))
    numbered = [tf.reshape(x, tf.shape(part)) for x, part in zip(pieces, parts, strict=True)]
    return tf.ensure_shape(distinct, [None]), numbered
