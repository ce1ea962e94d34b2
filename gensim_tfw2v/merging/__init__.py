"""Sub-models, trained apart, to one model.

Everything here works on arrays and on numbers of words; `gensim_tfw2v.merge_models` takes models.
"""

from gensim_tfw2v.merging.interface import Merged, MergeReport, Merging, SubModel
from gensim_tfw2v.merging.methods import METHODS, merge

__all__ = ["METHODS", "MergeReport", "Merged", "Merging", "SubModel", "merge"]
