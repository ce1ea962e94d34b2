"""Merging of sub-models that were trained apart.

Everything here works on arrays and on numbers of words; `gensim_tfw2v.merge_models` takes models.
"""

from gensim_tfw2v.merging.interface import Merged, MergeReport, SubModel, merge
from gensim_tfw2v.merging.methods import METHODS, Merging

__all__ = ["METHODS", "MergeReport", "Merged", "Merging", "SubModel", "merge"]
