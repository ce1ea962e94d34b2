"""How training is laid out: typed, frozen, checked where it is made.

Users choose with gensim's parameters; what is chosen here follows from those, from the size of
the corpus and from measurements (see docs/how-it-works.md), and needs no thought.
"""

from dataclasses import dataclass

from gensim_tfw2v.objectives import Objective
from gensim_tfw2v.objectives.blocks import StepShape

#: The longest that a row's summed update of a step may be. Words rarely move by more than a
#: tenth of it in a step; without a limit the most frequent words diverge.
MAX_NORM = 0.5

#: Entries of a work unit on one machine.
UNIT_ENTRIES = 1 << 16

#: Steps that an epoch should have at least: below, updates of a step are too stale for a
#: small corpus, whose vectors are still far from where they are going.
STEPS_PER_EPOCH = 512


@dataclass(frozen=True)
class UnitProgram:
    """Everything that is fixed when the program of a work unit is built.

    Parameters
    ----------
    objective : Objective
    shape : StepShape
    vector_size : int
        D.
    id_bits : int
        Row ids are below ``2 ** id_bits``.
    max_entries : int
        The longest unit.
    shrink_windows : bool
        gensim's parameter of that name.
    with_loss : bool
        Whether the loss is computed (gensim's `compute_loss`).
    skip_targets : bool
        Whether a negative that equals a target is skipped for it, as gensim does. It matters
        where words are so few that most are drawn often; else it costs time for nothing.
    max_norm : float
        The longest that a row's summed update of a step may be.
    """

    objective: Objective
    shape: StepShape
    vector_size: int
    id_bits: int
    max_entries: int
    shrink_windows: bool = True
    with_loss: bool = False
    skip_targets: bool = True
    max_norm: float = MAX_NORM

    @property
    def max_steps(self) -> int:
        """The most steps that a unit can have."""
        return -(-self.max_entries // self.shape.tokens)


def choose_shape(tokens: int, window: int, negative: int) -> StepShape:
    """Choose the step for a corpus.

    Parameters
    ----------
    tokens : int
        Tokens an epoch that are trained on.
    window, negative : int
        gensim's parameters.

    Returns
    -------
    StepShape
        T is a power of two from 64 to 1024: as large as leaves `STEPS_PER_EPOCH` steps.
    """
    step = 64
    while step < 1024 and tokens >= 2 * step * STEPS_PER_EPOCH:
        step *= 2
    block = 32
    shared = max(16, 4 * -(-negative // 4))
    return StepShape(tokens=step, block=block, window=window, shared=shared)
