"""Constants of a training's functions: the objective, sizes, and options of units and jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native.by_ctypes import stride

#: Bytes of the scale of a row that travels in int8.
SCALE_BYTES = 4


@dataclass(frozen=True)
class Objective:
    """What predicts which word, and by which loss.

    Parameters
    ----------
    skipgram : bool
        Each word of a window predicts its centre word; else their sum or mean does (CBOW).
    negative : int
        Negatives a prediction; 0 for none.
    mean : bool
        gensim's `cbow_mean`, of CBOW alone.
    hierarchical : bool
        Whether hierarchical softmax is trained: gensim's `hs`.
    corrected : bool
        Whether each input row of CBOW gets the gradient of the loss.
    """

    skipgram: bool
    negative: int
    mean: bool = False
    hierarchical: bool = False
    corrected: bool = False

    @property
    def follows_gradient(self) -> bool:
        """True if updates are the negative gradient of the loss."""
        return self.skipgram or self.corrected


@dataclass(frozen=True)
class KernelShape:
    """Sizes by which the compiled kernels train.

    Parameters
    ----------
    block, window : int
        B positions, and w.
    shared : int
        Negatives shared by the pairs of a block.
    sequential : bool
        Train one window after the other, instead of a block at once.
    group : int
        Windows of CBOW, or words of a window of skip-gram, whose scores are computed from the same
        rows.
    span : int
        Positions whose words' inputs are made of rows of n-grams at a time: see `choose_span`.
    """

    block: int
    window: int
    shared: int
    sequential: bool = False
    group: int = 4
    span: int = 1


@dataclass(frozen=True)
class KernelConfig:
    """Constants from which the functions that train are built: of a unit, and of a worker's jobs.

    Parameters
    ----------
    shape : KernelShape or StepShape
        Of compiled kernels, which then train, or of the graph.
    vector_size, shrink_windows
        gensim's parameters.
    id_bits : int
        Row ids are below ``2 ** id_bits``.
    max_entries : int
        The longest unit.
    max_window : int, optional
        What windows are reduced from: gensim's `window`, where the shape's is shorter.
    loss_every : int
        The loss of every so manieth block of a unit is computed, 0: of none. That of all takes a
        tenth of the whole. The graph computes all or none.
    skip_targets : bool
        Whether a negative that equals a target is skipped for it, as gensim does. It matters
        where words are so few that most are drawn often; else it costs time for nothing.
    locked : bool
        Whether updates of input rows are multiplied by ``WordArrays.lock``.
    negative_shards : int
        Shards of the noise: a target's negatives are words of its own.
    product_dtype : {"float32", "bfloat16"}
        Precision of what goes into the matrix products and comes out of them. Rows and the
        sums of their updates are float32 in any case.
    max_norm : float
        The longest that a row's summed update of a step may be.
    adagrad : bool
        Whether rows have step sizes of their own: see `gensim_tfw2v.graph.updates.adagrad`.
    workers : int
        Worker tasks of a cluster, or threads of one machine.
    threads : int
        Threads of each worker, and work units that it trains at a time.
    wire_dtype : {"int8", "bfloat16", "float32"}
        Type in which rows and their changes travel; int8 with a scale per row. On the ps they are
        float32: only a change is rounded, and the point at which it is computed.
    shared_corpus : bool
        Whether workers read units from files, rather than being sent them.
    layout : {"rows", "columns"}
        What is spread over the ps tasks: see `RowLayout` and `ColumnLayout`.
    max_growth : float
        Step sizes of workers that train at the same time are at most so many times as large.
    one_at_a_time : bool
        Whether workers take turns.
    round_blocks : int
        Blocks of a unit that start from the same rows: see `choose_round_blocks`.
    documents : bool
        Whether tags of documents are inputs: in CBOW of each window, in skip-gram instead of
        windows. Their rows come after those of the words.
    train_words : bool
        Whether skip-gram of documents trains windows, too.
    concatenated, padding : int
        So many rows, one after the other, are a hidden layer, and that of this input stands for
        what lies outside of a document; 0: their sum or mean is.
    """

    objective: Objective
    shape: Any
    vector_size: int
    id_bits: int
    max_entries: int
    shrink_windows: bool = True
    max_window: int | None = None
    loss_every: int = 0
    skip_targets: bool = True
    locked: bool = False
    negative_shards: int = 1
    product_dtype: str = "float32"
    max_norm: float = 0.5
    adagrad: bool = False
    workers: int = 1
    threads: int = 1
    wire_dtype: str = "bfloat16"
    shared_corpus: bool = False
    layout: str = "rows"
    max_growth: float = 1.0
    one_at_a_time: bool = False
    round_blocks: int = 1
    documents: bool = False
    train_words: bool = True
    concatenated: int = 0
    padding: int = 0

    @property
    def native(self) -> bool:
        """True if compiled kernels train, instead of a graph: see `gensim_tfw2v.kernel.native`."""
        return isinstance(self.shape, KernelShape)

    @property
    def row_size(self) -> int:
        """Numbers that a row takes in a table that is trained."""
        return stride(self.vector_size) if self.native else self.vector_size

    @property
    def selects_negatives(self) -> bool:
        """True if the weights of a block's negatives differ between its centres."""
        return self.skip_targets or self.negative_shards > 1

    @property
    def max_steps(self) -> int:
        """The most steps that a unit can have."""
        return -(-self.max_entries // self.shape.tokens) * self.shape.turns

    @property
    def row_bytes(self) -> int:
        """Bytes of a row that travels, with its sum of Adagrad."""
        squares = tf.float32.size if self.adagrad else 0
        scale = SCALE_BYTES if self.wire_dtype == "int8" else 0
        return self.vector_size * tf.as_dtype(self.wire_dtype).size + scale + squares
