"""``tfw2v train --init``: a saved model is trained further, on another corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_saved

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec

#: Options that the arrays of a model were made with.
KEPT = (
    *("vector_size", "sg", "hs", "negative", "cbow_mean", "fasttext"),
    *("min_n", "max_n", "bucket", "tables_dir"),
)


def continue_model(
    path: Path,
    given: Mapping[str, Any],
    sentences: Iterable[list[str]] | None = None,
    corpus_file: str | None = None,
    **options: Any,
) -> TFWord2Vec:
    """Load a model or vectors, add the new words of a corpus, and train on it.

    A model takes those of the options that were `given`; vectors alone make a model with all.

    Raises
    ------
    BadInput
        If the file holds no vectors, or has others of the options in `KEPT`.
    """
    model: Any = load_saved(path)
    from gensim_tfw2v import TFFastText, TFWord2Vec

    TFFastText.take_over(TFWord2Vec.take_over(model))
    is_whole = isinstance(model, TFWord2Vec)
    arrays = {"fasttext": is_whole and model.has_subwords} | {
        name: getattr(model, name, getattr(getattr(model, "wv", None), name, None))
        for name in (KEPT if is_whole else ("vector_size",))
        if name != "fasttext"
    }
    for name in given.keys() & arrays:
        value, held = given[name], arrays[name]
        if value != held and (name != "negative" or not value or not held):
            raise BadInput(
                f"--{name.replace('_', '-')} cannot change when a model is continued: {path} has "
                f"{held}; leave it out, or train a new model"
            )
    if is_whole:
        vars(model).update({name: options[name] for name in given.keys() & options})
    else:
        del options["vector_size"]
        model = TFWord2Vec.from_vectors(model, **options)
    model.total_train_time, model.min_alpha_yet_reached = 0.0, model.alpha
    model.partial_fit(sentences, corpus_file, model.epochs, model.alpha, model.min_alpha)
    return model
