"""Drop-in replacement for gensim's Word2Vec, faster on one machine and trainable on clusters.

>>> from gensim_tfw2v import TFWord2Vec  # instead of: from gensim.models import Word2Vec
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.processes.process_guards import (
    open_standard_files,
    without_collection,
)
from gensim_tfw2v.processes.threads import defer_interrupts

__version__ = "0.2.0"
__all__ = [
    "Asynchronous",
    "Downpour",
    "EarlyStopping",
    "NeighbourIndex",
    "RandomWalks",
    "Sandblaster",
    "SubModels",
    "Synchronous",
    "TFDoc2Vec",
    "TFFastText",
    "TFWord2Vec",
    "TableDocuments",
    "TableSentences",
    "TensorBoardLog",
    "WeightedSentences",
    "__version__",
    "align_models",
    "merge_models",
    "patch_gensim",
    "self_similarities",
    "train_slice",
]

if TYPE_CHECKING:
    from gensim_tfw2v.corpus.tables.table_sentences import TableDocuments, TableSentences
    from gensim_tfw2v.corpus.weighted_sentences import WeightedSentences
    from gensim_tfw2v.doc2vec import TFDoc2Vec
    from gensim_tfw2v.fasttext import TFFastText
    from gensim_tfw2v.merged import merge_models
    from gensim_tfw2v.model import TFWord2Vec
    from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
    from gensim_tfw2v.neighbours.neighbour_index import NeighbourIndex
    from gensim_tfw2v.options.regimes import (
        Asynchronous,
        Downpour,
        Sandblaster,
        SubModels,
        Synchronous,
    )
    from gensim_tfw2v.patch import patch_gensim
    from gensim_tfw2v.time_slices import align_models, self_similarities, train_slice
    from gensim_tfw2v.training.early_stopping import EarlyStopping
    from gensim_tfw2v.walks.random_walks import RandomWalks

#: Module of each public name. `__getattr__` imports it when the name is first used.
_MODULES = {
    "Asynchronous": "options.regimes",
    "Downpour": "options.regimes",
    "EarlyStopping": "training.early_stopping",
    "NeighbourIndex": "neighbours.neighbour_index",
    "RandomWalks": "walks.random_walks",
    "Sandblaster": "options.regimes",
    "SubModels": "options.regimes",
    "Synchronous": "options.regimes",
    "TFDoc2Vec": "doc2vec",
    "TFFastText": "fasttext",
    "TFWord2Vec": "model",
    "TableDocuments": "corpus.tables.table_sentences",
    "TableSentences": "corpus.tables.table_sentences",
    "TensorBoardLog": "monitor.tensorboard_log",
    "WeightedSentences": "corpus.weighted_sentences",
    "align_models": "time_slices",
    "merge_models": "merged",
    "patch_gensim": "patch",
    "self_similarities": "time_slices",
    "train_slice": "time_slices",
}

open_standard_files()  # before any file is opened, so that none gets descriptor 0, 1 or 2


def __getattr__(name: str) -> Any:
    # Names are imported lazily because TensorFlow takes seconds to import, which helper processes
    # and `tfw2v --help` don't need.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with without_collection(), defer_interrupts():
        if _MODULES[name] != "monitor.tensorboard_log":
            import gensim_tfw2v._tensorflow  # noqa: F401  checks the versions of TensorFlow
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
