"""How good vectors are: word similarity, analogies, and agreement of neighbours.

Everything here takes a gensim ``KeyedVectors`` and nothing else, so vectors from any tool can be
measured and compared.
"""

from gensim_tfw2v.evaluation.analogies import AnalogyScore, SectionScore, evaluate_analogies
from gensim_tfw2v.evaluation.files import EvaluationFileError, read_pairs
from gensim_tfw2v.evaluation.neighbours import NeighbourAgreement, neighbour_agreement
from gensim_tfw2v.evaluation.pairs import NAMED_SETS, PairScore, evaluate_pairs
from gensim_tfw2v.evaluation.summary import summary

__all__ = [
    "NAMED_SETS",
    "AnalogyScore",
    "EvaluationFileError",
    "NeighbourAgreement",
    "PairScore",
    "SectionScore",
    "evaluate_analogies",
    "evaluate_pairs",
    "neighbour_agreement",
    "read_pairs",
    "summary",
]
