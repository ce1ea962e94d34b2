"""Objectives: pure functions from the rows of a step to row updates.

Objectives use no variables, devices or files. The caller gathers the rows that an objective needs,
calls the objective, and adds the returned updates. The tests check these invariants:

- the result equals that of a slow loop over pairs with the same draws;
- updates are sums over pairs, so the learning rate means the same as in word2vec;
- a centre with an empty window updates no row, and its own row is not updated.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The window
of a position covers at most w tokens on either side, so the context of a block is within its
*halo*: the H = B + 2w tokens around it. A pair is an input word and a
centre (the output word). Either the inputs or the centres of a block's pairs are the words of its
halo, and the opposite side is the words of the block itself. So each pair of the step belongs to
exactly one block.

A prediction has a score s, the dot product of an input row and an output row, and a label, 1 or 0.
Its loss is ``-log sigmoid(s)`` for label 1 and ``-log sigmoid(-s)`` for label 0. It updates each of
the two rows by ``alpha * (label - sigmoid(s))`` times the opposite row (Mikolov et al. 2013,
"Distributed Representations of Words and Phrases", section 2.2).

Letters for numbers, in shapes: vector size D, blocks of a step T/B, inputs of a block I, centres of
a block O (either I = B and O = H, or I = H and O = B), columns C (the output rows of a block: its
centres, then its shared negatives), nodes on the longest path P, distinct rows of a step U.
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
    """Encoding of band matrices [T/B, O, I]: 1 where an input is in a centre's window, otherwise 0.

    Only the windows are sent to the slices. Each slice computes the matrices from the windows.

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

        A window is encoded as ``n_before * (w + 1) + n_after``, by its numbers of tokens before and
        after the centre.
        """
        base = self.shape.window + 1
        n_before, n_after = (x[:, :, None] for x in (packed // base, packed % base))
        offset = self.shape.offsets
        rows = tf.cast((offset >= -n_before) & (offset <= n_after) & (offset != 0), tf.float32)
        if self.mean:
            rows /= tf.maximum(tf.cast(n_before + n_after, tf.float32), 1.0)
        return tf.cast(rows, self.dtype)


class NearPairs(MatrixEncoding):
    """Encoding of matrices [T/B, C, I] with an element per column and input of a block.

    The encoding omits the elements of a centre and an input that is too far away to be in the
    centre's window. `n_elements` is n, the number of remaining elements per block.
    """

    def __init__(self, shape: StepShape) -> None:
        self._shape = shape
        near = (np.abs(shape.offsets) <= shape.window) & (shape.offsets != 0)
        needed = np.concatenate([near, np.ones((shape.shared, shape.inputs), bool)])
        self._needed = np.flatnonzero(needed).astype(np.int32)
        self.n_elements = len(self._needed)
        # Index of each element among the remaining elements. An omitted element has the index n,
        # at which `unpack` appends a 0.
        self._index = np.full(needed.size, self.n_elements, np.int32)
        self._index[self._needed] = np.arange(self.n_elements)

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """Return the remaining elements [T/B, n] of matrices [T/B, C, I]."""
        flat = tf.reshape(matrices, [-1, self._shape.columns * self._shape.inputs])
        return tf.gather(flat, self._needed, axis=1)

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """Return matrices [T/B, C, I] from elements [T/B, n], with 0 for omitted elements."""
        flat = tf.gather(tf.pad(packed, [[0, 0], [0, 1]]), self._index, axis=1)
        return tf.reshape(flat, [-1, self._shape.columns, self._shape.inputs])


class StepPlan(NamedTuple):
    """Draws of one step, or of all steps of a unit with a leading dimension for the step.

    Fields that an objective does not use are ``()``.

    Attributes
    ----------
    alpha : Tensor []
        Learning rate.
    windows : Tensor [T/B, O], int32
        Window of each centre; see `WindowBand`.
    inputs, outputs, nodes : RowGroups
        Rows of each block, grouped by id: the block's input rows, its columns, and the nodes on its
        centres' paths.
    words : Tensor [T/B, C], int32
        Word ids of the columns; ``()`` unless the weights of negatives depend on the centre.
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
        """Return the draws of one step, given its index."""
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
        Weight of each negative for each centre, from `weigh_negatives`. None if all are 1.
    """

    shape: StepShape
    dtype: tf.DType
    plan: StepPlan
    rows: dict[str, Slices]
    noise: tf.Tensor | None

    def gather(
        self, table: str, selection: slice = slice(None), dtype: tf.DType | None = None
    ) -> Slices:
        """Gather the rows of each block from a table: [T/B, n, D], by default in the step's dtype.

        `selection` selects some of the block's rows. The rows of ``"outputs"`` are the centres,
        then the negatives.
        """
        # Selecting indices here is cheaper than slicing the gathered rows, which would copy them.
        indices = getattr(self.plan, table).inverse
        return self.rows[table].gather(indices, dtype or self.dtype, selection)

    def band(self) -> tf.Tensor:
        """Return 1 where an input is in a centre's window, 0 elsewhere: [T/B, O, I], float32."""
        return WindowBand(self.shape, False, tf.float32).unpack(self.plan.windows)


