"""Objectives: pure functions from the rows of a step to row updates.

They use no variables, devices or files. The caller gathers the rows that an objective needs, calls
it, and adds the returned updates. Invariants, checked by the tests:

- the result equals that of a slow loop over pairs with the same draws;
- updates are sums over pairs, so the learning rate means the same as in word2vec;
- a centre with an empty window causes no update, and gets none.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The window
of a position covers at most w tokens on either side, so the context of a block is within its
*halo*: the H = B + 2w tokens around it. Either the inputs or the centres (the output words) of a
block's pairs come from its halo, and the opposite side from the block itself. So each pair of the
step belongs to exactly one block.

A prediction has a score s, the dot product of an input row and an output row, and a label, 1 or 0.
Its loss is ``-log sigmoid(s)`` for label 1 and ``-log sigmoid(-s)`` for label 0. It updates each of
the two rows by ``alpha * (label - sigmoid(s))`` times the opposite row (Mikolov et al. 2013,
"Distributed Representations of Words and Phrases", section 2.2).

Letters: D vector size, T/B blocks of a step, I inputs of a block, O its centres (either I = B and
O = H, or I = H and O = B), C columns (the output rows of a block: its centres, then its shared
negatives), P nodes of the longest path, U distinct rows.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import IDENTITY, MatrixEncoding, Slices
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.graph.updates import RowGroups
from gensim_tfw2v.kernel.objective import Objective


@dataclass(frozen=True)
class WindowBand(MatrixEncoding):
    """Band matrices [T/B, O, I]: 1 where an input is in a centre's window, 0 elsewhere.

    Only the windows are sent to slices; each slice computes the matrices from them.

    Parameters
    ----------
    shape : StepShape
    mean : bool
        Whether each row of a matrix is divided by the number of tokens in its window.
    dtype : DType
    """

    shape: StepShape
    mean: bool
    dtype: tf.DType

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """Return matrices [T/B, O, I] from windows [T/B, O], int32.

        A window is ``left * (w + 1) + right``, its numbers of tokens before and after the centre.
        """
        reaches = self.shape.window + 1
        left, right = (x[:, :, None] for x in (packed // reaches, packed % reaches))
        offset = self.shape.offsets
        rows = tf.cast((offset >= -left) & (offset <= right) & (offset != 0), tf.float32)
        if self.mean:
            rows /= tf.maximum(tf.cast(left + right, tf.float32), 1.0)
        return tf.cast(rows, self.dtype)


class NearPairs(MatrixEncoding):
    """Encoding of matrices [T/B, C, I] that omits inputs too far from a centre to be in its window.

    `number` is n, the number of remaining elements per block.
    """

    def __init__(self, shape: StepShape) -> None:
        self._shape = shape
        near = (np.abs(shape.offsets) <= shape.window) & (shape.offsets != 0)
        needed = np.concatenate([near, np.ones((shape.shared, shape.inputs), bool)])
        self._needed = np.flatnonzero(needed).astype(np.int32)
        self.number = len(self._needed)
        # index of each element among the remaining ones; n, the index of an appended 0, if omitted
        self._index = np.full(needed.size, self.number, np.int32)
        self._index[self._needed] = np.arange(self.number)

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """Return the elements [T/B, n] of matrices [T/B, C, I]."""
        flat = tf.reshape(matrices, [-1, self._shape.columns * self._shape.inputs])
        return tf.gather(flat, self._needed, axis=1)

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """Return matrices [T/B, C, I] from elements [T/B, n], with 0 for omitted elements."""
        wide = tf.gather(tf.pad(packed, [[0, 0], [0, 1]]), self._index, axis=1)
        return tf.reshape(wide, [-1, self._shape.columns, self._shape.inputs])


class StepPlan(NamedTuple):
    """Draws of one step, or of all steps with a leading dimension for the step.

    Fields that an objective does not use are ``()``.

    Attributes
    ----------
    alpha : Tensor []
        Learning rate.
    windows : Tensor [T/B, O], int32
        Window of each centre; see `WindowBand`.
    inputs, outputs, nodes : RowGroups
        Rows of each block: its input rows, its columns, and the nodes on its centres' paths.
    words : Tensor [T/B, C], int32
        Ids of the columns, if the weights of negatives depend on the centre.
    signs : Tensor [T/B, O * P], float32
        Sign of each node on each centre's path; see `look_up_paths`.
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    nodes: Any = ()
    signs: Any = ()

    def of(self, step: tf.Tensor) -> StepPlan:
        """Return the draws of one step."""
        return tf.nest.map_structure(lambda x: tf.gather(x, step), self)


