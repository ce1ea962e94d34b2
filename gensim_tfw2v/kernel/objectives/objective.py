"""The interface of an objective, and the step that it is given.

Letters: D vector size, T/B blocks of a step, I inputs of a block, O its centres (of I and O one
is B, the block, and one is H, its halo), C columns (the output rows of a block: its centres, then
its shared negatives), P nodes of the longest path, U distinct rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.objectives.blocks import NearPairs, StepShape, band
from gensim_tfw2v.kernel.slices import AS_THEY_ARE, Slices, Weights
from gensim_tfw2v.kernel.updates import RowGroups


class StepPlan(NamedTuple):
    """Draws of one step; those of all steps have a first dimension for the step.

    What an objective does not use is ``()``.

    Attributes
    ----------
    alpha : Tensor []
        Step size.
    windows : Tensor [T/B, O], int32
        The window of each centre; see `band`.
    inputs, outputs, nodes : RowGroups
        Input rows of the blocks, their columns, and the nodes on the paths of their centres.
    words : Tensor [T/B, C], int32
        Ids of the columns, where negatives are compared with targets.
    signs : Tensor [T/B, O * P], float32
        Which way each path goes on at each of its nodes: see `paths_of`.
    """

    alpha: tf.Tensor
    windows: tf.Tensor
    inputs: RowGroups
    outputs: Any = ()
    words: Any = ()
    nodes: Any = ()
    signs: Any = ()

    @scoped("plan")
    def of(self, step: tf.Tensor) -> StepPlan:
        """Take one step out of all."""
        plan: StepPlan = tf.nest.map_structure(lambda x: x[step], self)
        return plan


class Step(NamedTuple):
    """Inputs of one step.

    Attributes
    ----------
    shape : StepShape
    dtype : DType
        Of what goes into matrix products.
    plan : StepPlan
    rows : dict of Slices [U, D]
        The distinct rows of each table in use, by its name in `Tables`.
    noise : Tensor [T/B, C - O, O], optional
        How often each negative counts for each centre: see `counted_negatives`. As in gensim, one
        that equals the target is skipped for that target. None counts all once.
    """

    shape: StepShape
    dtype: tf.DType
    plan: StepPlan
    rows: dict[str, Slices]
    noise: tf.Tensor | None

    # Columns are chosen before rows are looked up: slicing rows afterwards would copy them. And
    # rows are cast before they are multiplied.

    @scoped("input_rows")
    def input_rows(self) -> Slices:
        """Input rows of each block: [T/B, I, D], dtype."""
        return self.rows["inputs"].looked_up(self.plan.inputs.inverse, self.dtype)

    @scoped("columns")
    def columns(self) -> Slices:
        """Output rows of each block's centres and negatives: [T/B, C, D], dtype."""
        return self.rows["outputs"].looked_up(self.plan.outputs.inverse, self.dtype)

    @scoped("targets")
    def targets(self) -> Slices:
        """Output rows of each block's centres: [T/B, O, D], float32."""
        of_centres = slice(self.shape.centres)
        return self.rows["outputs"].looked_up(self.plan.outputs.inverse, tf.float32, of_centres)

    @scoped("negatives")
    def negatives(self) -> Slices:
        """Output rows of each block's negatives: [T/B, C - O, D], dtype."""
        of_negatives = slice(self.shape.centres, None)
        return self.rows["outputs"].looked_up(self.plan.outputs.inverse, self.dtype, of_negatives)

    @scoped("paths")
    def paths(self) -> Slices:
        """Rows of the nodes on the paths of each block's centres: [T/B, O * P, D], dtype."""
        return self.rows["nodes"].looked_up(self.plan.nodes.inverse, self.dtype)

    @property
    def near(self) -> Weights:
        """Products of the inputs with columns, of which only those that make pairs travel."""
        return NearPairs(self.shape) if self.rows["inputs"].link else AS_THEY_ARE

    def band(self) -> tf.Tensor:
        """1 where an input is in a centre's window, else 0: [T/B, O, I], float32."""
        return band(self.plan.windows, self.shape, False, tf.float32)


class Gradients(NamedTuple):
    """In which direction one step wants the rows to go, and what it lost.

    Attributes
    ----------
    updates : dict of lists of Slices [T/B, r, D]
        Updates of the rows of each block, to be multiplied by the step size, by the name of their
        table: ``"inputs"``, and ``"outputs"`` or ``"nodes"``. The parts' r add up to I, C or O * P.
    loss, predictions : Tensor []
        Sum of the negative log likelihoods of the step's pairs and negatives, and of how many
        predictions of a centre; 0 unless asked for.
    """

    updates: dict[str, list[Slices]]
    loss: tf.Tensor
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
