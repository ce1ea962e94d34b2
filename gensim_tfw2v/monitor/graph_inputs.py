"""Input layer of the graph for TensorBoard: hidden rows of input rows, and updates of input rows.

Shapes are strings of letters, which `gensim_tfw2v.monitor.graph` explains.
"""

from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.monitor.graph_builder import INT64, GraphBuilder
from gensim_tfw2v.weight_tables import VECTORS

# Names of ops that several functions use.
ARE_REAL = "batch/are_real"
WEIGHTS = "batch/weights"
SHARE = "hidden/share"


@dataclass(frozen=True)
class InputLayer:
    """Table of input rows, and kind of the rows that a hidden row consists of.

    Attributes
    ----------
    n_rows : int
        Number of rows: of words, then of n-grams or of tags.
    has_ngrams : bool
        Whether a word consists of its own row and rows of its n-grams, as in FastText.
    has_tags : bool
        Whether tags of documents are inputs, as in Doc2Vec.
    trains_words : bool
        Whether PV-DBOW, which is skip-gram with tags, also trains words: Doc2Vec's `dbow_words`.
    n_concatenated : int
        Number of rows that a hidden row concatenates, as with Doc2Vec's `dm_concat`; 0 if it is a
        single row, a sum or a mean.
    """

    n_rows: int
    has_ngrams: bool = False
    has_tags: bool = False
    trains_words: bool = False
    n_concatenated: int = 0

    @property
    def table_name(self) -> str:
        """Name of gensim's array, or "inputs" if the table consists of two arrays."""
        return VECTORS.table if self.has_ngrams or self.has_tags else VECTORS.name


@dataclass(frozen=True)
class SingleRow:
    """Hidden row that is an input row: a word's in skip-gram, a tag's in PV-DBOW.

    Attributes
    ----------
    shape : str
        Shape of the ids of input rows.
    """

    shape: str = "b"

    def combine(self, graph: GraphBuilder, rows: str) -> str:
        """Return the op of the hidden rows; `rows` is the op of the input rows."""
        return rows

    def distribute(self, graph: GraphBuilder, gradient: str) -> str:
        """Return the op of the input rows' updates; `gradient` is that of the hidden rows."""
        return gradient


@dataclass(frozen=True)
class ConcatenatedRows:
    """Hidden row that concatenates input rows: tags of a document, and words of a window."""

    shape: str = "br"

    def combine(self, graph: GraphBuilder, rows: str) -> str:
        """Add the hidden rows, as `SingleRow.combine`."""
        return graph.reshape("hidden/concatenation", rows, "bh")

    def distribute(self, graph: GraphBuilder, gradient: str) -> str:
        """Add the input rows' updates, as `SingleRow.distribute`."""
        return graph.reshape("gradients/inputs/rows", gradient, "brd")


@dataclass(frozen=True)
class Pool:
    """Hidden row that is the sum or the mean of input rows: of a window, or of a word's n-grams.

    An input row of FastText can be the sum of several of gensim's rows. Its weight is their number;
    all other rows have weight 1, and padding has weight 0. Means divide by the sum of the weights,
    and the update of a row is multiplied by its weight.

    Attributes
    ----------
    shape : str
        Shape of the ids of input rows.
    is_mean : bool
        Whether the hidden row is the mean of the rows, rather than their sum.
    divides_updates : bool
        Whether the gradient of the hidden row is divided by the sum of the weights.
    excludes_own_row : bool
        Whether the sum of the weights excludes the word's own row, unless the word has no n-grams.
    """

    shape: str
    is_mean: bool
    divides_updates: bool
    excludes_own_row: bool

    @property
    def weights(self) -> str:
        """Name of the weights' op."""
        return WEIGHTS if "n" in self.shape else ARE_REAL

    def combine(self, graph: GraphBuilder, rows: str) -> str:
        """Add the hidden rows, as `SingleRow.combine`."""
        self._add_weights(graph)
        hidden = graph.einsum("hidden/sum", f"{self.shape}d,{self.shape}->bd", rows, ARE_REAL)
        if self.is_mean or self.divides_updates:
            self._add_share(graph)
        if self.is_mean:
            hidden = graph.einsum("hidden/mean", "bd,b->bd", hidden, SHARE)
        return hidden

    def distribute(self, graph: GraphBuilder, gradient: str) -> str:
        """Add the input rows' updates, as `SingleRow.distribute`."""
        if self.divides_updates:
            gradient = graph.einsum("gradients/inputs/divided", "bd,b->bd", gradient, SHARE)
        equation = f"bd,{self.shape}->{self.shape}d"
        return graph.einsum("gradients/inputs/rows", equation, gradient, self.weights)

    def _add_weights(self, graph: GraphBuilder) -> None:
        """Add the weights of the rows, and the op that is 1 for a row and 0 for padding."""
        if self.weights == WEIGHTS:
            graph.feed(WEIGHTS, self.shape)
            graph.op(ARE_REAL, "Sign", (WEIGHTS,), self.shape)
        elif "r" in self.shape:
            words = graph.feed("batch/are_real_words", "bw")
            tags = graph.feed("batch/are_real_tags", "bt")
            graph.concatenate(ARE_REAL, (tags, words), axis=1, shape=self.shape)
        else:
            graph.feed(ARE_REAL, self.shape)

    def _add_share(self, graph: GraphBuilder) -> None:
        """Add 1 / (sum of the weights)."""
        one = graph.constant("hidden/one", 1.0)
        divisor = graph.einsum("hidden/n_rows", f"{self.shape}->b", self.weights)
        if self.excludes_own_row:
            n_ngrams = graph.op("hidden/n_ngrams", "Sub", (divisor, one), "b")
            divisor = graph.op("hidden/divisor", "Maximum", (n_ngrams, one), "b")
        graph.op(SHARE, "DivNoNan", (one, divisor), "b")


def choose_combination(objective: Any, layer: InputLayer) -> SingleRow | ConcatenatedRows | Pool:
    """Choose how a hidden row is made of input rows; `objective` is that of `objective_graph`."""
    if layer.n_concatenated:
        return ConcatenatedRows()
    shape = "b"
    if not objective.skipgram:
        shape += "r" if layer.has_tags else "w"
    if layer.has_ngrams:
        shape += "n"
    if shape == "b":
        return SingleRow()
    return Pool(
        shape,
        # As in gensim, n-grams of skip-gram are averaged, while those of CBOW are further rows of
        # the window.
        is_mean=objective.skipgram or objective.mean,
        # gensim divides the updates of the rows of a sum, but not those of a mean. The gradient of
        # the loss (`corrected`) is the other way round: it divides only those of a mean.
        divides_updates=not objective.skipgram and objective.mean == objective.corrected,
        excludes_own_row=objective.skipgram,
    )


def add_input_ids(graph: GraphBuilder, objective: Any, layer: InputLayer, shape: str) -> str:
    """Add the ids of input rows, with this shape; return their op."""
    if layer.has_ngrams:
        return graph.feed("batch/words_and_ngrams", shape, INT64)
    if not layer.has_tags:
        return graph.feed("batch/words", shape, INT64)
    if objective.skipgram and not layer.trains_words:
        return graph.feed("batch/tags", shape, INT64)
    # An input row of PV-DBOW is a word's or a tag's. That of PV-DM is one of its window's, which
    # consists of both.
    words = graph.feed("batch/words", shape.replace("r", "w"), INT64)
    tags = graph.feed("batch/tags", shape.replace("r", "t"), INT64)
    axis = len(shape) - 1
    return graph.concatenate("batch/tags_and_words", (tags, words), axis, shape, INT64)
