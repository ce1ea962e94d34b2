"""Objective of a training: the predictions that are trained, and their loss."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """Training objective: skip-gram or CBOW, and its loss.

    Parameters
    ----------
    skipgram : bool
        True for skip-gram: each word of a window predicts the centre word. False for CBOW: the sum
        or mean of the window's words predicts the centre word.
    negative : int
        Number of negatives per prediction; 0 without negative sampling.
    mean : bool
        gensim's `cbow_mean`; False in skip-gram.
    hierarchical : bool
        gensim's `hs`: whether hierarchical softmax is trained.
    corrected : bool
        Whether input rows of CBOW get the gradient of the loss, from which gensim's updates differ;
        see `gensim_tfw2v.graph.objectives.cbow_gradients`.
    """

    skipgram: bool
    negative: int
    mean: bool = False
    hierarchical: bool = False
    corrected: bool = False

    @property
    def follows_gradient(self) -> bool:
        """Return whether updates are the negative gradient of the loss."""
        return self.skipgram or self.corrected
