"""TFFastText: gensim's FastText with the engine of `TFWord2Vec` under `train`."""

import os
from typing import Any

from gensim.models import fasttext

from gensim_tfw2v.model import TFWord2Vec, signature_of
from gensim_tfw2v.originals import FastText, Word2Vec
from gensim_tfw2v.training.subwords import adjust_vectors


class _WithLoss(Word2Vec):
    """gensim's `Word2Vec` given `compute_loss`, which its `FastText` does not hand on."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, compute_loss=self.compute_loss)


class TFFastText(TFWord2Vec, FastText, _WithLoss):
    """gensim's FastText, trained as `TFWord2Vec` is.

    A word's vector is the mean of a row of its own and of those of its character n-grams, so that
    words that were not in the text have vectors, too (Bojanowski et al. 2017, "Enriching Word
    Vectors with Subword Information"). Training reads and writes the rows of a word once for all
    of its occurrences in a few hundred words of text, not for each pair of words.

    Beside the parameters below it takes those of `TFWord2Vec`, but `tables_dir`, and of `regime`
    and `layout` those alone that the compiled kernels train: ``"asynchronous"``,
    ``"synchronous"`` and ``"submodels"``, and ``"rows"``.

    Parameters
    ----------
    min_n, max_n, bucket, word_ngrams
        Lengths of n-grams, and into how many rows they are hashed, as for gensim's `FastText`;
        of `word_ngrams` gensim, too, knows 1 only.
    compute_loss : bool
        As for gensim's `Word2Vec`; its `FastText` computes none.

    Raises
    ------
    ValueError, ClusterError
        As `TFWord2Vec`; also if `regime`, `layout` or `tables_dir` cannot be with n-grams.
    RuntimeError
        From `train`, if there are no compiled kernels, or workers see a GPU.

    Examples
    --------
    >>> from gensim.test.utils import common_texts
    >>> model = TFFastText(common_texts, vector_size=20, min_count=1, bucket=1000)
    >>> model.wv["computers"].shape
    (20,)
    """

    _of_gensim = FastText
    has_subwords = True

    def __init__(self, *args: Any, compute_loss: bool = False, **kwargs: Any) -> None:
        self.compute_loss = compute_loss
        if kwargs.get("tables_dir") is not None:
            raise ValueError(
                "tables_dir is for the arrays of Word2Vec, and FastText keeps rows of n-grams in "
                "memory: leave it out"
            )
        super().__init__(*args, **kwargs)

    @classmethod
    def from_vectors(cls, *args: Any, **kwargs: Any) -> "TFFastText":
        """Refused by a TypeError: vectors alone lack the rows of n-grams."""
        raise TypeError(
            "vectors of words alone lack the rows of n-grams: give a whole model to "
            "TFFastText.load_facebook_model, or go on with TFWord2Vec.from_vectors"
        )

    @classmethod
    def load_facebook_model(
        cls, path: str | os.PathLike[str], encoding: str = "utf-8"
    ) -> "TFFastText":
        """Load a model that fastText has written (``.bin``), to be queried or trained on.

        Raises
        ------
        NotImplementedError
            If it is a classifier, from gensim.
        """
        model = fasttext.load_facebook_model(os.fspath(path), encoding)
        model.__class__ = cls
        return model

    def save_facebook_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as fastText does (``.bin``)."""
        fasttext.save_facebook_model(self, os.fspath(path))

    def _clear_post_train(self) -> None:
        """Make words' vectors of the rows: gensim's hook, without its slow loop."""
        adjust_vectors(self.wv)
        super()._clear_post_train()


TFFastText.__signature__ = signature_of(TFFastText)
