"""Work unit that the compiled ops draw and train; its fields are tensors."""

from __future__ import annotations

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.compiled_library import Options, Unit
from gensim_tfw2v.kernel.native.padded_rows import stride
from gensim_tfw2v.kernel.sizes import MIN_OTHER_NEGATIVES, NEGATIVE_USES
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.ops.variables import table_memory


class CompiledUnit(NamedTuple):
    """Unit whose random draws are done."""

    drawn: Unit  # tensors
    alphas: tf.Tensor  # [2], learning rates at the unit's first position and after its last

    @property
    def kept(self) -> tf.Tensor:
        """Number of positions to train on: tokens after subsampling, and (tag, token) pairs."""
        return tf.size(self.drawn.targets)

    @property
    def tokens(self) -> tf.Tensor:
        """Number of tokens to train on, after subsampling."""
        return self.drawn.counts[1]


def draw_unit(
    options: Options, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> CompiledUnit:
    """Draw a unit; arguments as in `Engine.prepare`."""
    with tf.device("CPU"):
        drawn = Unit._make(
            load_ops().tfw2v_draw(entries, key, words.keep, words.noise, options=options)
        )
    if not options.documents:
        nothing = tf.zeros([0], tf.int32)  # a constant: functions need not pass it
        drawn = drawn._replace(documents=nothing, first_tags=nothing, tags=nothing)
    if not (options.documents and options.skipgram):
        drawn = drawn._replace(inputs=drawn.targets)
    return CompiledUnit(drawn, alphas)


def train_unit(
    options: Options,
    unit: CompiledUnit,
    handles: Tables,
    words: WordArrays,
    vector_size: int,
    loss_every: int,
) -> UnitResult:
    """Train a unit on variables, whose rows are updated in place.

    Parameters
    ----------
    handles : Tables of Tensor [], resource
        Handles of the variables, whose rows are padded to the kernels' stride.
    vector_size : int
    loss_every : int
        Compute the loss of every `loss_every`-th block; 0 for none.
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
            unit.drawn,
            options=options,
        )
    return UnitResult(unit.tokens, *tf.unstack(tf.cast(sums, tf.float32), num=3))


def gather_lists(lists: Lists, words: tf.Tensor) -> Lists:
    """Return the lists of some words [n], as tensors."""
    ragged = tf.gather(tf.RaggedTensor.from_row_splits(lists.entries, lists.first), words)
    return Lists(tf.cast(ragged.row_splits, tf.int32), ragged.flat_values)


def reuse_negatives(
    units: list[CompiledUnit], words: WordArrays, shards: int
) -> list[CompiledUnit]:
    """Let the drawn units of a job share most negatives that do not occur in its text.

    So the job has fewer distinct rows. Negatives keep their distribution; see `NEGATIVE_USES`.
    """
    targets = tf.concat([unit.drawn.targets for unit in units], 0)
    sizes = tf.stack([tf.size(words.keep), shards, NEGATIVE_USES, MIN_OTHER_NEGATIVES])
    negatives = [unit.drawn.negatives for unit in units]
    with tf.device("CPU"):
        reused = load_ops().tfw2v_reuse(targets, tf.concat(negatives, 0), sizes)
    parts = _split_like(negatives, tf.ensure_shape(reused, [None]))
    return [
        unit._replace(drawn=unit.drawn._replace(negatives=part))
        for unit, part in zip(units, parts, strict=True)
    ]


def number_rows(
    units: list[CompiledUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[CompiledUnit], WordArrays]:
    """Renumber the rows that drawn units use: consecutively, from 0 in each table.

    Returns the ids [n] of the used rows, by the name of their table, then the units and the word
    arrays with the new numbers. Row ``ids[i]`` gets the number i; ids are distinct and ascending.
    """
    n_words = tf.size(words.keep)
    drawn = [unit.drawn for unit in units]
    target_ids, targets = _renumber([unit.targets for unit in drawn], n_words)
    input_ids = target_ids
    inputs = targets
    tags = [unit.tags for unit in drawn]
    if words.subwords.entries.shape[0] != 0:
        lists = gather_lists(words.subwords, target_ids)
        limit = 1 + tf.reduce_max(words.subwords.entries)
        input_ids, (entries,) = _renumber([lists.entries], limit)
        words = words._replace(subwords=Lists(lists.first, entries))
    # tags of documents are rows of the table of inputs, too
    if drawn[0].inputs is not drawn[0].targets or tags[0].shape[0] != 0:
        parts = [*(unit.inputs for unit in drawn), *tags]
        limit = 1 + tf.reduce_max(tf.concat([n_words[None], *parts], 0))
        input_ids, numbers = _renumber(parts, limit)
        inputs = numbers[: len(units)]
        tags = numbers[len(units) :]
    ids = {"inputs": input_ids}
    negatives = [unit.negatives for unit in drawn]
    if words.noise.shape[0] != 0:
        ids["outputs"], (target_rows, *negatives) = _renumber([target_ids, *negatives], n_words)
        targets = [tf.gather(target_rows, numbers) for numbers in targets]
    if words.tree.entries.shape[0] != 0:
        first, paths = gather_lists(words.tree, target_ids)
        ids["nodes"], (nodes,) = _renumber([paths // 2], n_words)
        if "outputs" in ids:  # targets index outputs; an output that is no target has no path
            lengths = tf.scatter_nd(
                target_rows[:, None], first[1:] - first[:-1], [tf.size(ids["outputs"])]
            )
            first = tf.concat([[0], tf.cumsum(lengths)], 0)
        words = words._replace(tree=Lists(first, 2 * nodes + paths % 2))
    if words.lock.shape[0] != 0:
        words = words._replace(lock=tf.gather(words.lock, input_ids))
    if words.weights.shape[0] != 0:
        words = words._replace(weights=tf.gather(words.weights, input_ids))
    units = [
        unit._replace(drawn=unit.drawn._replace(inputs=a, targets=b, negatives=c, tags=d))
        for unit, a, b, c, d in zip(units, inputs, targets, negatives, tags, strict=True)
    ]
    return ids, units, words


def _renumber(parts: list[tf.Tensor], limit: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return the distinct ids in `parts`, ascending, and each part as indices into these ids.

    All ids are below `limit`.
    """
    with tf.device("CPU"):
        distinct, inverse = load_ops().tfw2v_distinct(tf.concat(parts, 0), limit)
    indices = _split_like(parts, tf.ensure_shape(inverse, [None]))
    return tf.ensure_shape(distinct, [None]), indices


def _split_like(parts: list[tf.Tensor], joined: tf.Tensor) -> list[tf.Tensor]:
    """Split `joined` into parts with the sizes of `parts`."""
    sizes = tf.stack([tf.size(part) for part in parts])
    return tf.split(joined, sizes, num=len(parts))