class Gradients(NamedTuple):
    """Row updates of one step, without the factor of the learning rate, and the step's loss.

    Attributes
    ----------
    updates : dict of lists of Slices [T/B, r, D]
        Updates of the rows of each block, by the name of their table: ``"inputs"``, and
        ``"outputs"`` or ``"nodes"`` or both. The caller multiplies them by the learning rate. Each
        list contains parts of the updates; their numbers of rows r add up to I, C or O * P.
    loss : Tensor []
        Sum of the negative log likelihoods of the step's predictions: of its pairs with label 1, of
        its negatives with label 0. 0 unless the loss is computed.
    predictions : Tensor []
        Number of times that a centre is predicted: pairs of skip-gram, or centres with context of
        CBOW. 0 unless the loss is computed.
    """

    updates: dict[str, list[Slices]]
    loss: tf.Tensor
    predictions: tf.Tensor


class Layer(NamedTuple):
    """Result of an output layer (negative sampling or hierarchical softmax) for one step.

    Attributes
    ----------
    inputs : Slices [blocks, I, D]
        Updates of the input rows.
    outputs : list of Slices [blocks, r, D]
        Updates of the output rows, in parts.
    loss : Tensor []
        Sum of the losses of the predictions; 0 unless the loss is computed.
    """

    inputs: Slices
    outputs: list[Slices]
    loss: tf.Tensor


def sum_layers(layers: dict[str, Layer]) -> tuple[dict[str, list[Slices]], tf.Tensor]:
    """Sum the losses of layers with the same inputs, and their updates of these inputs.

    The keys of `layers` are the names of the tables of their output rows. Returns the updates of
    all tables, by name, as in `Gradients`, and the total loss.
    """
    inputs = [layer.inputs for layer in layers.values()]
    if len({rows.dtype for rows in inputs}) > 1:
        inputs = [rows.cast(tf.float32) for rows in inputs]
    output_updates = {name: layer.outputs for name, layer in layers.items()}
    total_loss = tf.add_n([layer.loss for layer in layers.values()])
    return {"inputs": [functools.reduce(operator.add, inputs)], **output_updates}, total_loss


def predict(
    inputs: Slices,
    outputs: Slices,
    weights: tf.Tensor,
    with_loss: bool,
    pairs: MatrixEncoding = IDENTITY,
) -> Layer:
    """Predict every output row of a block from every input row; return the updates and the loss.

    Three batched matrix products compute the scores, the updates of the input rows, and the updates
    of the output rows.

    Parameters
    ----------
    inputs : Slices [blocks, I, D]
    outputs : Slices [blocks, C, D]
    weights : Tensor [blocks, C, I]
        Weights of the predictions; negative for label 0.
    with_loss : bool
    pairs : MatrixEncoding
        Encoding in which scores are received from slices, and coefficients sent to slices. Elements
        that it omits must have weight 0.
    """
    scores = tf.cast(outputs.products(inputs, pairs), tf.float32)
    g = pairs.pack(tf.cast(coefficients(scores, 0.5 * weights), inputs.dtype))
    return Layer(
        outputs.matmul(g, pairs, transposed=True),
        [inputs.matmul(g, pairs)],
        loss(scores, weights) if with_loss else tf.constant(0.0),
    )