class Step(NamedTuple):
    """Inputs of one step.

    Attributes
    ----------
    shape : StepShape
    dtype : DType
        Dtype of the factors of matrix products.
    plan : StepPlan
    rows : dict of Slices [U, D]
        Distinct rows of each table in use, by its name in `Tables`.
    noise : Tensor [T/B, C - O, O], optional
        Weight of each negative for each centre; see `counted_negatives`. None if all are 1.
    """

    shape: StepShape
    dtype: tf.DType
    plan: StepPlan
    rows: dict[str, Slices]
    noise: tf.Tensor | None

    # Columns are selected before rows are looked up, because slicing rows afterwards would copy
    # them. Rows are cast before they are multiplied.

    def gather(
        self, table: str, which: slice = slice(None), dtype: tf.DType | None = None
    ) -> Slices:
        """Gather the rows of each block from a table: [T/B, n, D], by default in the step's dtype.

        `which` selects some of the block's rows. Outputs are ordered: first centres, then
        negatives.
        """
        inverse = getattr(self.plan, table).inverse
        return self.rows[table].gather(inverse, dtype or self.dtype, which)

    def band(self) -> tf.Tensor:
        """Return 1 where an input is in a centre's window, 0 elsewhere: [T/B, O, I], float32."""
        return WindowBand(self.shape, False, tf.float32).unpack(self.plan.windows)


class Gradients(NamedTuple):
    """Row updates of one step, before the learning rate, and its loss.

    Attributes
    ----------
    updates : dict of lists of Slices [T/B, r, D]
        Updates of the rows of each block, by the name of their table: ``"inputs"``, and
        ``"outputs"`` or ``"nodes"``. They are still to be multiplied by the learning rate. The r of
        a list's parts add up to I, C or O * P.
    loss, predictions : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives, and number of the
        step's predictions of a centre. Both are 0 unless the loss is computed.
    """

    updates: dict[str, list[Slices]]
    loss: tf.Tensor
    predictions: tf.Tensor


class Layer(NamedTuple):
    """Loss of a layer, and updates of its input rows [blocks, I, D] and, in parts, output rows."""

    inputs: Slices
    outputs: list[Slices]
    loss: tf.Tensor


def summed(layers: dict[str, Layer]) -> tuple[dict[str, list[Slices]], tf.Tensor]:
    """Sum the updates and losses of layers with the same inputs.

    The layers are keyed by the table of their output rows. Returns the updates by the name of their
    table, and the loss.
    """
    inputs = [layer.inputs for layer in layers.values()]
    if len({rows.dtype for rows in inputs}) > 1:
        inputs = [rows.cast(tf.float32) for rows in inputs]
    updates = {name: layer.outputs for name, layer in layers.items()}
    lost = tf.add_n([layer.loss for layer in layers.values()])
    return {"inputs": [functools.reduce(operator.add, inputs)], **updates}, lost


def predict(
    inputs: Slices,
    outputs: Slices,
    weights: tf.Tensor,
    with_loss: bool,
    pairs: MatrixEncoding = IDENTITY,
) -> Layer:
    """Predict every output row of a block from every input row, by three batched products.

    `weights` [blocks, C, I] are the weights of the predictions, negative for label 0. `pairs`
    selects the elements of the products that are needed.
    """
    scores = tf.cast(outputs.products(inputs, pairs), tf.float32)
    g = pairs.pack(tf.cast(coefficients(scores, 0.5 * weights), inputs.dtype))
    return Layer(
        outputs.matmul(g, pairs, transposed=True),
        [inputs.matmul(g, pairs)],
        loss(scores, weights) if with_loss else tf.constant(0.0),
    )


