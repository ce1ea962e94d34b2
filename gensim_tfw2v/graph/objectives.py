"""Objectives: pure functions from the rows of a step to row updates.

No variables, no devices, no files. A regime gathers the rows that an objective names, calls it,
and adds the updates that it returns. Laws, held by the tests:

- the result equals that of a slow loop over pairs with the same draws;
- updates are sums over pairs, so the step size means what it means in word2vec;
- a centre whose window is empty neither gives nor gets an update.

A *step* is T consecutive tokens (after subsampling), cut into blocks of B *positions*. The
window of a position reaches at most w tokens to either side, so all context of a block lies in
its *halo*: the H = B + 2w tokens around it. Either the inputs or the centres (the output words)
of a block's pairs are taken from its halo, the other side from the block itself: then each pair
of the step belongs to one block.

A prediction's score is the dot product s of an input and an output row, and its label is 1 or 0.
Its loss is ``-log sigmoid(±s)``, and its update is ``alpha * (label - sigmoid(s))`` times the other
row (Mikolov et al. 2013, "Distributed Representations of Words and Phrases", section 2.2).

Letters: D vector size, T/B blocks of a step, I inputs of a block, O its centres (of I and O one
is B, the block, and one is H, its halo), C columns (the output rows of a block: its centres, then
its shared negatives), P nodes of the longest path, U distinct rows.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.graph.slices import IDENTITY, Slices, Weights
from gensim_tfw2v.graph.step_shape import StepShape
from gensim_tfw2v.graph.updates import RowGroups
from gensim_tfw2v.kernel.kernel_config import Objective


@dataclass(frozen=True)
class WindowBand(Weights):
    """1 where an input lies in a centre's window, else 0: [T/B, O, I].

    Of these the windows travel, not the matrices: each slice makes them.

    Parameters
    ----------
    shape : StepShape
    mean : bool
        Whether each row is divided by the number of tokens that the window holds.
    dtype : DType
    """

    shape: StepShape
    mean: bool
    dtype: tf.DType

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """From windows [T/B, O], int32, to [T/B, O, I].

        They are ``left * (w + 1) + right`` of each centre: how many tokens its window holds before
        and after it.
        """
        reaches = self.shape.window + 1
        left, right = (x[:, :, None] for x in (packed // reaches, packed % reaches))
        offset = self.shape.offsets
        rows = tf.cast((offset >= -left) & (offset <= right) & (offset != 0), tf.float32)
        if self.mean:
            rows /= tf.maximum(tf.cast(left + right, tf.float32), 1.0)
        return tf.cast(rows, self.dtype)


class NearPairs(Weights):
    """Matrices [T/B, C, I], without the entries of inputs and centres that can make no pair.

    `number` is n, the entries of a block that are left.
    """

    def __init__(self, shape: StepShape) -> None:
        self._shape = shape
        near = (np.abs(shape.offsets) <= shape.window) & (shape.offsets != 0)
        needed = np.concatenate([near, np.ones((shape.shared, shape.inputs), bool)])
        self._needed = np.flatnonzero(needed).astype(np.int32)
        self.number = len(self._needed)
        # where each entry is among these; others are at their end, where a 0 is put
        self._index = np.full(needed.size, self.number, np.int32)
        self._index[self._needed] = np.arange(self.number)

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """From [T/B, C, I] to [T/B, n]."""
        flat = tf.reshape(matrices, [-1, self._shape.columns * self._shape.inputs])
        return tf.gather(flat, self._needed, axis=1)

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """From [T/B, n] to [T/B, C, I], with 0 for what is missing."""
        wide = tf.gather(tf.pad(packed, [[0, 0], [0, 1]]), self._index, axis=1)
        return tf.reshape(wide, [-1, self._shape.columns, self._shape.inputs])


class StepPlan(NamedTuple):
    """Draws of one step; those of all steps have a first dimension for the step.

    What an objective does not use is ``()``.

    Attributes
    ----------
    alpha : Tensor []
        Step size.
    windows : Tensor [T/B, O], int32
        The window of each centre; see `WindowBand`.
    inputs, outputs, nodes : RowGroups
        Input rows of the blocks, their columns, and the nodes on the paths of their centres.
    words : Tensor [T/B, C], int32
        Ids of the columns, where negatives are compared with targets.
    signs : Tensor [T/B, O * P], float32
        Which way each path goes on at each of its nodes: see `paths_of`.
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    nodes: Any = ()
    signs: Any = ()

    def of(self, step: tf.Tensor) -> StepPlan:
        """Take one step out of all."""
        plan: StepPlan = tf.nest.map_structure(lambda x: tf.gather(x, step), self)
        return plan


