"""TFFastText: gensim's FastText, trained by the code behind `TFWord2Vec.train`."""

import inspect
import os
from typing import TYPE_CHECKING, Any

from gensim.models import fasttext

from gensim_tfw2v.files.atomic import save_local
from gensim_tfw2v.gensim_classes import FastText, Word2Vec
from gensim_tfw2v.model import OWN_PARAMETERS, TFWord2Vec
from gensim_tfw2v.training.subwords import adjust_vectors

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gensim_tfw2v.options.keywords import FastTextOptions


_COMPUTE_LOSS = inspect.Parameter("compute_loss", inspect.Parameter.KEYWORD_ONLY, default=False)


class _WithLoss(Word2Vec):
    """gensim's `Word2Vec` with `compute_loss`, which gensim's `FastText` does not pass on."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, compute_loss=self.compute_loss)


class TFFastText(TFWord2Vec, FastText, _WithLoss):
    """gensim's FastText, trained like `TFWord2Vec`.

    A word's vector is the mean of its own row and the rows of its character n-grams, so words that
    did not occur in the text have vectors too (Bojanowski et al. 2017, "Enriching Word Vectors with
    Subword Information", section 3.2). Training reads and writes the rows of a word once for all of
    its occurrences in a few hundred words of text, rather than for each pair of words.

    It accepts the parameters below and those of `TFWord2Vec` except `tables_dir`. `regime` is
    limited to ``"asynchronous"``, ``"synchronous"`` and ``"submodels"``, and `layout` to
    ``"rows"``, because only compiled kernels train n-grams.

    Parameters
    ----------
    min_n, max_n : int
        Minimum and maximum length of the n-grams in characters, from 0 up. A `max_n` below `min_n`
        trains words without n-grams.
    bucket : int
        Number of rows that the n-grams are hashed to, from 0 up. Each takes 4 * `vector_size` bytes
        of memory. With fewer rows, more n-grams share a row.
    word_ngrams : int
        Must be 1, as in gensim: n-grams of words are not supported.
    compute_loss : bool
        Compute the loss, as gensim's `Word2Vec` does; gensim's `FastText` reports 0.

    Raises
    ------
    ValueError, TypeError, ClusterError
        As `TFWord2Vec`; ValueError also if `regime` or `layout` cannot train n-grams, or
        `tables_dir` is set.
    RuntimeError
        From `train`, if the compiled kernels are missing, or if TensorFlow detects a GPU and a
        `regime` or remote `cluster` is set.

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
        """Load a model file of fastText (``.bin``), to query it or train it further.

        Parameters
        ----------
        path : str or path
            The file.
        encoding : str
            Encoding of the words in it.

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
        """Load a model file of fastText; deprecated in gensim, see `load_facebook_model`."""
        return cls.load_facebook_model(model_file, encoding)

    def save_facebook_model(self, path: str | os.PathLike[str]) -> None:
        """Save the model in fastText's own format (``.bin``). On failure, an older file stays."""

        def write(target: Any) -> None:  # gensim's function accepts paths and file descriptors
            fasttext.save_facebook_model(
                self, target if isinstance(target, str) else target.fileno()
            )

        save_local(os.fspath(path), write)

    def _clear_post_train(self) -> None:
        """Compute the vectors of words from their rows, without the slow loop of gensim's hook."""
        adjust_vectors(self.wv)
        super()._clear_post_train()
