"""What a model can do that gensim's cannot."""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gensim.models import KeyedVectors

from gensim_tfw2v.checks.kinds import Number
from gensim_tfw2v.checks.options import ARGUMENTS, check_attributes, check_options
from gensim_tfw2v.checks.state import check_state
from gensim_tfw2v.config import TrainingConfig
from gensim_tfw2v.hooks import is_trained_by_gensim
from gensim_tfw2v.scanning import ScanningWord2Vec
from gensim_tfw2v.training.held_out import held_out_loss
from gensim_tfw2v.vectors import take_vectors

Model = TypeVar("Model", bound="Additions")

#: One thread at a time says that it trains a model, or finds that another does.
_ENTRANCE = threading.Lock()


class Additions(ScanningWord2Vec):
    """Methods that `TFWord2Vec` has beside gensim's."""

    _is_training = False

    @classmethod
    def from_vectors(
        cls: type[Model],
        vectors: KeyedVectors,
        counts: Mapping[str, int] | None = None,
        **options: Any,
    ) -> Model:
        """A model that goes on from vectors alone, such as those of a file in word2vec's form.

        It has all their words; ``build_vocab(corpus, update=True)`` adds those of a corpus. The
        other layer (``syn1neg``, ``syn1``) starts from 0, as in a new model.

        Parameters
        ----------
        vectors : KeyedVectors
            They are copied.
        counts : mapping from words to counts, optional
            By default the vectors' own, if they have any, else by Zipf's law from their order.
        **options
            As for the class, but for the corpus and for `vector_size`.

        Raises
        ------
        ValueError
            If `counts` lacks a word.
        """
        model = cls(vector_size=vectors.vector_size, **options)
        take_vectors(model, vectors, counts)
        return model

    def partial_fit(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | None = None,
        epochs: int = 1,
        alpha: float | None = None,
    ) -> tuple[int, int]:
        """Train on the next part of a stream; its new words are added.

        The part is read once, so a generator will do for one epoch. A new word is added if the
        part has it `min_count` times: parts should not be small.

        Parameters
        ----------
        corpus_iterable, corpus_file
            The part, as for `train`.
        epochs : int
            Passes over it.
        alpha : float, optional
            Step size, which stays the same; by default the model's.

        Returns
        -------
        (int, int)
            As of `train`.
        """
        self._refuse_while_training()
        Number(least=1, whole=True, exact=True)("epochs", epochs)
        self._check({"start_alpha": alpha})
        if is_trained_by_gensim(self):  # whose code reads the part again for each epoch
            self._check_corpus_sanity(corpus_iterable, corpus_file, passes=1 + epochs)
        before: dict[str, float] = {name: vars(self)[name] for name in ("alpha", "min_alpha")}
        alpha = before["alpha"] if alpha is None else alpha
        try:
            with self._reading_once():
                self.build_vocab(corpus_iterable, corpus_file, update=len(self.wv) > 0)
                return self.train(
                    corpus_iterable,
                    corpus_file,
                    total_examples=self.corpus_count,
                    total_words=self.corpus_total_words,
                    epochs=epochs,
                    start_alpha=alpha,
                    end_alpha=alpha,
                )
        finally:
            self.__dict__.update(before)

    def held_out_loss(
        self,
        corpus_iterable: Iterable[list[str]] | None = None,
        corpus_file: str | None = None,
    ) -> float:
        """How badly the model predicts a text that it was not trained on.

        Parameters
        ----------
        corpus_iterable, corpus_file
            The text, as for `train`; give one of both. Words that the model does not know are left
            out. The model stays as it is, and a callback may ask after each epoch.

        Returns
        -------
        float
            Mean loss of a prediction, in nats, as in `mean_losses`. A new model's is nearly
            (1 + `negative`) ln 2, without `hs`. Losses can be compared if vocabulary, objective,
            window and `sample` are the same.

        Raises
        ------
        TypeError
            If none or both are given, or the file is not there; as gensim's `train`.
        ValueError
            If nothing is predicted, as no two known words stand together in a sentence; or if the
            model's vectors are not finite.
        """
        self._check_corpus_sanity(
            corpus_iterable=corpus_iterable, corpus_file=corpus_file, passes=1
        )
        source = corpus_iterable if corpus_file is None else Path(corpus_file)
        assert source is not None
        return held_out_loss(self, source)

    def _check(self, arguments: Mapping[str, Any]) -> TrainingConfig:
        """Refuse what training cannot run with, before anything is changed."""
        config = check_attributes(self)
        check_options(arguments, ARGUMENTS)
        check_state(self, config)
        return config

    @contextlib.contextmanager
    def _being_trained(self) -> Iterator[None]:
        """Within it, nobody else trains the model."""
        with _ENTRANCE:
            self._refuse_while_training()
            self._is_training = True
        try:
            yield
        finally:
            del self._is_training

    def _refuse_while_training(self) -> None:
        if self._is_training:
            raise RuntimeError(
                "this model is being trained, by another thread or by the train() whose callback "
                "this is: wait until that has returned, or train a copy (copy.deepcopy(model))"
            )
