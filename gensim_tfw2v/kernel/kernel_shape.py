"""Sizes of the compiled kernels' blocks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelShape:
    """Sizes of the compiled kernels.

    Parameters
    ----------
    block : int
        B, number of positions of a block.
    window : int
        w, maximum number of words on either side of a centre.
    shared : int
        Number of negatives shared by the pairs of a block.
    sequential : bool
        Whether the windows of a block are trained sequentially, in groups. Otherwise all scores of
        a block are computed from the same rows.
    group : int
        If sequential, number of windows (CBOW) or of words in a window (skip-gram) whose scores are
        computed from the same rows.
    span : int
        Number of positions whose inputs are composed from n-gram rows at a time; see `choose_span`.
    repeats : int
        Maximum occurrences of an input in a block of skip-gram. With more, the block is halved.
    """

    block: int
    window: int
    shared: int
    sequential: bool = False
    group: int = 4
    span: int = 1
    repeats: int = 1 << 20
