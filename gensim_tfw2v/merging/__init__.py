"""Sub-models, trained apart, to one model.

Everything here works on arrays and on numbers of words; `gensim_tfw2v.merge_models` takes models.
"""

from gensim_tfw2v.merging.base import Merged, Merging, SubModel
from gensim_tfw2v.merging.methods import METHODS, merge
from gensim_tfw2v.merging.report import MergeReport

__all__ = ["METHODS", "MergeReport", "Merged", "Merging", "SubModel", "merge"]
