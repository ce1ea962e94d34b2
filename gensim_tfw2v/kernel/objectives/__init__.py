"""Objectives: pure functions from rows to row updates.

No variables, no devices, no files. A regime gathers the rows that an objective names, calls it,
and adds the updates that it returns.
"""

from gensim_tfw2v.kernel.objectives.cbow import Cbow
from gensim_tfw2v.kernel.objectives.objective import Gradients, Objective, Step, StepPlan
from gensim_tfw2v.kernel.objectives.skipgram import SkipGram

__all__ = ["Cbow", "Gradients", "Objective", "SkipGram", "Step", "StepPlan"]
