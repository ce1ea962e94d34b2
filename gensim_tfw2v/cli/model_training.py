"""Training of a model by a command, and printing of its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput, print_rows

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


def model_class(fasttext: bool = False, doc2vec: bool = False) -> type[TFWord2Vec]:
    """Return the class that `--fasttext` and `--doc2vec` select."""
    from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

    if fasttext:
        return TFFastText
    return TFDoc2Vec if doc2vec else TFWord2Vec


def new_model(fasttext: bool = False, doc2vec: bool = False, **arguments: Any) -> TFWord2Vec:
    """Make a model with new vectors, and train it."""
    if doc2vec:
        arguments["documents"] = arguments.pop("sentences", None)
    return model_class(fasttext, doc2vec)(**arguments)


def train_model(make: Callable[..., TFWord2Vec], **arguments: Any) -> tuple[TFWord2Vec, float]:
    """Call `make`, which makes and trains a model; return the model and the seconds it took.

    Raises
    ------
    BadInput
        If no word of the corpus, or no node of a graph, is frequent enough.
    """
    start = time.perf_counter()
    try:
        model = make(**arguments)
    except RuntimeError as error:
        if "build vocabulary" not in str(error) and "none of the corpus" not in str(error):
            raise
        from gensim_tfw2v import RandomWalks

        if isinstance(arguments.get("sentences"), RandomWalks):
            raise BadInput(
                "walks visit no node often enough; lower --min-count, or raise --num-walks"
            ) from error
        raise BadInput(
            "the corpus contains no word that is frequent enough; lower --min-count, or use a "
            "larger corpus"
        ) from error
    return model, time.perf_counter() - start


def print_results(
    model: TFWord2Vec,
    seconds: float,
    saved: Iterable[Path] = (),
    is_on_walks: bool = False,
    words: str = "words",
) -> None:
    """Print the results of a training run that took `seconds`, each on a line.

    If the training `is_on_walks`, their number is among them. `words` is what words are called.

    The speed counts raw words of the corpus, before subsampling and including rare words, per
    second inside ``train()``. If training was resumed, the words that were trained before its
    checkpoint do not count.
    """
    n_epochs = len(model.history) or model.epochs
    n_words = model.corpus_total_words * n_epochs
    n_restored = model._state.restored_words
    n_trained = n_words - n_restored
    rows: list[tuple[str, object]] = [
        ("vocabulary", f"{len(model.wv):,} {words} x {model.vector_size} dimensions")
    ]
    if model.has_documents:
        rows.append(("documents", f"{len(model.dv):,}"))
    walks = f"{model.corpus_count:,} walks of " if is_on_walks else ""
    rows.append(("corpus", f"{walks}{model.corpus_total_words:,} {words}, {n_epochs} epochs"))
    if n_trained > 0:
        speed = n_trained / max(model.total_train_time, 1e-9)
        rows.append(("speed", f"{speed:,.0f} {words}/s"))
    rows.append(("time", f"{seconds:.1f} s, {model.total_train_time:.3g} s of it training"))
    if model.history:
        best_epoch = (model.best_epoch or 0) + 1
        rows.append(("best", f"epoch {best_epoch}: {model.best_score:.4f}"))
    if n_restored:
        rows.append(("resumed", f"{n_restored:,} of {n_words:,} {words} had been trained before"))
    if model.compute_loss and model.mean_losses:  # empty if nothing was predicted
        loss = model.mean_losses[-1]
        rows.append(("loss", f"{loss:.4f} nats per prediction in the last epoch"))
    if model.traffic is not None and model.cluster is not None:
        rows += model.traffic.rows()
    rows.append(("merged", model.merge_report))
    print_rows(rows, saved)
