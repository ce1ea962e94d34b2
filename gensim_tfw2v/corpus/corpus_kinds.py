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
    """Open a `CorpusSource`; return None for any other object.

    A source whose class overrides `__iter__`, but not `open_corpus`, is opened as an iterable.
    """
    if not isinstance(source, CorpusSource):
        return None
    definer: Any = next(kind for kind in type(source).__mro__ if "open_corpus" in vars(kind))
    is_overridden = type(source).__iter__ is not definer.__iter__
    return open_sentences(source, tagged) if is_overridden else source.open_corpus(tagged)


#: All kinds. The first one that opens an object is used; the last one opens any iterable.
KINDS = (
    CorpusKind("texts", open_texts),
    CorpusKind("sources", open_source),
    CorpusKind("arrays", open_array_corpus),
    CorpusKind("batches of integers", open_integers),
    CorpusKind("iterables", open_sentences),
)
