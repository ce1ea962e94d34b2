"""Saving and loading of models, in gensim's format and as folders of the Hugging Face Hub."""

from __future__ import annotations

import functools
import logging
import os
import pickle
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gensim.models import KeyedVectors

from gensim_tfw2v.gensim_classes import Word2Vec
from gensim_tfw2v.keys.compact import compact
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.contents import NEW, names
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import DEFAULTS, option_names
from gensim_tfw2v.training.huffman import compact_paths
from gensim_tfw2v.training.model_arrays import complete_added_words, make_contiguous

if TYPE_CHECKING:
    from typing_extensions import Self

#: Options that describe how to train, not the model: `save` leaves them out.
RUNNING = option_names(Use.RUNNING)

#: Options of a model that gensim's class lacks.
OWN = option_names(Use.OWN)

#: Attributes for experiments; no argument of a constructor sets them.
EXPERIMENTAL = option_names(Use.EXPERIMENT)

logger = logging.getLogger(__name__)


class StoredWord2Vec(Word2Vec):
    """gensim's Word2Vec with all ways to store a model, to load it, and to convert it.

    `gensim_tfw2v.options.contents` lists the attributes that each of these ways keeps.
    """

    _gensim_class: type[Word2Vec] = Word2Vec  # the class that this one replaces
    has_subwords = False  # True for models of FastText
    has_documents = False  # True for models of Doc2Vec
    _state: Any  # a `ModelState`, which TFWord2Vec makes

    @classmethod
    def load(cls, fname: str | os.PathLike[str], mmap: str | None = None, **kwargs: Any) -> Self:
        """Load a model saved by this class or by gensim's.

        Parameters
        ----------
        fname : str or path
            The file that `save` has written. Files of arrays next to it belong to it.
        mmap : "r", optional
            Map arrays that are in files of their own into memory, read-only, instead of reading
            them: for models larger than memory, or that several processes share. See
            docs/mapped-vectors.md.
        **kwargs
            Further arguments of gensim's method; none are needed.

        Returns
        -------
        TFWord2Vec
            The model, of the class that the method was called on.

        Raises
        ------
        FileSetError
            If a file of arrays next to the model's file is of a different save.
        IsADirectoryError, ValueError, AttributeError
            If the path is a folder, or the file has a different format or contains something else
            than a model of this class. The message names what loads it.
        """
        from gensim_tfw2v.training.loading import load_model

        if isinstance(fname, os.PathLike):
            fname = os.fspath(fname)  # gensim's method accepts only strings
        load = functools.partial(super().load, fname, mmap=mmap, **kwargs)
        return cls.take_over(load_model(fname, load, cls))

    @classmethod
    def take_over(cls, model: Any) -> Any:
        """Turn a model of gensim's class into one of this class, in place, and return it.

        Parameters
        ----------
        model : Word2Vec, FastText or Doc2Vec
            The model. One of a different class of gensim becomes one of the class that replaces it.

        Returns
        -------
        TFWord2Vec, TFFastText or TFDoc2Vec
            The same object.
        """
        for class_ in (cls, *_subclasses(StoredWord2Vec)):
            if type(model) is class_._gensim_class:
                model.__class__ = class_  # the options that gensim lacks are class attributes
        has_documents = getattr(model, "has_documents", False)
        # earlier versions saved the keys as a range
        if has_documents and isinstance(model.dv.index_to_key, range):
            model.dv.index_to_key = list(model.dv.index_to_key)
        for vectors in (model, getattr(model, "wv", None), getattr(model, "dv", None)):
            if isinstance(vectors, KeyedVectors):
                compact(vectors)
                compact_paths(vectors)
        return model

    @classmethod
    def from_vectors(
        cls, vectors: KeyedVectors, counts: Mapping[str, int] | None = None, **options: Any
    ) -> Self:
        """Make a trainable model from vectors only, such as those of a file in word2vec's format.

        The model has all words of `vectors`; ``build_vocab(corpus, update=True)`` adds the words of
        a corpus. The output layer (``syn1neg``, ``syn1``) starts from 0, as in a new model.

        Parameters
        ----------
        vectors : KeyedVectors
            V vectors of D dimensions, which are copied.
        counts : mapping from str to int, optional
            Counts of the words, from 1 up. By default the counts in `vectors`, or if it has none,
            estimates by Zipf's law from the order of the words.
        **options
            Parameters of the class, except the corpus and `vector_size`, which is D.

        Returns
        -------
        TFWord2Vec
            The new model, with copies of the vectors.

        Raises
        ------
        ValueError
            If `counts` lacks a word, or a count is not a whole number from 1 up.
        TypeError
            From `TFFastText` and `TFDoc2Vec`, because their models contain more than word vectors.
        """
        if cls._gensim_class is not Word2Vec:
            raise TypeError(
                f"a {cls._gensim_class.__name__} model contains more than word vectors: load a "
                "whole model, or use TFWord2Vec.from_vectors"
            )
        from gensim_tfw2v.keyed import with_keys
        from gensim_tfw2v.training.from_vectors import take_vectors

        if not isinstance(vectors, KeyedVectors):
            raise TypeError(
                f"vectors must be gensim's KeyedVectors, got {quoted(vectors)}: pass model.wv, or "
                "load a file by KeyedVectors.load or load_word2vec_format"
            )
        if "vector_size" in options:
            raise TypeError("vector_size is that of the vectors: leave it out")
        vectors = with_keys(vectors)
        model = cls(vector_size=vectors.vector_size, **options)
        take_vectors(model, vectors, counts)
        return model

    def save_pretrained(
        self, folder: str | os.PathLike[str], results: Mapping[str, float] | None = None
    ) -> None:
        """Save to a folder as on the Hugging Face Hub, without pickle.

        sentence-transformers and model2vec load the folder, too, as vectors of words. It contains
        all that `save` keeps, except `random` and `lifecycle_events`.

        Parameters
        ----------
        folder : str or path
            Folder for the files. Older ones are replaced, except a model card (``README.md``).
        results : mapping from str to float, optional
            Results of an evaluation, for a new model card; an existing card is not changed.

        Raises
        ------
        TypeError, ValueError
            If something cannot be kept, which the message names: words or tags that are neither
            strings nor integers, an integer beside a string with its digits, a `hashfxn`,
            attributes of your own, or values of words that are no numbers.
        """
        from gensim_tfw2v.training.pretrained import save_pretrained

        save_pretrained(self, folder, results)

    @classmethod
    def from_pretrained(
        cls, name: str | os.PathLike[str], mmap: str | None = None, **options: Any
    ) -> Self:
        """Load a model that `save_pretrained` or `push_to_hub` has saved; no code in it is run.

        Parameters
        ----------
        name : str or path
            A folder, or the name of a model on the Hub, such as ``"user/model"``. A name that
            starts like a path, or has the suffix of a file, is not looked up on the Hub.
        mmap : "r", optional
            Map arrays from the folder's file, read-only, so that they may exceed memory.
        **options
            Options of ``huggingface_hub.snapshot_download``, such as `revision` or `token`.

        Returns
        -------
        TFWord2Vec
            The model, of the class that the method was called on.

        Raises
        ------
        ValueError
            If the folder is invalid, with the reason, or `mmap` is neither None nor "r".
        OSError
            If the folder does not exist, or the path is a file, or the download fails.
        ImportError
            If ``huggingface_hub`` is needed, but missing.
        """
        from gensim_tfw2v.training.hub import find_folder
        from gensim_tfw2v.training.pretrained import load_pretrained

        if mmap not in (None, "r"):
            raise ValueError(f"mmap is {quoted(mmap)}: pass None, or 'r' to map arrays read-only")
        folder = find_folder(name, cls.__name__, **options)
        return load_pretrained(folder, {cls._gensim_class.__name__: cls}, mmap is not None)

    def push_to_hub(
        self,
        name: str,
        results: Mapping[str, float] | None = None,
        private: bool | None = None,
        token: str | None = None,
    ) -> str:
        """Upload the model to the Hugging Face Hub, in the files of `save_pretrained`.

        Parameters
        ----------
        name : str
            Name of the model on the Hub, such as ``"user/model"``. It is created if it is missing.
        results : mapping from str to float, optional
            Results of an evaluation, for a new model card; an existing card is not changed.
        private : bool, optional
            Whether a new model on the Hub can be seen only by you; by default as your account is
            set.
        token : str, optional
            Access token of the Hub; by default the one that you have logged in with.

        Returns
        -------
        str
            Address of the upload.
        """
        from gensim_tfw2v.training.hub import push_to_hub

        return push_to_hub(self, name, results, private, token)

    def _smart_save(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        """Save to a file atomically: on failure, the old file stays. Overrides gensim's hook."""
        from gensim_tfw2v.files.atomic import save_local

        if self._state.user is None:  # otherwise, gensim's code may be adding words
            # Loading computes the vectors of FastText from rows, which added words lack.
            complete_added_words(self)
        # a copy of the model without the attributes that files omit
        reduced_model: Any = object.__new__(type(self))
        reduced_model.__dict__.update(self._without(names("file", NEW)))

        def write(target: Any) -> None:
            if isinstance(target, str):
                super(StoredWord2Vec, reduced_model)._smart_save(target, *args, **kwargs)
                return
            # gensim's lists of arrays in separate files belong to the file that the model was
            # loaded from. The pickle below contains all arrays.
            for name in ("__numpys", "__recursive_saveloads"):
                reduced_model.__dict__.pop(name, None)
            pickle.dump(
                reduced_model, target, kwargs.get("pickle_protocol", pickle.DEFAULT_PROTOCOL)
            )

        save_local(fname, write)

    def to_gensim(self) -> Word2Vec:
        """Return the model as gensim's class, so that its file loads without this package.

        Returns
        -------
        gensim.models.Word2Vec, FastText or Doc2Vec
            A model that shares this model's arrays, so training either changes both. It lacks the
            options of this package; a warning names those that affect the model, such as
            ``learn_hidden=False``.
        """
        make_contiguous(self)
        model: Any = object.__new__(self._gensim_class)
        model.__dict__.update(self._without(names("gensim", NEW)))
        for name in (*OWN, *EXPERIMENTAL):
            if (value := getattr(self, name)) != DEFAULTS[name]:
                logger.warning(
                    "gensim trains this model without %s=%r, which it lacks", name, value
                )
        return model

    def __getstate__(self) -> dict[str, Any]:
        return self._without(names("copy", NEW))

    def _without(self, omitted_names: Container[str]) -> dict[str, Any]:
        attributes = self.__dict__.copy()  # another thread may add attributes during a loop
        return {name: value for name, value in attributes.items() if name not in omitted_names}


def _subclasses(class_: type[StoredWord2Vec]) -> Iterator[type[StoredWord2Vec]]:
    """Yield all subclasses of a class, each before its own subclasses."""
    classes = class_.__subclasses__()
    yield from classes
    for subclass in classes:
        yield from _subclasses(subclass)
