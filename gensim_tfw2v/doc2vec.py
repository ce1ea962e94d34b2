"""TFDoc2Vec: gensim's Doc2Vec, trained by the code behind `TFWord2Vec.train`."""

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gensim.models import KeyedVectors
from gensim.models.doc2vec import TaggedDocument

from gensim_tfw2v.gensim_classes import Doc2Vec, Word2Vec
from gensim_tfw2v.model import OWN_PARAMETERS, TFWord2Vec
from gensim_tfw2v.options.docstrings import inherit_sections
from gensim_tfw2v.options.table import attributes_of
from gensim_tfw2v.training.documents import KnownTags, Tags, take_tags
from gensim_tfw2v.training.guarded_methods import refuse_while_used
from gensim_tfw2v.training.inference import infer
from gensim_tfw2v.training.untrained import documents_seed

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

    This class has the parameters of `TFWord2Vec` except `sentences`, `sg` and `null_word`, and some
    of its own. Only the compiled kernels can train documents, so not all values of `regime` and
    `layout` are possible.

    Parameters
    ----------
    documents : iterable of TaggedDocument, optional
        The corpus: each document has `words` and a list of `tags`, strings or integers from 0 up.
        Pass a list, or another object that can be iterated several times. A generator, which can be
        iterated only once, is refused. With gensim's `LineSentence` or `PathLineSentences`, each
        line of the files is a document. If you pass no corpus, the model has no vocabulary until
        you call `build_vocab`, and is not trained until you call `train`.
    corpus_file : str or path, optional
        The corpus as a text file in UTF-8, instead of `documents`. Each line, even an empty one, is
        a document of words separated by white space, and the tag of the document is the number of
        the line, counted from 0. The file may be compressed (.gz, .bz2, .xz, .zst, .lz4), or be a
        pipe.
    dm : 0 or 1, default 1
        Objective: 1 for distributed memory (DM), which is CBOW with the tags as additional context
        words, or 0 for distributed bag of words (DBOW), which is skip-gram with the tags as inputs.
        In our benchmarks, similar documents are found more reliably with DBOW than with DM.
    dm_mean : 0 or 1, optional
        Use the mean (1) or the sum (0) of DM's inputs; by default the value of `cbow_mean`. In
        gensim, `dm_mean` has no effect.
    dm_concat : 0 or 1, default 0
        Concatenate DM's inputs, which are `dm_tag_count` tags and 2 * `window` words, instead of
        using their mean or sum. Each row of the output layer is then as long as all inputs
        together, so the model is much larger, and its training much slower.
    dm_tag_count : int, default 1
        Number of tags that each document is expected to have with `dm_concat`, from 0 up.
    dbow_words : 0 or 1, default 0
        Train the vectors of words in DBOW, too, by skip-gram (1). With 0, these vectors remain
        random. So set it to 1 if you want to compare words as well as documents; training then
        takes longer.
    dv : KeyedVectors, optional
        Vectors of the tags with which training starts, instead of new random ones.
    dv_mapfile : str, optional
        Path of a file in which the vectors of the tags are kept, mapped into memory.
    window : int, default 5
        Maximum distance, in words, between the predicted word and its context, from 1 up. DBOW uses
        it only with `dbow_words`. Without `dbow_words`, 0 is accepted, too.
    epochs : int, default 10
        Number of passes over the corpus, from 1 up. Small corpora need more epochs than large ones.
    comment : str, optional
        It has no effect, as in gensim. To save a text with the model, set ``model.comment``.
    trim_rule : callable, optional
        It has no effect, as in gensim. Pass a `trim_rule` to `build_vocab` instead.
    regime : RegimeOptions or str, optional
        Distributed training strategy: `Asynchronous` or `Synchronous`, or its name, with or without
        options (``"synchronous:steps=8"``). The default on a cluster is ``"asynchronous"``; without
        a cluster, threads share the rows by default. If you set a regime without a cluster,
        `workers` threads take the place of the worker tasks. Cannot be combined with `dm_concat`.
    layout : "rows", default "rows"
        Distribution of the arrays over a cluster's ps tasks: each ps task holds whole rows.

    Raises
    ------
    ValueError
        If `dm` is neither 0 nor 1, or `regime` or `layout` cannot train documents.
    RuntimeError
        From `train`, if the compiled kernels are missing, or if TensorFlow detects a GPU and a
        `regime` is set without a `cluster`.

    Attributes
    ----------
    dv : gensim.models.KeyedVectors
        Vectors of the tags: ``dv[tag]``, ``dv.most_similar(tag)``, ``dv.vectors`` [tags, D].

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
        if arguments["sample"] is None:  # gensim's Doc2Vec compares the number
            arguments["sample"] = 0
        super().__init__(**arguments)

    def __str__(self) -> str:
        described: Any = object.__new__(type(self))
        described.__dict__.update(self.__dict__)
        described.sample = self.sample or 0  # gensim's method compares the number
        return super(TFDoc2Vec, described).__str__()

    @property
    def _known_tags(self) -> KnownTags:
        return KnownTags(self.dv)

    def build_vocab(
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        update: bool = False,
        progress_per: int = 10000,
        keep_raw_vocab: bool = False,
        trim_rule: Callable[[str, int, int], int] | None = None,
        **kwargs: Any,
    ) -> None:
        """Build the vocabulary and the tags from documents.

        Parameters
        ----------
        corpus_iterable : iterable of TaggedDocument, optional
            The documents, as for the constructor's `documents`. They are read only once, so they
            may also be a generator.
        corpus_file : str or path, optional
            The documents, as for the constructor's `corpus_file`. Pass either `corpus_iterable` or
            `corpus_file`.
        update : bool, default False
            Add new words and tags to those of the model, and keep the rows of known words and tags.
            (gensim drops the known tags.) The tags of documents in a file are line numbers, so pass
            the old file with new lines appended.
        progress_per : int, default 10000
            Number of documents between two messages of the log, from 1 up. It has an effect only
            with `max_vocab_size`, because gensim's own code then counts the words.
        keep_raw_vocab : bool, default False
            Keep the counts of all words, including the dropped ones, in ``model.raw_vocab``.
        trim_rule : callable, optional
            Function of a word, its count and `min_count` that returns ``gensim.utils.RULE_KEEP``,
            ``RULE_DISCARD`` or ``RULE_DEFAULT``, which applies `min_count`.
        **kwargs
            Values of `min_count` and `sample`, if they should differ from those of the model.
        """
        self._state.adds_tags = update
        try:
            super().build_vocab(
                corpus_iterable,
                corpus_file,
                update,
                progress_per,
                keep_raw_vocab,
                trim_rule,
                **kwargs,
            )
        finally:
            self._state.adds_tags = False

    def scan_vocab(  # type: ignore[override]  # gensim's Doc2Vec has no `workers` parameter here
        self,
        corpus_iterable: Iterable[TaggedDocument] | None = None,
        corpus_file: str | os.PathLike[str] | None = None,
        progress_per: int = 100000,
        trim_rule: Any = None,
    ) -> tuple[int, int]:
        """Count the words and tags of documents, the first step of `build_vocab`.

        Parameters
        ----------
        corpus_iterable : iterable of TaggedDocument, optional
            The documents, as for `build_vocab`.
        corpus_file : str or path, optional
            The documents, as for `build_vocab`.
        progress_per : int, default 100000
            Number of documents between two messages of the log, from 1 up, if gensim's own code
            counts. Otherwise it has no effect.
        trim_rule : callable, optional
            Rule for words to keep or to drop while gensim's own code counts.

        Returns
        -------
        (int, int)
            Numbers of words and of documents in the corpus.
        """
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
        self.dv.resize_vectors(seed=documents_seed(self.seed))

    def infer_vector(
        self,
        doc_words: Sequence[str],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Infer a vector for a document; the model does not change.

        The vector of a document is the same in each call, because its random initial values depend
        only on the document's known words and on the model's `seed`.

        Parameters
        ----------
        doc_words : list of str
            Words of the document; words that are not in the vocabulary are skipped.
        alpha : float, optional
            Learning rate at the start, any finite number; by default, or if 0, the model's.
        min_alpha : float, optional
            Learning rate at the end, any finite number; by default, or if 0, the model's.
        epochs : int, optional
            Passes over the document, from 1 up; by default, or if 0, the model's. With more passes,
            the vector is closer to the vector that training would find, but inference takes longer.

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
        alpha : float, optional
            Learning rate at the start, any finite number; by default, or if 0, the model's.
        min_alpha : float, optional
            Learning rate at the end, any finite number; by default, or if 0, the model's.
        epochs : int, optional
            Passes over the documents, from 1 up; by default, or if 0, the model's.

        Returns
        -------
        ndarray [n, D]

        Raises
        ------
        TypeError, ValueError, RuntimeError, FileNotFoundError
            As `infer_vector`.
        """
        return infer(self, documents, alpha, min_alpha, epochs)


inherit_sections(TFDoc2Vec, TFWord2Vec)