def coefficients(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return ``2 * |weights| * (label - sigmoid(scores))``, where negative weights mean label 0.

    The sigmoid is computed as ``sigmoid(s) = (1 + tanh(s / 2)) / 2``, because tanh costs less than
    TensorFlow's sigmoid. The labels are the signs of the weights rather than a separate argument,
    because broadcasting labels over a matrix would cost more than the rest of this function.
    """
    return weights - tf.abs(weights) * tf.tanh(0.5 * scores)


def loss(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return the sum of ``-|weights| * log(sigmoid(sign(weights) * scores))``."""
    return tf.reduce_sum(tf.abs(weights) * tf.nn.softplus(-tf.sign(weights) * scores))


def gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of one step, and its loss if `with_loss`."""
    compute_gradients = skipgram_gradients if objective.skipgram else cbow_gradients
    return compute_gradients(objective, step, with_loss)


def skipgram_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of a skip-gram step: each word of a window predicts its centre.

    As in gensim, an input and a centre are a pair if the input is in the window of the centre,
    whose size is random. The window of the input does not matter.

    The pairs of a block share its C - O negatives (Ji et al. 2016, "Parallelizing Word2Vec in
    Shared and Distributed Memory", section 4). Each negative has weight ``negative / (C - O)`` in
    each pair, so the negatives of a pair have the total weight `negative`. The weight of a negative
    and an input is the sum over all centres that the input predicts. If targets are skipped,
    centres that are the same word as the negative are left out of the sum.
    """
    inputs = step.gather("inputs")
    pairs = step.band()
    layers = {}
    if objective.negative:
        weights = _pair_weights(objective.negative, step, pairs)
        # slices do not send the products of an input and a centre that cannot be a pair
        near = NearPairs(step.shape) if inputs.link else IDENTITY
        layers["outputs"] = predict(inputs, step.gather("outputs"), weights, with_loss, near)
    if objective.hierarchical:
        signs = step.plan.signs
        path_length = tf.shape(signs)[1] // step.shape.centres
        weights = signs[..., None] * tf.repeat(pairs, path_length, 1)
        layers["nodes"] = predict(inputs, step.gather("nodes"), weights, with_loss)
    updates, total_loss = sum_layers(layers)
    n_pairs = tf.reduce_sum(pairs) if with_loss else tf.constant(0.0)
    return Gradients(updates, total_loss, n_pairs)


def _pair_weights(negative: int, step: Step, pairs: tf.Tensor) -> tf.Tensor:
    """Return the weight of each prediction of a column from an input: [T/B, C, I].

    `pairs` [T/B, O, I] is 1 for pairs of a centre and an input. Weights of negatives are below 0.
    """
    share = negative / step.shape.shared
    if step.noise is None:
        # All negatives have the same weights. `tf.concat` repeats them at half the cost of a
        # broadcast.
        noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * step.shape.shared
    else:
        noise = [tf.matmul(step.noise, pairs) * -share]
    return tf.concat([pairs, *noise], 1)


def cbow_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Compute the row updates of a CBOW step: the sum or mean of a window predicts its centre.

    The hidden rows, one per centre, are the band matrix times the halo's input rows. If hidden rows
    are means, each input row gets the full update of the hidden row. If hidden rows are sums, each
    gets the update divided by the number of input rows. This is gensim's rule. The gradient of the
    loss is the reverse: divided for means, full for sums. It is used if ``objective.corrected``
    (Irsoy, Benton and Stratos 2021, "Corrected CBOW Performs as well as Skip-gram", section 2).

    For a centre without context, the hidden row and the row of the band matrix are zeros. So the
    centre updates no row, although its scores of 0 have errors.
    """
    shape = step.shape
    if shape.halo_side != "inputs":
        raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
    forward = WindowBand(shape, objective.mean, step.dtype)
    backward = WindowBand(shape, objective.mean == objective.corrected, step.dtype)
    hidden = step.gather("inputs").matmul(step.plan.windows, forward)  # [T/B, B, D]
    # [T/B, B, 1], 1 for a centre with context, otherwise 0; None without the loss
    has_context: tf.Tensor | None = None
    if with_loss:
        has_context = tf.minimum(tf.reduce_sum(step.band(), 2, keepdims=True), 1.0)
    layers = {}
    if objective.negative:
        layers["outputs"] = _predict_samples(objective.negative, step, hidden, has_context)
    if objective.hierarchical:
        layers["nodes"] = _predict_paths(step, hidden, has_context)
    updates, total_loss = sum_layers(layers)
    (d_hidden,) = updates["inputs"]
    d_inputs = d_hidden.cast(step.dtype).matmul(step.plan.windows, backward, transposed=True)
    predictions = tf.constant(0.0) if has_context is None else tf.reduce_sum(has_context)
    return Gradients(updates | {"inputs": [d_inputs]}, total_loss, predictions)


def _predict_samples(
    negative: int, step: Step, hidden: Slices, has_context: tf.Tensor | None
) -> Layer:
    """Predict each centre by negative sampling, from its hidden row.

    The loss is computed if `has_context`, see `cbow_gradients`, is not None.
    """
    share = negative / step.shape.shared
    centres = step.shape.centres
    targets = step.gather("outputs", slice(centres), tf.float32)
    negatives = step.gather("outputs", slice(centres, None))
    hidden_float32 = hidden.cast(tf.float32)
    scores = hidden_float32.total(lambda x, y: tf.reduce_sum(x * y, -1, keepdims=True), targets)
    noise_scores = tf.cast(negatives.products(hidden), tf.float32)
    noise_weights = -share if step.noise is None else -share * step.noise  # [T/B, C - B, B]
    # updates of the hidden and output rows, as multiples of the opposite rows
    g = coefficients(scores, 0.5)
    noise_g = tf.cast(coefficients(noise_scores, 0.5 * noise_weights), step.dtype)
    d_hidden = targets.scale(g) + negatives.matmul(noise_g, transposed=True).cast(tf.float32)
    layer_loss = tf.constant(0.0)
    if has_context is not None:
        counted_weights = tf.transpose(has_context, [0, 2, 1]) * noise_weights
        layer_loss = loss(scores, has_context) + loss(noise_scores, counted_weights)
    outputs = [hidden_float32.scale(g), hidden.matmul(noise_g).cast(tf.float32)]
    return Layer(d_hidden, outputs, layer_loss)


def _predict_paths(step: Step, hidden: Slices, has_context: tf.Tensor | None) -> Layer:
    """Predict each centre by hierarchical softmax, from its hidden row.

    `predict` treats each centre as a block, with the hidden row as its only input, and the nodes of
    the centre's path as outputs. The loss is computed if `has_context` is not None.
    """
    tokens = step.shape.tokens
    blocks = step.shape.blocks

    def regroup(rows: Slices, n_groups: int) -> Slices:
        return rows.map(lambda x: tf.reshape(x, [n_groups, -1, tf.shape(x)[2]]))

    weights = tf.reshape(step.plan.signs, [tokens, -1, 1])
    if has_context is not None:
        weights *= tf.reshape(has_context, [tokens, 1, 1])
    layer = predict(
        regroup(hidden, tokens),
        regroup(step.gather("nodes"), tokens),
        weights,
        has_context is not None,
    )
    d_hidden = regroup(layer.inputs, blocks)
    return Layer(d_hidden, [regroup(x, blocks) for x in layer.outputs], layer.loss)
