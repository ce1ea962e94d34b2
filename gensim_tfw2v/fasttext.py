"""TFFastText: gensim's FastText, trained by the code behind `TFWord2Vec.train`."""

import inspect
import os
from typing import TYPE_CHECKING, Any

from gensim.models import fasttext

from gensim_tfw2v.files.atomic import save_local
from gensim_tfw2v.gensim_classes import FastText, Word2Vec
from gensim_tfw2v.model import OWN_PARAMETERS, TFWord2Vec
from gensim_tfw2v.options.docstrings import inherit_sections
from gensim_tfw2v.training.subwords import adjust_vectors

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gensim_tfw2v.options.keywords import FastTextOptions


_COMPUTE_LOSS = inspect.Parameter("compute_loss", inspect.Parameter.KEYWORD_ONLY, default=False)


class _WithLoss(Word2Vec):
    """gensim's `Word2Vec` with `compute_loss`, which gensim's `FastText` does not pass on.

    The callbacks, which `FastText` has stored, are removed before training. Files could not contain
    them if they hold open files or locks, for example.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.callbacks = ()
        super().__init__(**kwargs, compute_loss=self.compute_loss)


class TFFastText(TFWord2Vec, FastText, _WithLoss):
    """gensim's FastText, trained like `TFWord2Vec`.

    A word's vector is the mean of its own row and the rows of its character n-grams, so words that
    did not occur in the text have vectors, too (Bojanowski et al. 2017, "Enriching Word Vectors
    with Subword Information", section 3.2). If a word occurs several times within a few hundred
    words of text, training reads and writes its rows only once, rather than for each pair of words.

    This class has the parameters of `TFWord2Vec` except `comment`, and some of its own. Only the
    compiled kernels can train n-grams, so not all values of `regime` and `layout` are possible.

    Parameters
    ----------
    min_n : int, default 3
        Minimum length of the n-grams in characters, from 0 up.
    max_n : int, default 6
        Maximum length of the n-grams in characters, from 0 up. If it is below `min_n`, words are
        trained without n-grams. Shorter n-grams suit languages whose words are short, but more
        words have a short n-gram in common, which slows training down.
    bucket : int, default 2000000
        Number of rows for n-grams, from 0 to 2,147,483,647. A hash function assigns each n-gram to
        one of these rows. Each row takes 4 * `vector_size` bytes of memory, so all rows take 800 MB
        by default. For a small vocabulary, use fewer rows. With too few rows, many different
        n-grams share a row.
    word_ngrams : int, default 1
        Any number but 1 is refused, as in gensim, because n-grams of words are not supported.
    compute_loss : bool, default False
        Compute the loss of all predictions: see `mean_losses`. gensim's `FastText` does not have
        this parameter.
    regime : RegimeOptions or str, optional
        Distributed training strategy: `Asynchronous`, `Synchronous` or `SubModels`, or its name,
        with or without options (``"submodels:models=4"``). The default on a cluster is
        ``"asynchronous"``; without a cluster, threads share the rows by default. If you set a
        regime without a cluster, `workers` threads take the place of the worker tasks.
    layout : "rows", default "rows"
        Distribution of the arrays over a cluster's ps tasks: each ps task holds whole rows.
    tables_dir : None, default None
        Must be None, because the rows of n-grams are always kept in memory.

    Raises
    ------
    ValueError
        If `regime` or `layout` cannot train n-grams, or `tables_dir` is set.
    NotImplementedError
        If `word_ngrams` is not 1.
    RuntimeError
        From `train`, if the compiled kernels are missing, or if TensorFlow detects a GPU and a
        `regime` is set without a `cluster`.

    Attributes
    ----------
    wv : gensim.models.fasttext.FastTextKeyedVectors
        Vectors of the words: ``wv["word"]`` for any word, ``wv.most_similar("word")``. `wv.vectors`
        [V, D] are the vectors of the words in the vocabulary, and ``"word" in wv.key_to_index`` is
        True if a word is in the vocabulary.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> model = TFFastText(common_texts, vector_size=20, min_count=1, bucket=1000)
    >>> model.wv["computers"].shape
    (20,)
    """

    _gensim_class = FastText
    _signature = inspect.Signature(
        [*inspect.signature(FastText).parameters.values(), *OWN_PARAMETERS]
    )
    __signature__ = inspect.Signature([*_signature.parameters.values(), _COMPUTE_LOSS])
    has_subwords = True
    wv: fasttext.FastTextKeyedVectors

    def __init__(
        self, *args: Any, compute_loss: bool = False, **kwargs: "Unpack[FastTextOptions]"
    ) -> None:
        self.compute_loss = compute_loss
        options: dict[str, Any] = dict(kwargs)  # untyped: mypy rejects FastText's own options
        super().__init__(*args, **options)

    @classmethod
    def load_facebook_model(
        cls, path: str | os.PathLike[str], encoding: str = "utf-8"
    ) -> "TFFastText":
        """Load a model file of fastText (``.bin``), to query the model or to train it further.

        Parameters
        ----------
        path : str or path
            The file.
        encoding : str, default "utf-8"
            Encoding of the words in it.

        Returns
        -------
        TFFastText
            The model.

        Raises
        ------
        NotImplementedError
            From gensim, if the model is a classifier.
        OSError
            If the file cannot be read.
        """
        model = fasttext.load_facebook_model(os.fspath(path), encoding)
        model.__class__ = cls
        return model

    @classmethod
    def load_fasttext_format(cls, model_file: str, encoding: str = "utf8") -> "TFFastText":
        """Load a model file of fastText; deprecated in gensim, see `load_facebook_model`.

        Parameters
        ----------
        model_file : str
            The file.
        encoding : str, default "utf8"
            Encoding of the words in it.
        """
        return cls.load_facebook_model(model_file, encoding)

    def save_facebook_model(self, path: str | os.PathLike[str]) -> None:
        """Save the model in fastText's own format (``.bin``). On failure, an older file stays.

        Parameters
        ----------
        path : str or path
            The file.
        """

        def write(target: Any) -> None:  # gensim's function accepts paths and file descriptors
            fasttext.save_facebook_model(
                self, target if isinstance(target, str) else target.fileno()
            )

        save_local(os.fspath(path), write)

    def _clear_post_train(self) -> None:
        """Compute the vectors of words from their rows, without the slow loop of gensim's hook."""
        adjust_vectors(self.wv)
        super()._clear_post_train()


inherit_sections(TFFastText, TFWord2Vec)
