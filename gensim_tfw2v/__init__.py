"""gensim's Word2Vec, trained by TensorFlow.

>>> from gensim_tfw2v import TFWord2Vec  # instead of: from gensim.models import Word2Vec
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["TFWord2Vec", "TensorBoardLog", "__version__"]

if TYPE_CHECKING:
    from gensim_tfw2v.model import TFWord2Vec
    from gensim_tfw2v.monitor.options import TensorBoardLog


def __getattr__(name: str) -> Any:
    # TensorFlow takes seconds to import: helper processes and `tfw2v --help` do without it
    if name == "TFWord2Vec":
        import gensim_tfw2v._tensorflow  # noqa: F401  first: says if something is too old
        from gensim_tfw2v.model import TFWord2Vec

        return TFWord2Vec
    if name == "TensorBoardLog":
        from gensim_tfw2v.monitor.options import TensorBoardLog

        return TensorBoardLog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
