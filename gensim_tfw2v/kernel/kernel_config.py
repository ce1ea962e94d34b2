"""Constants of a training: the objective, sizes, and options of work units and jobs."""

from dataclasses import dataclass
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.kernel.native.padded_rows import stride

#: Size in bytes of the scale that is sent with each row in int8.
SCALE_BYTES = 4


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


@dataclass(frozen=True)
class KernelShape:
    """Sizes of the compiled kernels.

    Parameters
    ----------
    block, window : int
        B, number of positions of a block; w, maximum number of words on either side of a centre.
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


@dataclass(frozen=True)
class KernelConfig:
    """Constants of the functions that train a work unit or run a worker's jobs.

    Parameters
    ----------
    shape : KernelShape or StepShape
        Sizes of the compiled kernels, or of the TensorFlow fallback. The type selects the engine.
    vector_size, shrink_windows
        gensim's parameters.
    id_bits : int
        Number of bits of a row id: ids are below ``2 ** id_bits``.
    max_entries : int
        Maximum entries of a unit.
    max_window : int, optional
        Maximum of the random window size (gensim's `window`), before it is cut to the shape's
        window.
    loss_every : int
        Compute the loss of every `loss_every`-th block of a unit; 0 for none. All blocks cost a
        tenth of the training time. The TensorFlow fallback computes all or none.
    skip_targets : bool
        Whether a negative that equals its target is skipped, as in gensim. In a small vocabulary,
        such negatives are frequent. In a large one, the comparison only costs time.
    locked : bool
        Whether updates of input rows are multiplied by ``WordArrays.lock``.
    negative_shards : int
        Number of shards of the vocabulary. The negatives of a target are words of its own shard.
    product_dtype : {"float32", "bfloat16"}
        Precision of the factors and results of matrix products. Rows and sums of their updates are
        always float32.
    max_norm : float
        Maximum norm of a row's update per step of the TensorFlow fallback.
    adagrad : bool
        Whether each row has its own learning rate; see `gensim_tfw2v.graph.updates.adagrad`.
    workers : int
        Number of worker tasks in a cluster, or of threads on one machine.
    threads : int
        Threads per worker: the number of work units that it trains in parallel.
    wire_dtype : {"int8", "bfloat16", "float32"}
        Type in which rows and their changes are sent. In int8, each row has a scale. The ps tasks
        store rows as float32. So only changes, and the rows from which workers compute them, are
        rounded.
    shared_corpus : bool
        Whether workers read units from shared files; otherwise the coordinator sends them.
    layout : {"rows", "columns"}
        Distribution of the tables over the ps tasks; see `RowLayout` and `ColumnLayout`.
    max_growth : float
        Maximum factor by which concurrent workers raise the learning rate.
    one_at_a_time : bool
        Whether only one worker trains at a time.
    round_blocks : int
        Number of blocks of a unit that start from the same rows in a deterministic training; see
        `choose_round_blocks`.
    documents : bool
        Whether tags of documents are inputs. In CBOW, they are additional inputs of each window. In
        skip-gram, they predict the words of their documents. The rows of tags follow the rows of
        words.
    train_words : bool
        Whether skip-gram of documents also trains windows of words.
    concatenated : int
        Number of input rows that are concatenated into a hidden layer of CBOW; 0 if a hidden layer
        is the sum or mean of rows.
    padding : int
        Index of the input row for positions outside of a document, if rows are concatenated.
    learn_hidden : bool
        Whether outputs and nodes are trained, or only read.
    kernel : str
        Name of the compiled kernel that trains, of `by_ctypes.kernel_names`; "": the default of
        each process.
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
    learn_hidden: bool = True
    kernel: str = ""

    @property
    def native(self) -> bool:
        """Return whether the compiled kernels of `gensim_tfw2v.kernel.native` train."""
        return isinstance(self.shape, KernelShape)

    @property
    def row_size(self) -> int:
        """Floats per row of a table, including the kernels' padding."""
        return stride(self.vector_size) if self.native else self.vector_size

    @property
    def selects_negatives(self) -> bool:
        """Return whether the weights of a block's negatives differ between its centres."""
        return self.skip_targets or self.negative_shards > 1

    @property
    def max_steps(self) -> int:
        """Maximum number of steps of a unit in the TensorFlow fallback."""
        return -(-self.max_entries // self.shape.tokens) * self.shape.turns

    @property
    def row_bytes(self) -> int:
        """Bytes that are sent per row, including its scale and its sum of Adagrad."""
        squares = tf.float32.size if self.adagrad else 0
        scale = SCALE_BYTES if self.wire_dtype == "int8" else 0
        return self.vector_size * tf.as_dtype(self.wire_dtype).size + scale + squares
