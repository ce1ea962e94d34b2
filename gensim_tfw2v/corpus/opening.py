"""Kinds of corpora that users can pass, and how each is opened.

To add a kind, write a module with its opener, and add a row to `KINDS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from gensim_tfw2v.corpus.integer_arrays import open_array_corpus
from gensim_tfw2v.corpus.protocol import Corpus, CorpusSource
from gensim_tfw2v.corpus.sentence_corpus import open_integers, open_sentences
from gensim_tfw2v.corpus.text_corpus import open_texts


class CorpusKind(NamedTuple):
    """Kind of corpora.

    `opener` is called with a user's object and with whether it consists of documents. It returns
    the open corpus, or None if the object is of a different kind.
    """

    name: str
    opener: Callable[[Any, bool], Corpus | None]


def open_source(source: Any, tagged: bool) -> Corpus | None:
    """Open a `CorpusSource`; None if its class overrides `__iter__`, but not `open_corpus`."""
    if not isinstance(source, CorpusSource):
        return None
    definer: Any = next(kind for kind in type(source).__mro__ if "open_corpus" in vars(kind))
    is_overridden = type(source).__iter__ is not definer.__iter__
    return None if is_overridden else source.open_corpus(tagged)


#: All kinds. The first one that opens an object is used; the last one opens any iterable.
KINDS = (
    CorpusKind("texts", open_texts),
    CorpusKind("object that opens itself", open_source),
    CorpusKind("arrays of sentences", open_array_corpus),
    CorpusKind("batches of integers", open_integers),
    CorpusKind("iterable of sentences", open_sentences),
)


def open_corpus(source: Any, tagged: bool = False) -> Corpus:
    """Open what a user passes as a corpus for one reading; with `tagged`, as documents.

    Raises
    ------
    OSError, ValueError
        If a file is missing or not a text, or arrays have a wrong shape.
    """
    corpora = (kind.opener(source, tagged) for kind in KINDS)
    return next(corpus for corpus in corpora if corpus is not None)
