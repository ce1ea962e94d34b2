"""What is refused before training begins, and what to do instead."""

from gensim_tfw2v.checks.corpus import check_corpus
from gensim_tfw2v.checks.options import ARGUMENTS, check_attributes, check_options
from gensim_tfw2v.checks.state import check_state

__all__ = ["ARGUMENTS", "check_attributes", "check_corpus", "check_options", "check_state"]
