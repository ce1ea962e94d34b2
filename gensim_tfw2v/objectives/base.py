"""The interface of an objective, and the step that it is given.

Letters: D vector size, B block, H halo, T/B blocks of a step, C columns (the output rows of a
block: its B own words, then its shared negatives), U distinct rows.
"""

from typing import NamedTuple, Protocol

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.blocks import StepShape


class Step(NamedTuple):
    """What one step is computed from.

    Attributes
    ----------
    shape : StepShape
    inputs, outputs : Tensor [U, D]
        The distinct input rows (gensim's ``wv.vectors``) and output rows (``syn1neg``).
    input_place : Tensor [T/B, H], int32
        Which of `inputs` each position of each block's halo has.
    output_place : Tensor [T/B, C], int32
        Which of `outputs` each block's own words and its negatives have.
    left, right : Tensor [T/B, C], int32
        Rows of `reach_tables` for each block's positions; rows of zeros for its negatives.
    reach_tables : tuple of Tensor [rows, H]
    noise : Tensor [T/B, C - B, B], optional
        1 where the negative is another word than the block's, else 0: as in gensim, a negative
        that equals the target is skipped for that target. None counts all.
    alpha : Tensor []
        Step size.
    """

    shape: StepShape
    inputs: tf.Tensor
    outputs: tf.Tensor
    input_place: tf.Tensor
    output_place: tf.Tensor
    left: tf.Tensor
    right: tf.Tensor
    reach_tables: tuple[tf.Tensor, tf.Tensor]
    noise: tf.Tensor | None
    alpha: tf.Tensor

    # Columns are chosen before rows are looked up: slicing rows afterwards would copy them.

    def halo(self) -> tf.Tensor:
        """Input rows of each block's halo: [T/B, H, D]."""
        return tf.gather(self.inputs, self.input_place)

    def columns(self) -> tf.Tensor:
        """Output rows of each block's words and negatives: [T/B, C, D]."""
        return tf.gather(self.outputs, self.output_place)

    def targets(self) -> tf.Tensor:
        """Output rows of each block's words: [T/B, B, D]."""
        return tf.gather(self.outputs, self.output_place[:, : self.shape.block])

    def negatives(self) -> tf.Tensor:
        """Output rows of each block's negatives: [T/B, C - B, D]."""
        return tf.gather(self.outputs, self.output_place[:, self.shape.block :])

    def band(self, columns: int) -> tf.Tensor:
        """1 where a halo position lies in the window of a column's position: [T/B, columns, H]."""
        left, right = self.reach_tables
        return tf.gather(left, self.left[:, :columns]) + tf.gather(right, self.right[:, :columns])


class Gradients(NamedTuple):
    """What one step wants added to the rows, and what it lost.

    Attributes
    ----------
    inputs : Tensor [T/B, H, D]
        Updates of the halo's input rows, `alpha` included.
    outputs : list of Tensor [T/B, c, D]
        Updates of the columns' output rows, `alpha` included; the parts' c add up to C.
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
    - updates are sums over pairs, so `alpha` means what it means in word2vec;
    - a position whose window is empty neither gives nor gets an update.
    """

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Compute the row updates of one step, and its loss if asked for."""
        ...
