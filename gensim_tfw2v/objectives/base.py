"""The interface of an objective, and the step that it is given.

Letters: D vector size, T/B blocks of a step, I inputs of a block, O its centres (of I and O one
is B, the block, and one is H, its halo), C columns (the output rows of a block: its centres, then
its shared negatives), U distinct rows.
"""

from typing import NamedTuple, Protocol

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape, band


class Step(NamedTuple):
    """What one step is computed from.

    Attributes
    ----------
    shape : StepShape
    inputs, outputs : Tensor [U, D]
        The distinct input rows (gensim's ``wv.vectors``) and output rows (``syn1neg``).
    input_place : Tensor [T/B, I], int32
        Which of `inputs` each input of each block has.
    output_place : Tensor [T/B, C], int32
        Which of `outputs` each block's centres and its negatives have.
    windows : Tensor [T/B, O], int32
        The window of each centre; see `band`.
    noise : Tensor [T/B, C - O, O], optional
        1 where the negative is another word than the centre, else 0: as in gensim, a negative
        that equals the target is skipped for that target. None counts all.
    dtype : DType
        Of what goes into matrix products.
    """

    shape: StepShape
    inputs: tf.Tensor
    outputs: tf.Tensor
    input_place: tf.Tensor
    output_place: tf.Tensor
    windows: tf.Tensor
    noise: tf.Tensor | None
    dtype: tf.DType

    # Columns are chosen before rows are looked up: slicing rows afterwards would copy them. And
    # rows are cast before they are multiplied.

    def input_rows(self) -> tf.Tensor:
        """Input rows of each block: [T/B, I, D], dtype."""
        return tf.gather(tf.cast(self.inputs, self.dtype), self.input_place)

    def columns(self) -> tf.Tensor:
        """Output rows of each block's centres and negatives: [T/B, C, D], dtype."""
        return tf.gather(tf.cast(self.outputs, self.dtype), self.output_place)

    def targets(self) -> tf.Tensor:
        """Output rows of each block's centres: [T/B, O, D], float32."""
        return tf.gather(self.outputs, self.output_place[:, : self.shape.centres])

    def negatives(self) -> tf.Tensor:
        """Output rows of each block's negatives: [T/B, C - O, D], dtype."""
        rows = tf.cast(self.outputs, self.dtype)
        return tf.gather(rows, self.output_place[:, self.shape.centres :])

    def band(self, mean: bool = False, dtype: tf.DType = tf.float32) -> tf.Tensor:
        """1 where an input is in a centre's window, or its share of it: [T/B, O, I]."""
        return band(self.windows, self.shape, mean, dtype)


class Gradients(NamedTuple):
    """In which direction one step wants the rows to go, and what it lost.

    Attributes
    ----------
    inputs : Tensor [T/B, I, D]
        Updates of the blocks' input rows, to be multiplied by the step size.
    outputs : list of Tensor [T/B, c, D]
        Updates of the columns' output rows, likewise; the parts' c add up to C.
    loss : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives; 0 unless asked for.
    """

    inputs: tf.Tensor
    outputs: list[tf.Tensor]
    loss: tf.Tensor


class Objective(Protocol):
    """One step of training: rows in, row updates out.

    Laws, held by the tests:

    - the result equals that of a slow loop over pairs with the same draws;
    - updates are sums over pairs, so the step size means what it means in word2vec;
    - a centre whose window is empty neither gives nor gets an update.
    """

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Compute the row updates of one step, and its loss if asked for."""
        ...
