"""`patch_gensim`: replacement of gensim's classes by this package's, under gensim's names."""

import contextlib
import threading

from gensim_tfw2v.doc2vec import TFDoc2Vec
from gensim_tfw2v.fasttext import TFFastText
from gensim_tfw2v.gensim_classes import Doc2Vec, FastText, Word2Vec, replace_in_gensim
from gensim_tfw2v.model import TFWord2Vec

#: gensim's classes, each with its replacement.
_PAIRS = (Word2Vec, TFWord2Vec), (FastText, TFFastText), (Doc2Vec, TFDoc2Vec)

_LOCK = threading.Lock()

#: Patches that have not been restored.
_ACTIVE: set["GensimPatch"] = set()


class GensimPatch(contextlib.AbstractContextManager["GensimPatch"]):
    """Handle that `patch_gensim` returns; as a context manager, it calls `restore` at the end."""

    def restore(self) -> None:
        """Put gensim's classes back, unless another patch is still active.

        Calling it again has no effect.
        """
        with _LOCK:
            if self in _ACTIVE:
                _ACTIVE.remove(self)
                if not _ACTIVE:
                    for gensims, ours in _PAIRS:
                        replace_in_gensim(gensims.__name__, ours, gensims)

    def __exit__(self, *error: object) -> None:
        self.restore()


def patch_gensim() -> GensimPatch:
    """Put `TFWord2Vec`, `TFFastText` and `TFDoc2Vec` in place of gensim's classes.

    The names are replaced in every module of gensim, for all threads of the process. So ``from
    gensim.models import Word2Vec`` imports our class, ``Word2Vec.load`` and ``load_facebook_model``
    return it, and programs that look up gensim's class when they train use it. Call this function
    first: a module outside gensim keeps a class that it has already imported.

    Returns
    -------
    GensimPatch
        A context manager. Its ``restore()`` puts gensim's classes back, also in modules that were
        imported in the meantime. Calls of `patch_gensim` may be nested, also across threads: the
        last one to exit restores.

    Notes
    -----
    Existing models keep their class: ours remain `TFWord2Vec`, and gensim's work, save and load as
    before. A result of `to_gensim` is still saved as gensim's class.

    Examples
    --------
    >>> import gensim
    >>> with patch_gensim():
    ...     gensim.models.Word2Vec.__name__
    'TFWord2Vec'
    >>> gensim.models.Word2Vec.__name__
    'Word2Vec'
    """
    patch = GensimPatch()
    with _LOCK:
        _ACTIVE.add(patch)
        for gensims, ours in _PAIRS:
            replace_in_gensim(gensims.__name__, gensims, ours)
    return patch
