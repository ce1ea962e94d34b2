"""Our classes in place of gensim's, under gensim's names."""

import threading

from gensim_tfw2v.fasttext import TFFastText
from gensim_tfw2v.model import TFWord2Vec
from gensim_tfw2v.originals import FastText, Word2Vec, replace_in_gensim

_PAIRS: tuple[tuple[type, type], ...] = ((Word2Vec, TFWord2Vec), (FastText, TFFastText))

_LOCK = threading.Lock()
_ACTIVE: set["GensimPatch"] = set()


class GensimPatch:
    """A call of `patch_gensim`; as a context manager it ends with the block."""

    def restore(self) -> None:
        """Put gensim's classes back, unless another call still holds ours; again has no effect."""
        with _LOCK:
            if self in _ACTIVE:
                _ACTIVE.remove(self)
                if not _ACTIVE:
                    for gensims, ours in _PAIRS:
                        replace_in_gensim(gensims.__name__, ours, gensims)

    def __enter__(self) -> "GensimPatch":
        return self

    def __exit__(self, *error: object) -> None:
        self.restore()


def patch_gensim() -> GensimPatch:
    """Put `TFWord2Vec` and `TFFastText` in place of gensim's `Word2Vec` and `FastText`.

    Every module of gensim that has such a name gets our class, so ``from gensim.models import
    Word2Vec`` imports it, ``Word2Vec.load`` and ``load_facebook_model`` return it, and programs
    that look gensim's class up when they train use it. A module outside gensim that has imported
    the class before keeps it: call this first. The names are the process's, all threads see them.

    Returns
    -------
    GensimPatch
        Its ``restore()`` puts gensim's classes back, in modules imported since, too. It is a
        context manager. Calls may be nested, also in several threads: the last that ends restores.

    Notes
    -----
    Models stay what they are: ours remain `TFWord2Vec`, gensim's (and `Doc2Vec`) work, save and
    load as before. What `to_gensim` returns is saved for gensim alone.

    Examples
    --------
    >>> import gensim
    >>> with patch_gensim():
    ...     gensim.models.Word2Vec.__name__
    'TFWord2Vec'
    >>> gensim.models.Word2Vec.__name__
    'Word2Vec'
    """
    made = GensimPatch()
    with _LOCK:
        _ACTIVE.add(made)
        for gensims, ours in _PAIRS:
            replace_in_gensim(gensims.__name__, gensims, ours)
    return made