class Step(NamedTuple):
    """Inputs of one step.

    Attributes
    ----------
    shape : StepShape
    dtype : DType
        Of what goes into matrix products.
    plan : StepPlan
    rows : dict of Slices [U, D]
        The distinct rows of each table in use, by its name in `Tables`.
    noise : Tensor [T/B, C - O, O], optional
        How often each negative counts for each centre: see `counted_negatives`. As in gensim, one
        that equals the target is skipped for that target. None counts all once.
    """

    shape: StepShape
    dtype: tf.DType
    plan: StepPlan
    rows: dict[str, Slices]
    noise: tf.Tensor | None

    # Columns are chosen before rows are looked up: slicing rows afterwards would copy them. And
    # rows are cast before they are multiplied.

    def gather(
        self, table: str, which: slice = slice(None), dtype: tf.DType | None = None
    ) -> Slices:
        """Rows of a table that each block has, or some of these: [T/B, n, D], in the step's dtype.

        Outputs are those of its centres, then of its negatives.
        """
        inverse = getattr(self.plan, table).inverse
        return self.rows[table].gather(inverse, dtype or self.dtype, which)

    def band(self) -> tf.Tensor:
        """1 where an input is in a centre's window, else 0: [T/B, O, I], float32."""
        return WindowBand(self.shape, False, tf.float32).unpack(self.plan.windows)


class Gradients(NamedTuple):
    """In which direction one step wants the rows to go, and what it lost.

    Attributes
    ----------
    updates : dict of lists of Slices [T/B, r, D]
        Updates of the rows of each block, to be multiplied by the step size, by the name of their
        table: ``"inputs"``, and ``"outputs"`` or ``"nodes"``. The parts' r add up to I, C or O * P.
    loss, predictions : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives, and of how many
        predictions of a centre; 0 unless asked for.
    """

    updates: dict[str, list[Slices]]
    loss: tf.Tensor
    predictions: tf.Tensor


class Layer(NamedTuple):
    """Updates of a layer's input rows [blocks, I, D] and, in parts, output rows; and its loss."""

    inputs: Slices
    outputs: list[Slices]
    loss: tf.Tensor


def summed(layers: dict[str, Layer]) -> tuple[dict[str, list[Slices]], tf.Tensor]:
    """Updates and loss of layers on the same inputs, each by the name of its output rows' table."""
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
    pairs: Weights = IDENTITY,
) -> Layer:
    """Predict every output row of a block from every input row of it, by three batched products.

    Each counts as often as `weights` [blocks, C, I] say: below 0 with the label 0. `pairs` says
    which products are needed.
    """
    scores = tf.cast(outputs.products(inputs, pairs), tf.float32)
    g = pairs.pack(tf.cast(coefficients(scores, 0.5 * weights), inputs.dtype))
    return Layer(
        outputs.matmul(g, pairs, transposed=True),
        [inputs.matmul(g, pairs)],
        loss(scores, weights) if with_loss else tf.constant(0.0),
    )


