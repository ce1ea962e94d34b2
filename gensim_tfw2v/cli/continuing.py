"""``tfw2v train --init``: further training of a saved model on a new corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gensim_tfw2v.cli import common
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_saved

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


def continue_model(
    path: Path,
    context: typer.Context,
    sentences: Any = None,
    corpus_file: str | None = None,
    **options: Any,
) -> TFWord2Vec:
    """Load a model or vectors, add the new words of a corpus, and train on it.

    Options that the command line sets override the model's. If the file contains only vectors, a
    new model is made, in which options that are not set have their defaults.

    Raises
    ------
    BadInput
        If the file contains no vectors, or an option is incompatible with its arrays.
    """
    model = load_saved(path)
    from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
    from gensim_tfw2v.options.table import named

    TFDoc2Vec.take_over(TFFastText.take_over(model))
    is_whole = isinstance(model, TFWord2Vec)
    given = common.given(context)
    has = vars(getattr(model, "wv", model)) | vars(model)
    if is_whole:
        has |= {"fasttext": model.has_subwords, "doc2vec": model.has_documents, "dm": not model.sg}
    size, *arrays = named("arrays", "", "FastText", "Doc2Vec")  # bare vectors have only a size
    for name in ("fasttext", "doc2vec", size, *(arrays if is_whole else ())):
        kind = bool if name == "negative" else lambda value: value  # any two above 0 are compatible
        if name in given and kind(given[name]) != kind(has.get(name)):
            raise BadInput(
                f"--{name.replace('_', '-')} cannot change when training continues: {path} has "
                f"{has.get(name)}; leave it out, or train a new model"
            )
    if is_whole:
        changed = options.keys() & {"cluster", *given} - {"dm"}  # dm is computed from sg
        vars(model).update({name: options[name] for name in changed})
    else:
        options.pop(size, None)
        model = TFWord2Vec.from_vectors(model, **options)
    if model.has_documents and hasattr(sentences, "column"):  # a table
        from gensim_tfw2v import TableDocuments

        sentences = TableDocuments(sentences.path, sentences.column)
    model.total_train_time = 0.0
    model.min_alpha_yet_reached = model.alpha
    model.partial_fit(sentences, corpus_file, model.epochs, model.alpha, model.min_alpha)
    return model
