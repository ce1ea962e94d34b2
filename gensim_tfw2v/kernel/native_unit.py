"""A work unit whose draws and training are ops of `gensim_tfw2v.kernel.native`."""

from __future__ import annotations

from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.config import KernelConfig
from gensim_tfw2v.kernel.native import Options, load_ops
from gensim_tfw2v.kernel.objectives import SkipGram
from gensim_tfw2v.kernel.step import SCOPE
from gensim_tfw2v.kernel.tables import Tables, UnitResult
from gensim_tfw2v.kernel.word_arrays import WordArrays


class NativeUnit(NamedTuple):
    """A unit of which all is drawn, and which has only to be trained.

    Attributes
    ----------
    rows, targets : Tensor [n], int32
        Of each token its row in the tables of inputs and of outputs.
    reaches : Tensor [n, 2], int32
        How many tokens its window holds before and after it.
    negatives : Tensor [blocks, S], int32
        Rows of the table of outputs.
    alphas : Tensor [2], float32
        Step size at the unit's first and last step.
    tokens : Tensor [n], int32
        Word ids, however rows are numbered: they tell the shards of targets.
    """

    rows: tf.Tensor
    targets: tf.Tensor
    reaches: tf.Tensor
    negatives: tf.Tensor
    alphas: tf.Tensor
    tokens: tf.Tensor

    @property
    def kept(self) -> tf.Tensor:
        """Tokens trained on, after subsampling."""
        return tf.size(self.rows)

    def train(self, program: KernelConfig, tables: Tables, words: WordArrays) -> UnitResult:
        """Train it.

        Parameters
        ----------
        tables : Tables of WholeRows
            Updated in place.
        """
        kept = tf.cast(self.kept, tf.int64)
        with_loss = {"none": 0, "first": program.shape.tokens, "all": kept}[program.loss_of]
        used = used_tables(program)
        with tf.name_scope(f"{SCOPE}/train/"), tf.device("CPU"):
            nothing = tf.zeros([0, program.row_size])
            sums = load_ops().tfw2v_train(
                *(
                    table.whole() if name in used else nothing
                    for name, table in tables._asdict().items()
                ),
                words.lock if program.locked else tf.zeros([0]),
                self.rows,
                self.targets,
                self.reaches,
                self.negatives,
                words.tree.first,
                words.tree.path,
                self.alphas,
                tf.stack([tf.zeros([], tf.int64), kept, tf.cast(with_loss, tf.int64)]),
                tf.constant(program.vector_size),
                self.tokens,
                options=list(options_of(program)),
            )
        return UnitResult(self.kept, *tf.unstack(tf.cast(sums, tf.float32), num=3))


def used_tables(program: KernelConfig) -> list[str]:
    """Names of the tables that an objective trains."""
    of_objective = program.objective
    used = {"inputs": True, "outputs": of_objective.negative, "nodes": of_objective.hierarchical}
    return [name for name, is_used in used.items() if is_used]


def options_of(program: KernelConfig) -> Options:
    """What the kernels need to know of a program."""
    objective: Any = program.objective
    return Options(
        *map(
            int,
            Options(
                skipgram=isinstance(objective, SkipGram),
                negative=objective.negative,
                hierarchical=objective.hierarchical,
                mean=objective.mean,
                corrected=getattr(objective, "corrected", False),
                skip_targets=program.skip_targets,
                shards=program.negative_shards,
                shrink=program.shrink_windows,
                window=program.shape.window,
                widest=program.widest_window or program.shape.window,
                block=program.shape.block,
                shared=program.shape.shared,
                reuse=program.noise_reuse,
            ),
        )
    )


def draw_unit(
    program: KernelConfig, words: WordArrays, entries: tf.Tensor, key: tf.Tensor, alphas: tf.Tensor
) -> NativeUnit:
    """Draw a unit; parameters as for `unit_function`."""
    with tf.name_scope(f"{SCOPE}/draw/"), tf.device("CPU"):
        tokens, reaches, negatives = load_ops().tfw2v_draw(
            entries, key, words.keep, words.noise, options=list(options_of(program))
        )
    return NativeUnit(tokens, tokens, reaches, negatives, alphas, tokens)


def number_rows(
    units: list[NativeUnit], words: WordArrays
) -> tuple[Any, list[NativeUnit], WordArrays]:
    """Number the rows that units use from 0; see `own_ids`."""
    number = tf.size(words.keep)
    tokens = tf.concat([unit.rows for unit in units], 0)
    inputs, rows = _distinct(tokens, number)
    sizes = tf.stack([unit.kept for unit in units])
    ids = Tables(inputs, None, None)
    numbered = [
        unit._replace(rows=of_unit)
        for unit, of_unit in zip(units, tf.split(rows, sizes, num=len(units)), strict=True)
    ]
    if words.noise.shape[0] != 0:
        flat = [tf.reshape(unit.negatives, [-1]) for unit in units]
        outputs, places = _distinct(tf.concat([tokens, *flat], 0), number)
        targets, *negatives = tf.split(
            places,
            tf.stack([tf.size(tokens), *(tf.size(part) for part in flat)]),
            num=1 + len(flat),
        )
        ids = ids._replace(outputs=outputs)
        numbered = [
            unit._replace(
                targets=of_targets, negatives=tf.reshape(of_noise, tf.shape(unit.negatives))
            )
            for unit, of_targets, of_noise in zip(
                numbered, tf.split(targets, sizes, num=len(units)), negatives, strict=True
            )
        ]
    if words.tree.path.shape[0] != 0:
        tree = words.tree
        paths = tf.gather(tf.RaggedTensor.from_row_splits(tree.path, tree.first), inputs)
        nodes, places = _distinct(paths.flat_values // 2, number)
        tree = tree._replace(
            first=tf.cast(paths.row_splits, tf.int32), path=2 * places + paths.flat_values % 2
        )
        ids, words = ids._replace(nodes=nodes), words._replace(tree=tree)
    if words.lock.shape[0] != 0:
        words = words._replace(lock=tf.gather(words.lock, inputs))
    return ids, numbered, words


def _distinct(ids: tf.Tensor, limit: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    with tf.device("CPU"):
        distinct, places = load_ops().tfw2v_distinct(ids, limit)
    return tf.ensure_shape(distinct, [None]), tf.ensure_shape(places, [None])
