"""Work unit whose random draws and training are ops of `gensim_tfw2v.kernel.native`."""

from __future__ import annotations

from typing import NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.kernel_config import KernelConfig
from gensim_tfw2v.kernel.native import load_ops
from gensim_tfw2v.kernel.native.by_ctypes import Options, Unit
from gensim_tfw2v.kernel.sizes import MIN_OTHER_NEGATIVES, NEGATIVE_USES
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import Lists, WordArrays


class NativeUnit(NamedTuple):
    """Unit whose random draws are done."""

    drawn: Unit  # tensors
    alphas: tf.Tensor  # [2], learning rates at the unit's first position and after its last

    @property
    def kept(self) -> tf.Tensor:
        """Number of positions to train on: tokens after subsampling, and (tag, token) pairs."""
        return tf.size(self.drawn.targets)

    def train(self, config: KernelConfig, tables: Tables, words: WordArrays) -> UnitResult:
        """Train the unit on `Tables` of `WholeRows`, which are updated in place."""
        objective = config.objective
        with tf.device("CPU"):
            nothing = tf.zeros([0, config.row_size])
            sums = load_ops().tfw2v_train(
                tables.inputs.whole(),
                tables.outputs.whole() if objective.negative else nothing,
                tables.nodes.whole() if objective.hierarchical else nothing,
                config.vector_size,
                words.lock,
                words.weights,
                self.alphas,
                config.loss_every,
                *words.tree,
                *words.subwords,
                self.drawn,
                options=Options.of(config),
            )
        return UnitResult(self.drawn.counts[1], *tf.unstack(tf.cast(sums, tf.float32), num=3))


def draw_unit(
    config: KernelConfig,
    words: WordArrays,
    entries: tf.Tensor,
    key: tf.Tensor,
    alphas: tf.Tensor,
) -> NativeUnit:
    """Draw a unit; arguments as in `prepare_unit`."""
    with tf.device("CPU"):
        drawn = Unit._make(
            load_ops().tfw2v_draw(entries, key, words.keep, words.noise, options=Options.of(config))
        )
    if not config.documents:
        nothing = tf.zeros([0], tf.int32)  # a constant: functions need not pass it
        drawn = drawn._replace(documents=nothing, first_tags=nothing, tags=nothing)
    if not (config.documents and config.objective.skipgram):
        drawn = drawn._replace(inputs=drawn.targets)
    return NativeUnit(drawn, alphas)


def reuse_negatives(units: list[NativeUnit], words: WordArrays, shards: int) -> list[NativeUnit]:
    """Let the drawn units of a job share most negatives that do not occur in its text.

    So the job has fewer distinct rows. Negatives keep their distribution; see `NEGATIVE_USES`.
    """
    own = tf.concat([unit.drawn.targets for unit in units], 0)
    sizes = tf.stack([tf.size(words.keep), shards, NEGATIVE_USES, MIN_OTHER_NEGATIVES])
    negatives = [unit.drawn.negatives for unit in units]
    with tf.device("CPU"):
        reused = load_ops().tfw2v_reuse(own, tf.concat(negatives, 0), sizes)
    of_units = _split_like(negatives, tf.ensure_shape(reused, [None]))
    return [
        unit._replace(drawn=unit.drawn._replace(negatives=part))
        for unit, part in zip(units, of_units, strict=True)
    ]


def number_rows(
    units: list[NativeUnit], words: WordArrays
) -> tuple[dict[str, tf.Tensor], list[NativeUnit], WordArrays]:
    """Renumber the rows that drawn units use: consecutively, from 0 in each table.

    Returns the ids [n] of the used rows, by the name of their table, then the units and the word
    arrays with the new numbers. Row ``ids[i]`` gets the number i; ids are distinct and ascending.
    """
    number = tf.size(words.keep)
    drawn = [unit.drawn for unit in units]
    own, targets = _numbered([unit.targets for unit in drawn], number)
    inputs = own
    rows = targets
    tags = [unit.tags for unit in drawn]
    if words.subwords.entries.shape[0] != 0:
        lists = words.subwords.of_words(own)
        limit = 1 + tf.reduce_max(words.subwords.entries)
        inputs, (entries,) = _numbered([lists.entries], limit)
        words = words._replace(subwords=Lists(lists.first, entries))
    # tags of documents are rows of the table of inputs, too
    if drawn[0].inputs is not drawn[0].targets or tags[0].shape[0] != 0:
        parts = [*(unit.inputs for unit in drawn), *tags]
        limit = 1 + tf.reduce_max(tf.concat([number[None], *parts], 0))
        inputs, numbered = _numbered(parts, limit)
        rows = numbered[: len(units)]
        tags = numbered[len(units) :]
    ids = {"inputs": inputs}
    negatives = [unit.negatives for unit in drawn]
    if words.noise.shape[0] != 0:
        ids["outputs"], (of_own, *negatives) = _numbered([own, *negatives], number)
        targets = [tf.gather(of_own, numbers) for numbers in targets]
    if words.tree.entries.shape[0] != 0:
        first, paths = words.tree.of_words(own)
        ids["nodes"], (inverse,) = _numbered([paths // 2], number)
        if "outputs" in ids:  # targets index outputs; an output that is no target has no path
            lengths = tf.scatter_nd(
                of_own[:, None], first[1:] - first[:-1], [tf.size(ids["outputs"])]
            )
            first = tf.concat([[0], tf.cumsum(lengths)], 0)
        words = words._replace(tree=Lists(first, 2 * inverse + paths % 2))
    if words.lock.shape[0] != 0:
        words = words._replace(lock=tf.gather(words.lock, inputs))
    if words.weights.shape[0] != 0:
        words = words._replace(weights=tf.gather(words.weights, inputs))
    units = [
        unit._replace(drawn=unit.drawn._replace(inputs=a, targets=b, negatives=c, tags=d))
        for unit, a, b, c, d in zip(units, rows, targets, negatives, tags, strict=True)
    ]
    return ids, units, words


def _numbered(parts: list[tf.Tensor], limit: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return the distinct ids in `parts`, ascending, and each part as indices into these ids.

    All ids are below `limit`.
    """
    with tf.device("CPU"):
        distinct, inverse = load_ops().tfw2v_distinct(tf.concat(parts, 0), limit)
    numbered = _split_like(parts, tf.ensure_shape(inverse, [None]))
    return tf.ensure_shape(distinct, [None]), numbered


def _split_like(parts: list[tf.Tensor], joined: tf.Tensor) -> list[tf.Tensor]:
    """Split into parts of the same sizes."""
    sizes = tf.stack([tf.size(part) for part in parts])
    return tf.split(joined, sizes, num=len(parts))