def coefficients(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return ``2 * |weights| * (label - sigmoid(scores))``; negative weights have label 0.

    Computed by ``sigmoid(s) = (1 + tanh(s / 2)) / 2``, because tanh costs less than a sigmoid.
    Weights are signed, because broadcasting signs over a matrix would cost more than everything
    else here.
    """
    return weights - tf.abs(weights) * tf.tanh(0.5 * scores)


def loss(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return the sum of ``-|weights| * log(sigmoid(sign(weights) * scores))``."""
    return tf.reduce_sum(tf.abs(weights) * tf.nn.softplus(-tf.sign(weights) * scores))


def gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of one step."""
    compute_gradients = skipgram_gradients if objective.skipgram else cbow_gradients
    return compute_gradients(objective, step, with_loss)


def skipgram_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of a skip-gram step: each word of a window predicts its centre.

    As in gensim, the window is the centre's: an input and a centre are a pair if the input is in
    the centre's (reduced) window.

    The pairs of a block share its C - O negatives (Ji et al. 2016, "Parallelizing Word2Vec in
    Shared and Distributed Memory", section 4). Each negative has weight ``negative / (C - O)`` in
    each pair, so a pair has `negative` negatives in expectation. For a negative and an input, the
    weights of all centres that the input predicts are summed (without centres that are the same
    word as the negative, if targets are skipped).
    """
    inputs = step.gather("inputs")
    pairs = step.band()
    layers = {}
    if objective.negative:
        weights = _pair_weights(objective.negative, step, pairs)
        # only the products of pairs are sent back from the slices
        near = NearPairs(step.shape) if inputs.link else IDENTITY
        layers["outputs"] = predict(inputs, step.gather("outputs"), weights, with_loss, near)
    if objective.hierarchical:
        signs = step.plan.signs
        path_length = tf.shape(signs)[1] // step.shape.centres
        weights = signs[..., None] * tf.repeat(pairs, path_length, 1)
        layers["nodes"] = predict(inputs, step.gather("nodes"), weights, with_loss)
    updates, lost = summed(layers)
    return Gradients(updates, lost, tf.reduce_sum(pairs) if with_loss else tf.constant(0.0))


def _pair_weights(negative: int, step: Step, pairs: tf.Tensor) -> tf.Tensor:
    """Return the weight of each column and input, below 0 for negatives: [T/B, C, I]."""
    share = negative / step.shape.shared
    if step.noise is None:
        # repeated by tf.concat, which costs half as much as broadcasting to all negatives
        noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * step.shape.shared
    else:
        noise = [tf.matmul(step.noise, pairs) * -share]
    return tf.concat([pairs, *noise], 1)


def cbow_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of a CBOW step: the sum or mean of a window predicts its centre.

    The hidden rows are the band matrix times the halo's input rows. As in gensim, each input row
    gets the full gradient of the hidden row if that is a mean, and the gradient divided by the
    number of rows if it is a sum. The gradient of the loss would be the reverse, and is used if
    `corrected` (Irsoy, Benton and Stratos 2021, "Corrected CBOW Performs as well as Skip-gram",
    section 2).

    A centre without context has a hidden row of zeros and a band of zeros. So it updates no row,
    whatever its coefficients are.
    """
    shape = step.shape
    if shape.halo_side != "inputs":
        raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
    forward = WindowBand(shape, objective.mean, step.dtype)
    backward = WindowBand(shape, objective.mean == objective.corrected, step.dtype)
    hidden = step.gather("inputs").matmul(step.plan.windows, forward)  # [T/B, B, D]
    used: tf.Tensor | None = None  # [T/B, B, 1], 1 for a centre with context, otherwise 0
    if with_loss:
        used = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)
    layers = {}
    if objective.negative:
        layers["outputs"] = _predict_samples(objective.negative, step, hidden, used)
    if objective.hierarchical:
        layers["nodes"] = _predict_paths(step, hidden, used)
    updates, lost = summed(layers)
    (d_hidden,) = updates["inputs"]
    d_inputs = d_hidden.cast(step.dtype).matmul(step.plan.windows, backward, transposed=True)
    predictions = tf.constant(0.0) if used is None else tf.reduce_sum(used)
    return Gradients(updates | {"inputs": [d_inputs]}, lost, predictions)


def _predict_samples(negative: int, step: Step, hidden: Slices, used: tf.Tensor | None) -> Layer:
    """Predict by negative sampling from the hidden rows."""
    share = negative / step.shape.shared
    real = tf.float32
    centres = step.shape.centres
    targets = step.gather("outputs", slice(centres), real)
    negatives = step.gather("outputs", slice(centres, None))
    wide = hidden.cast(real)
    scores = wide.total(lambda x, y: tf.reduce_sum(x * y, -1, keepdims=True), targets)
    noise_scores = tf.cast(negatives.products(hidden), real)
    noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]
    g = coefficients(scores, 0.5)
    noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), step.dtype)
    d_hidden = targets.scaled(g) + negatives.matmul(noise_g, transposed=True).cast(real)
    lost = tf.constant(0.0)
    if used is not None:
        noise_used = tf.transpose(used, [0, 2, 1])
        lost = loss(scores, used) + loss(noise_scores, noise_used * noise_weights)
    outputs = [wide.scaled(g), hidden.matmul(noise_g).cast(real)]
    return Layer(d_hidden, outputs, lost)


def _predict_paths(step: Step, hidden: Slices, used: tf.Tensor | None) -> Layer:
    """Predict by hierarchical softmax from the hidden rows.

    Each centre is treated as a block with one input, its hidden row, and the nodes of its path as
    outputs.
    """
    tokens = step.shape.tokens
    blocks = step.shape.blocks

    def regroup(rows: Slices, n_groups: int) -> Slices:
        return rows.map(lambda x: tf.reshape(x, [n_groups, -1, tf.shape(x)[2]]))

    weights = tf.reshape(step.plan.signs, [tokens, -1, 1])
    if used is not None:
        weights *= tf.reshape(used, [tokens, 1, 1])
    layer = predict(
        regroup(hidden, tokens),
        regroup(step.gather("nodes"), tokens),
        weights,
        used is not None,
    )
    d_hidden = regroup(layer.inputs, blocks)
    return Layer(d_hidden, [regroup(x, blocks) for x in layer.outputs], layer.loss)
