"""Work units that the compiled ops draw and train, and the numbering of their rows."""

from __future__ import annotations

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.compiled_library import Options, Unit
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory
from gensim_tfw2v.unit_sizes import MIN_OTHER_NEGATIVES, NEGATIVE_USES


class CompiledUnit(NamedTuple):
    """Unit whose random draws are done.

    Attributes
    ----------
    draws : Unit of Tensor
    alphas : Tensor [2], float32
        Learning rates at the unit's first position and after its last position.
    """

    draws: Unit
    alphas: tf.Tensor

    @property
    def kept(self) -> tf.Tensor:
        """Number of positions to train on: tokens after subsampling, plus (tag, token) pairs."""
        return tf.size(self.draws.targets)

    @property
    def tokens(self) -> tf.Tensor:
        """Number of tokens to train on, after subsampling."""
        return self.draws.counts[1]


def draw_unit(
    options: Options, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> CompiledUnit:
    """Make all random draws of a unit. For the arguments, see `Engine.prepare`."""
    with tf.device("CPU"):
        draws = Unit._make(
            load_ops().tfw2v_draw(entries, key, words.keep, words.noise, options=options)
        )
    if not options.documents:
        # a constant tensor, which traced functions and loops need not pass on
        nothing = tf.zeros([0], tf.int32)
        draws = draws._replace(documents=nothing, first_tags=nothing, tags=nothing)
    if not (options.documents and options.skipgram):
        draws = draws._replace(inputs=draws.targets)
    return CompiledUnit(draws, alphas)


def train_unit(
    options: Options,
    unit: CompiledUnit,
    handles: Tables,
    words: WordArrays,
    vector_size: int,
    loss_every: int,
) -> UnitResult:
    """Train a unit on the rows of variables, in place.

    Parameters
    ----------
    handles : Tables of Tensor [], resource
        Handles of the variables. Their rows are padded to the kernels' stride.
    vector_size : int
    loss_every : int
        Compute the loss of every `loss_every`-th block; 0 for no block.
    """
    with tf.device("CPU"):
        nothing = tf.zeros([0, stride(vector_size)])
        sums = load_ops().tfw2v_train(
            table_memory(handles.inputs),
            table_memory(handles.outputs) if options.negative else nothing,
            table_memory(handles.nodes) if options.hierarchical else nothing,
            vector_size,
            words.lock,
            words.weights,
            unit.alphas,
            loss_every,
            *words.tree,
            *words.subwords,
            unit.draws,
            options=options,
        )
    return UnitResult(unit.tokens, *tf.unstack(tf.cast(sums, tf.float32), num=3))


def gather_lists(lists: Lists, words: tf.Tensor) -> Lists:
    """Return the lists of the words with these ids [n], as tensors."""
    all_lists = tf.RaggedTensor.from_row_splits(lists.entries, lists.offsets, validate=False)
    ragged = tf.gather(all_lists, words)
    return Lists(tf.cast(ragged.row_splits, tf.int32), ragged.flat_values)


def reuse_negatives(
    units: list[CompiledUnit], words: WordArrays, n_shards: int
) -> list[CompiledUnit]:
    """Replace negatives, so that the units of a job share most negatives outside the job's text.

    The job then has fewer distinct rows to fetch. The distribution of the negatives stays the same:
    see `NEGATIVE_USES`.
    """
    targets = tf.concat([unit.draws.targets for unit in units], 0)
    sizes = tf.stack([tf.size(words.keep), n_shards, NEGATIVE_USES, MIN_OTHER_NEGATIVES])
    negatives = [unit.draws.negatives for unit in units]
    with tf.device("CPU"):
        new_negatives = load_ops().tfw2v_reuse(targets, tf.concat(negatives, 0), sizes)
    parts = _split_like(negatives, tf.ensure_shape(new_negatives, [None]))
    return [
        unit._replace(draws=unit.draws._replace(negatives=part))
        for unit, part in zip(units, parts, strict=True)
    ]


def number_rows(
    units: list[CompiledUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[CompiledUnit], WordArrays]:
    """Number the rows that the units of a job use consecutively, from 0 in each table.

    Returns the ids [n] of the used rows, distinct and ascending, by the name of their table. Row
    ``ids[i]`` gets the number i. Also returns copies of the units and of the word arrays in which
    these numbers replace the ids.
    """
    n_words = tf.size(words.keep)
    draws = [unit.draws for unit in units]
    target_ids, targets = _renumber([unit.targets for unit in draws], n_words)
    input_ids = target_ids
    inputs = targets
    tags = [unit.tags for unit in draws]
    if words.subwords.entries.shape[0] != 0:
        lists = gather_lists(words.subwords, target_ids)
        limit = 1 + tf.reduce_max(words.subwords.entries)
        input_ids, (entries,) = _renumber([lists.entries], limit)
        words = words._replace(subwords=Lists(lists.offsets, entries))
    # With documents, the input rows differ from the targets: they include the rows of tags.
    if draws[0].inputs is not draws[0].targets or tags[0].shape[0] != 0:
        parts = [*(unit.inputs for unit in draws), *tags]
        limit = 1 + tf.reduce_max(tf.concat([n_words[None], *parts], 0))
        input_ids, part_rows = _renumber(parts, limit)
        inputs = part_rows[: len(units)]
        tags = part_rows[len(units) :]
    ids = {"inputs": input_ids}
    negatives = [unit.negatives for unit in draws]
    if words.noise.shape[0] != 0:
        ids["outputs"], (target_rows, *negatives) = _renumber([target_ids, *negatives], n_words)
        targets = [tf.gather(target_rows, rows) for rows in targets]
    if words.tree.entries.shape[0] != 0:
        offsets, paths = gather_lists(words.tree, target_ids)
        ids["nodes"], (nodes,) = _renumber([paths // 2], n_words)
        # The number of a target is now that of its row in outputs, so paths need an element per row
        # of outputs. The path of an output that is not a target is empty.
        if "outputs" in ids:
            lengths = tf.scatter_nd(
                target_rows[:, None], offsets[1:] - offsets[:-1], [tf.size(ids["outputs"])]
            )
            offsets = tf.concat([[0], tf.cumsum(lengths)], 0)
        words = words._replace(tree=Lists(offsets, 2 * nodes + paths % 2))
    if words.lock.shape[0] != 0:
        words = words._replace(lock=tf.gather(words.lock, input_ids))
    if words.weights.shape[0] != 0:
        words = words._replace(weights=tf.gather(words.weights, input_ids))
    units = [
        unit._replace(draws=unit.draws._replace(inputs=a, targets=b, negatives=c, tags=d))
        for unit, a, b, c, d in zip(units, inputs, targets, negatives, tags, strict=True)
    ]
    return ids, units, words


def _renumber(parts: list[tf.Tensor], limit: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return the distinct ids in `parts`, in ascending order, and each part as indices into them.

    `parts` are lists of ids below `limit`.
    """
    with tf.device("CPU"):
        distinct, inverse = load_ops().tfw2v_distinct(tf.concat(parts, 0), limit)
    indices = _split_like(parts, tf.ensure_shape(inverse, [None]))
    return tf.ensure_shape(distinct, [None]), indices


def _split_like(parts: list[tf.Tensor], values: tf.Tensor) -> list[tf.Tensor]:
    """Split `values` into parts with the sizes of `parts`."""
    sizes = tf.stack([tf.size(part) for part in parts])
    return tf.split(values, sizes, num=len(parts))
