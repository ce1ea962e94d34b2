"""Description of a training run, from which an engine chooses its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gensim_tfw2v.options.config import TrainingConfig


@dataclass(frozen=True, eq=False)
class Problem:
    """Options of a training run, and sizes of its vocabulary and its text.

    Parameters
    ----------
    options : TrainingConfig
    n_words : int
        Number of words in the vocabulary.
    tokens : int
        Number of tokens that the model is trained on per epoch, after subsampling.
    window : int
        Maximum number of positions on either side of a window's centre: gensim's `window`, or less
        if the longest sentence is shorter.
    pairs : float
        Mean number of words in a window.
    most_frequent : float
        Fraction of the tokens that are the most frequent word.
    ngram_overlap : float, optional
        `Subwords.ngram_overlap` of the vocabulary; None without subwords.
    padding : int
        Index of the input row that stands for positions outside of a document; used only if input
        rows are concatenated.
    locked : bool
        Whether the update of each input row is multiplied by its factor in ``WordArrays.lock``.
    loss_every : int
        Compute the loss of every `loss_every`-th block of a unit; 0 for no block. The loss of all
        blocks takes a tenth of the training time. The TensorFlow fallback computes the loss of all
        blocks, or of none.
    kernel : str
        Name of the compiled kernel that trains, one of `by_ctypes.kernel_names`. "" selects the
        default kernel of each process, which depends on its processor.
    """

    options: TrainingConfig
    n_words: int
    tokens: int
    window: int
    pairs: float
    most_frequent: float = 0.0
    ngram_overlap: float | None = None
    padding: int = 0
    locked: bool = False
    loss_every: int = 0
    kernel: str = ""
