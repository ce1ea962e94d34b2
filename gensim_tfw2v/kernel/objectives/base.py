"""The interface of an objective, and the step that it is given.

Letters: D vector size, T/B blocks of a step, I inputs of a block, O its centres (of I and O one
is B, the block, and one is H, its halo), C columns (the output rows of a block: its centres, then
its shared negatives), P nodes of the longest path, U distinct rows.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.objectives.blocks import NearPairs, StepShape, band
from gensim_tfw2v.kernel.slices import AS_THEY_ARE, Slices, Weights


class Step(NamedTuple):
    """What one step is computed from.

    Attributes
    ----------
    shape : StepShape
    inputs : Slices [U, D]
        The distinct input rows (gensim's ``wv.vectors``).
    input_place : Tensor [T/B, I], int32
        Which of `inputs` each input of each block has.
    windows : Tensor [T/B, O], int32
        The window of each centre; see `band`.
    dtype : DType
        Of what goes into matrix products.
    outputs : Slices [U, D]
        The distinct output rows (``syn1neg``). This and the next two are for negative sampling.
    output_place : Tensor [T/B, C], int32
        Which of `outputs` each block's centres and its negatives have.
    noise : Tensor [T/B, C - O, O], optional
        How often the negative counts for the centre: see `counted_negatives`. As in gensim, one
        that equals the target is skipped for that target. None counts all once.
    nodes : Slices [U, D]
        The distinct rows of nodes (``syn1``). This and the next two are for hierarchical softmax.
    node_place : Tensor [T/B, O * P], int32
        Which of `nodes` the path of each centre has: see `paths_of`.
    signs : Tensor [T/B, O * P], float32
        Which way it goes on at each: see `paths_of`.
    """

    shape: StepShape
    inputs: Slices
    input_place: tf.Tensor
    windows: tf.Tensor
    dtype: tf.DType
    outputs: Slices = None  # type: ignore[assignment]
    output_place: tf.Tensor = None
    noise: tf.Tensor | None = None
    nodes: Slices = None  # type: ignore[assignment]
    node_place: tf.Tensor = None
    signs: tf.Tensor = None

    # Columns are chosen before rows are looked up: slicing rows afterwards would copy them. And
    # rows are cast before they are multiplied.

    @scoped("input_rows")
    def input_rows(self) -> Slices:
        """Input rows of each block: [T/B, I, D], dtype."""
        return self.inputs.looked_up(self.input_place, self.dtype)

    @scoped("columns")
    def columns(self) -> Slices:
        """Output rows of each block's centres and negatives: [T/B, C, D], dtype."""
        return self.outputs.looked_up(self.output_place, self.dtype)

    @scoped("targets")
    def targets(self) -> Slices:
        """Output rows of each block's centres: [T/B, O, D], float32."""
        of_centres = slice(self.shape.centres)
        return self.outputs.looked_up(self.output_place, tf.float32, of_centres)

    @scoped("negatives")
    def negatives(self) -> Slices:
        """Output rows of each block's negatives: [T/B, C - O, D], dtype."""
        of_negatives = slice(self.shape.centres, None)
        return self.outputs.looked_up(self.output_place, self.dtype, of_negatives)

    @scoped("paths")
    def paths(self) -> Slices:
        """Rows of the nodes on the paths of each block's centres: [T/B, O * P, D], dtype."""
        return self.nodes.looked_up(self.node_place, self.dtype)

    @property
    def near(self) -> Weights:
        """Products of the inputs with columns, of which only those that make pairs travel."""
        return NearPairs(self.shape) if self.inputs.link else AS_THEY_ARE

    @property
    def path_length(self) -> tf.Tensor:
        """P, nodes of the unit's longest path: [], int32."""
        return tf.shape(self.signs)[1] // self.shape.centres

    def band(self) -> tf.Tensor:
        """1 where an input is in a centre's window, else 0: [T/B, O, I], float32."""
        return band(self.windows, self.shape, False, tf.float32)


class Gradients(NamedTuple):
    """In which direction one step wants the rows to go, and what it lost.

    Attributes
    ----------
    inputs : Slices [T/B, I, D]
        Updates of the blocks' input rows, to be multiplied by the step size.
    loss : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives; 0 unless asked for.
    outputs : list of Slices [T/B, c, D]
        Updates of the columns' output rows, likewise; the parts' c add up to C. Empty without
        negative sampling.
    nodes : list of Slices [T/B, O * P, D]
        Updates of the nodes' rows, likewise. Empty without hierarchical softmax.
    predictions : Tensor []
        How many predictions of a centre these are of; 0 unless asked for.
    """

    inputs: Slices
    loss: tf.Tensor
    outputs: list[Slices]
    nodes: list[Slices]
    predictions: tf.Tensor


class Objective(Protocol):
    """One step of training: rows in, row updates out.

    Attributes
    ----------
    negative : int
        gensim's parameter; without negative sampling 0.
    hierarchical : bool
        gensim's `hs`.
    mean : bool
        Whether the mean of a window's words predicts.
    follows_gradient : bool
        Whether updates are the negative gradient of the loss.

    Laws, held by the tests:

    - the result equals that of a slow loop over pairs with the same draws;
    - updates are sums over pairs, so the step size means what it means in word2vec;
    - a centre whose window is empty neither gives nor gets an update.
    """

    @property
    def negative(self) -> int: ...  # noqa: D102

    @property
    def hierarchical(self) -> bool: ...  # noqa: D102

    @property
    def mean(self) -> bool: ...  # noqa: D102

    @property
    def follows_gradient(self) -> bool: ...  # noqa: D102

    def __call__(self, step: Step, with_loss: bool) -> Gradients:
        """Compute the row updates of one step, and its loss if asked for."""
        ...