def coefficients(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Twice ``|weights| * (label - sigmoid(scores))``, where weights below 0 have the label 0.

    Written with tanh, which costs less than a sigmoid: ``sigmoid(s) = (1 + tanh(s / 2)) / 2``. And
    with signed weights: to spread signs over a matrix costs more than all the rest.
    """
    return weights - tf.abs(weights) * tf.tanh(0.5 * scores)


def loss(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Sum of ``-|weights| * log(sigmoid(±scores))``, minus where weights are below 0."""
    return tf.reduce_sum(tf.abs(weights) * tf.nn.softplus(-tf.sign(weights) * scores))


def gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Row updates of one step."""
    of_objective = skipgram_gradients if objective.skipgram else cbow_gradients
    return of_objective(objective, step, with_loss)


def skipgram_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Row updates of one step in which each word of a window predicts the centre word.

    As in gensim, the window is the centre's: an input and a centre make a pair when the input
    lies in the centre's (reduced) window. A negative n of the block takes part in as many pairs
    of an input as there are centres that reach it (and are other words than n).

    Negatives are shared by the pairs of a block (Ji et al. 2016, "Parallelizing Word2Vec in Shared
    and Distributed Memory", section 4): each counts ``negative / (C - B)`` times for each pair, so
    the expectation is `negative` draws a pair.
    """
    inputs = step.gather("inputs")
    pairs = step.band()
    layers = {}
    if objective.negative:
        weights = _pair_weights(objective.negative, step, pairs)
        # of products with columns only those that make pairs travel
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
    """Weight of each pair, below 0 for negatives: [T/B, C, I]."""
    share = negative / step.shape.shared
    if step.noise is None:
        # repeated by concat: broadcasting to all negatives costs twice as much
        noise = [tf.reduce_sum(pairs, 1, keepdims=True) * -share] * step.shape.shared
    else:
        noise = [tf.matmul(step.noise, pairs) * -share]
    return tf.concat([pairs, *noise], 1)


def cbow_gradients(objective: Objective, step: Step, with_loss: bool) -> Gradients:
    """Row updates of one step in which the sum or mean of a window predicts the centre word.

    The hidden rows are the band matrix times the halo's input rows: a matrix product too. As in
    gensim, the gradient of the hidden row goes whole to each input row when the hidden row is a
    mean, and divided by their number when it is a sum. That is not the gradient of the loss: it
    would be the other way round, as it is if `corrected` (Irsoy, Benton and Stratos 2021,
    "Corrected CBOW Performs as well as Skip-gram", section 2).

    A centre without context has a hidden row of zeros and a band of zeros, so whatever its
    coefficients are, nothing is added to any row.
    """
    shape = step.shape
    if shape.halo_side != "inputs":
        raise ValueError('CBOW needs all inputs of a centre in its block: halo_side="inputs"')
    forward = WindowBand(shape, objective.mean, step.dtype)
    backward = WindowBand(shape, objective.mean == objective.corrected, step.dtype)
    hidden = step.gather("inputs").matmul(step.plan.windows, forward)  # [T/B, B, D]
    used: tf.Tensor | None = None  # for the loss: 1 for a centre that has context, else 0
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
    scores = wide.dots(targets)
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
    """The same of hierarchical softmax: each centre is a block of its own, with its path."""
    tokens = step.shape.tokens
    blocks = step.shape.blocks

    def regrouped(rows: Slices, groups: int) -> Slices:
        return rows.map(lambda x: tf.reshape(x, [groups, -1, tf.shape(x)[2]]))

    weights = tf.reshape(step.plan.signs, [tokens, -1, 1])
    if used is not None:
        weights *= tf.reshape(used, [tokens, 1, 1])
    layer = predict(
        regrouped(hidden, tokens),
        regrouped(step.gather("nodes"), tokens),
        weights,
        used is not None,
    )
    d_hidden = regrouped(layer.inputs, blocks)
    return Layer(d_hidden, [regrouped(x, blocks) for x in layer.outputs], layer.loss)
