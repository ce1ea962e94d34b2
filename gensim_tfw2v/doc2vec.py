"""TFDoc2Vec: gensim's Doc2Vec with the engine of `TFWord2Vec` under `train`."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v.model import TFWord2Vec, signature_of
from gensim_tfw2v.originals import Doc2Vec, Word2Vec, is_trained_by_gensim
from gensim_tfw2v.training.documents import DocumentReader, Tags, take_tags
from gensim_tfw2v.training.inference import Frozen, infer
from gensim_tfw2v.training.vocabulary import renew_norms


class _WithoutOffsets(Doc2Vec):
    """gensim's `Doc2Vec` without the offsets in a file that its own threads begin at."""

    def train(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        if is_trained_by_gensim(self):
            gensims: type[Word2Vec] = Doc2Vec
        else:
            gensims = Word2Vec
            texts = {name: kwargs.get(name) for name in ("corpus_iterable", "corpus_file")}
            self._check_corpus_sanity(**texts, passes=kwargs.get("epochs") or self.epochs)
        counts: tuple[int, int] = gensims.train(self, *args, **kwargs)
        return counts


class TFDoc2Vec(TFWord2Vec, _WithoutOffsets):
    """gensim's Doc2Vec, trained like `TFWord2Vec`."""

    _of_gensim = Doc2Vec
    has_documents = True
    _frozen: Frozen | None = None
    _reader_class = DocumentReader
    _adds_tags = False

    @classmethod
    def _gensims_parameters(cls) -> list[inspect.Parameter]:
        """Those of gensim's Doc2Vec, and those that it hands on to Word2Vec."""
        own = inspect.signature(Doc2Vec).parameters
        handed_on = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(Word2Vec).parameters.items()
            if name not in (*own, "sentences", "sg", "null_word")
        ]
        return [parameter for name, parameter in own.items() if name != "kwargs"] + handed_on

    @classmethod
    def _arguments(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        given = super()._arguments(*args, **kwargs)
        return given | {"sg": not given["dm"]}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        dm_mean = TFDoc2Vec.__signature__.bind(*args, **kwargs).arguments.get("dm_mean")
        if dm_mean is not None:  # which gensim overwrites by its default
            kwargs["cbow_mean"] = dm_mean
        super().__init__(*args, **kwargs)

    @property
    def _corpus_reader(self) -> DocumentReader:
        reader = super()._corpus_reader
        assert isinstance(reader, DocumentReader)
        reader.dv = vars(self).get("dv")  # none yet in the constructor
        return reader

    def build_vocab(
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | None = None,
        update: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Build the vocabulary, and the tags; see gensim.

        With `update`, words and tags are added, and the rows that are there stay; gensim forgets
        the tags it had.
        """
        self._adds_tags = update
        try:
            super().build_vocab(corpus_iterable, corpus_file, update, *args, **kwargs)
        finally:
            del self._adds_tags

    def scan_vocab(
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | None = None,
        progress_per: int = 100000,
        trim_rule: Any = None,
    ) -> tuple[int, int]:
        """Count the words and tags of documents; see gensim and `TFWord2Vec`."""
        known, self.dv = self.dv, KeyedVectors(self.vector_size)
        self._corpus_reader.tags = None
        try:
            words, documents = super().scan_vocab(
                corpus_iterable, corpus_file, progress_per, trim_rule=trim_rule
            )
            tags = self._corpus_reader.tags or Tags.of(self.dv)  # by gensim's own code
        finally:
            self.dv = known
        take_tags(known, tags, documents, self._adds_tags)
        return words, documents

    def update_weights(self) -> None:
        """Add rows for new words and tags; gensim's hook."""
        super().update_weights()
        self.dv.resize_vectors(seed=self.seed + 7919)  # as gensim's init_weights

    def infer_vector(
        self,
        doc_words: Sequence[str],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Infer a vector for a document, the same each time; parameters are gensim's."""
        if isinstance(doc_words, str):
            raise TypeError(
                "doc_words must be a list of words, got a str: give doc_words.split(), or the "
                "words as the training text had them"
            )
        vector: np.ndarray = self.infer_vectors([doc_words], alpha, min_alpha, epochs)[0]
        return vector

    def infer_vectors(
        self,
        documents: Iterable[Sequence[str]],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Infer vectors for documents on `workers` threads; the model stays as it is.

        Parameters
        ----------
        documents : iterable of list of str
            n documents.
        alpha, min_alpha, epochs
            As for `infer_vector`.

        Returns
        -------
        ndarray [n, D]
        """
        return infer(self, documents, alpha, min_alpha, epochs)

    def _clear_post_train(self) -> None:
        super()._clear_post_train()
        renew_norms(self.dv)


TFDoc2Vec.__signature__ = signature_of(TFDoc2Vec)
