"""TFDoc2Vec: gensim's Doc2Vec, trained by the code behind `TFWord2Vec.train`."""

import inspect
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v.gensim_classes import Doc2Vec, Word2Vec
from gensim_tfw2v.model import OWN_PARAMETERS, TFWord2Vec
from gensim_tfw2v.options.table import attributes_of
from gensim_tfw2v.training.documents import KnownTags, Tags, take_tags
from gensim_tfw2v.training.guarded_methods import refuse_while_used
from gensim_tfw2v.training.inference import infer
from gensim_tfw2v.training.untrained import DOCUMENTS_SEED

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gensim_tfw2v.options.keywords import Doc2VecOptions


def _gensims_parameters() -> list[inspect.Parameter]:
    """Return the parameters of gensim's Doc2Vec, and those that it passes on to Word2Vec."""
    parameters = dict(inspect.signature(Doc2Vec).parameters)
    del parameters["kwargs"]
    for name, parameter in inspect.signature(Word2Vec).parameters.items():
        if name not in (*parameters, "sentences", "sg", "null_word"):
            parameters[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    return list(parameters.values())


class _WithoutOffsets(Doc2Vec):
    """gensim's `Doc2Vec`, whose `train` omits the file offsets that only gensim's threads need."""

    def train(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        if self._overrides:  # see TFWord2Vec: gensim's threads train
            return Doc2Vec.train(self, *args, **kwargs)
        corpus_arguments = {name: kwargs.get(name) for name in ("corpus_iterable", "corpus_file")}
        passes = kwargs.get("epochs") or self.epochs
        self._check_corpus_sanity(**corpus_arguments, passes=passes)
        return Word2Vec.train(self, *args, **kwargs)


class TFDoc2Vec(TFWord2Vec, _WithoutOffsets):
    """gensim's Doc2Vec, trained like `TFWord2Vec`.

    Each document has tags, and each tag has a vector, which is trained to predict the words of the
    documents with this tag (Le and Mikolov 2014, "Distributed Representations of Sentences and
    Documents", section 2).

    It accepts the parameters below and those of `TFWord2Vec` except `sentences`, `sg` and
    `null_word`. `regime` is limited to ``"asynchronous"`` and ``"synchronous"``, and `layout`
    to ``"rows"``, because only compiled kernels train documents.

    Parameters
    ----------
    documents : iterable of TaggedDocument, optional
        The corpus: each document has `words` and a list of `tags`, strings or integers from 0 up.
        With gensim's `LineSentence` or `PathLineSentences`, each line of the files is a document.
    corpus_file : str, optional
        The corpus in a file. Each line, even an empty one, is a document, and its tag is the line
        number, counted from 0.
    dm : {1, 0}
        1: distributed memory (DM), which is CBOW with the tags as additional context words.
        0: distributed bag of words (DBOW), which is skip-gram from the tags.
    dm_mean : {1, 0}, optional
        Use the mean (1) or the sum (0) of DM's inputs; by default the value of `cbow_mean`. In
        gensim, `dm_mean` has no effect.
    dm_concat : {0, 1}
        Concatenate DM's inputs, which are `dm_tag_count` tags and 2 * `window` words, instead of
        using their mean or sum. Rows of the output layer are as long as all inputs together.
    dm_tag_count : int
        Number of tags that each document is expected to have with `dm_concat`, from 0 up.
    dbow_words : {0, 1}
        Let DBOW also train the words, by skip-gram.
    dv : KeyedVectors, optional
        Vectors of the tags to use instead of new ones.
    dv_mapfile : str, optional
        Path of the file to which the vectors of the tags are mapped, instead of memory.

    Raises
    ------
    ValueError, TypeError, ClusterError
        As `TFWord2Vec`; ValueError also if `dm` is neither 0 nor 1, or `regime` or `layout` cannot
        train documents.
    RuntimeError
        From `train`, if the compiled kernels are missing, or if TensorFlow detects a GPU and a
        `regime` or remote `cluster` is set.

    Attributes
    ----------
    dv : KeyedVectors
        Vectors of the tags.

    Examples
    --------
    >>> from gensim.models.doc2vec import TaggedDocument
    >>> from gensim.test.utils import common_texts
    >>> documents = [TaggedDocument(text, [number]) for number, text in enumerate(common_texts)]
    >>> model = TFDoc2Vec(documents, vector_size=20, min_count=1)
    >>> model.dv[0].shape
    (20,)
    >>> model.infer_vectors([["human", "interface"], ["graph"]]).shape
    (2, 20)
    """

    _gensim_class = Doc2Vec
    _kinds = attributes_of("Doc2Vec")
    _signature = inspect.Signature([*_gensims_parameters(), *OWN_PARAMETERS])
    __signature__ = _signature
    has_documents = True
    dv: KeyedVectors

    def __init__(self, *args: Any, **kwargs: "Unpack[Doc2VecOptions]") -> None:
        arguments = self._bind_arguments(*args, **kwargs)
        if arguments["dm_mean"] is not None:
            # gensim would replace the value of dm_mean by that of cbow_mean
            arguments["cbow_mean"] = arguments["dm_mean"]
        super().__init__(**arguments)

    @property
    def _known_tags(self) -> KnownTags:
        return KnownTags(self.dv)

    def build_vocab(
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        update: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Build the vocabulary and the tags from documents.

        Parameters
        ----------
        corpus_iterable, corpus_file
            Documents, as for the constructor's `documents` and `corpus_file`.
        update : bool
            Add new words and tags, and keep the rows of known ones; gensim drops the known tags.
            The tags of a file are its line numbers, so pass the old file with new lines appended.
        *args, **kwargs
            As for gensim's `Doc2Vec`.
        """
        self._state.adds_tags = update
        try:
            super().build_vocab(corpus_iterable, corpus_file, update, *args, **kwargs)
        finally:
            self._state.adds_tags = False

    def scan_vocab(  # type: ignore[override]  # gensim's Doc2Vec has no `workers` parameter here
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        progress_per: int = 100000,
        trim_rule: Any = None,
    ) -> tuple[int, int]:
        """Count the words and tags of documents; see gensim and `TFWord2Vec`."""
        state = self._state
        refuse_while_used(state)
        known_vectors = self.dv
        self.dv = KeyedVectors(self.vector_size)
        state.new_tags = Tags()
        try:
            n_words, n_documents = super().scan_vocab(
                corpus_iterable, corpus_file, progress_per, trim_rule=trim_rule
            )
            # gensim's code counts into `dv`, ours into `new_tags`
            tags = Tags.of(self.dv) if len(self.dv) else state.new_tags
        finally:
            self.dv = known_vectors
            state.new_tags = None
        take_tags(known_vectors, tags, n_documents, state.adds_tags)
        return n_words, n_documents

    def update_weights(self) -> None:
        """Add rows for new words and tags; gensim calls it from ``build_vocab(update=True)``."""
        super().update_weights()
        self.dv.resize_vectors(seed=self.seed + DOCUMENTS_SEED)

    def infer_vector(
        self,
        doc_words: Sequence[str],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Infer a vector for a document; the model does not change.

        The vector is the same each time: its random initial values depend only on the known words
        and the model's `seed`.

        Parameters
        ----------
        doc_words : list of str
            Words of the document; words that are not in the vocabulary are skipped.
        alpha, min_alpha : float, optional
            Learning rate at the start and at the end; by default the model's.
        epochs : int, optional
            Passes over the document; by default the model's.

        Returns
        -------
        ndarray [D]

        Raises
        ------
        TypeError, ValueError
            If a document is a string, or a number is invalid.
        RuntimeError
            If the vocabulary was not built.
        FileNotFoundError
            If the compiled kernels are missing.
        """
        return self.infer_vectors([doc_words], alpha, min_alpha, epochs)[0]

    def infer_vectors(
        self,
        documents: Iterable[Sequence[str]],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Infer vectors for documents, on up to `workers` threads; the model does not change.

        Documents share negative samples, so each vector depends slightly on the other documents.

        Parameters
        ----------
        documents : iterable of list of str
            n documents, or TaggedDocuments, whose tags are ignored.
        alpha, min_alpha, epochs
            As for `infer_vector`.

        Returns
        -------
        ndarray [n, D]

        Raises
        ------
        TypeError, ValueError, RuntimeError, FileNotFoundError
            As `infer_vector`.
        """
        return infer(self, documents, alpha, min_alpha, epochs)
