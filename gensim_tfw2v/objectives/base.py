"""The interface of an objective.

Letters: D vector size, B block, H halo, N blocks of a step, C columns (the output rows of a
block: its B own words, then its shared negatives).
"""

from typing import NamedTuple, Protocol

from gensim_tfw2v._tensorflow import tf


class Gradients(NamedTuple):
    """What one step wants added to the rows, and what it lost.

    Attributes
    ----------
    inputs : Tensor [N, H, D]
        Updates of the input rows (gensim's ``wv.vectors``), `alpha` included.
    outputs : Tensor [N, C, D]
        Updates of the output rows (gensim's ``syn1neg``), `alpha` included.
    loss : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives; 0 unless asked for.
    """

    inputs: tf.Tensor
    outputs: tf.Tensor
    loss: tf.Tensor


class Objective(Protocol):
    """One step of training: rows in, row updates out.

    Laws, held by the tests:

    - the result equals that of a slow loop over pairs with the same draws;
    - updates are sums over pairs, so `alpha` means what it means in word2vec;
    - a position whose `band` is empty neither gives nor gets an update.
    """

    def __call__(
        self,
        inputs: tf.Tensor,
        outputs: tf.Tensor,
        band: tf.Tensor,
        noise: tf.Tensor | None,
        shared: int,
        alpha: tf.Tensor,
        with_loss: bool,
    ) -> Gradients:
        """Compute the row updates of one step.

        Parameters
        ----------
        inputs : Tensor [N, H, D]
            Input rows of each block's halo.
        outputs : Tensor [N, C, D]
            Output rows of each block's own words, then of its shared negatives.
        band : Tensor [N, B, H]
            1 where the halo position lies in the window of the block's position, else 0.
        noise : Tensor [N, C - B, B], optional
            1 where the negative is another word than the block's, else 0: as in gensim, a
            negative that equals the target is skipped for that target. None counts all.
        shared : int
            C - B, the negatives of a block.
        alpha : Tensor []
            Step size.
        with_loss : bool
            Whether to compute the loss.
        """
        ...
