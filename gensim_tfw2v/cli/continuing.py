"""Further training of a saved model on a new corpus, for ``tfw2v train --init``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import has_integers, load_for_training, wrong_kind_error
from gensim_tfw2v.cli.training_options import check_objective, flag, flags
from gensim_tfw2v.cli.walk_options import MIN_VISITS

if TYPE_CHECKING:
    from gensim_tfw2v import RandomWalks, TFWord2Vec


def continue_training(
    path: Path,
    sentences: Any = None,
    corpus_file: str | None = None,
    callbacks: Iterable[Any] = (),
    **options: Any,
) -> TFWord2Vec:
    """Load a model or vectors, add the new words of a corpus, and train on it.

    `options` contains the options that the user has set. They override those of a saved model. If
    the file contains only vectors, a new model is made, and options that are not set have their
    defaults.

    Raises
    ------
    BadInput
        If the file contains no vectors, or an option is incompatible with its arrays, or cannot
        be used when training continues.
    """
    model = load_for_training(path, mapped=False)
    if corpus_file is not None and has_integers(getattr(model, "wv", model)):
        raise BadInput(
            f"{path}: its words are integers, but those of a text are strings. Train it in Python, "
            "with lists of integers: model.partial_fit(sentences)"
        )
    from gensim_tfw2v import RandomWalks, TFDoc2Vec, TFFastText, TFWord2Vec

    is_walks = isinstance(sentences, RandomWalks)
    if is_walks:
        _check_can_walk(model, sentences, path)
    TFDoc2Vec.take_over(TFFastText.take_over(model))
    if isinstance(model, TFWord2Vec):
        _set_options(model, options, path)
    else:
        if is_walks:
            options.setdefault("min_count", MIN_VISITS)
        model = _new_model(model, options, path)
    is_table = hasattr(sentences, "column")
    if model.has_documents and is_table:
        sentences = sentences.documents()
    model.total_train_time = 0.0
    model.min_alpha_yet_reached = model.alpha
    model.partial_fit(
        sentences,
        corpus_file,
        model.epochs,
        model.alpha,
        model.min_alpha,
        callbacks=callbacks,
    )
    return model


def _check_can_walk(model: Any, walks: RandomWalks, path: Path) -> None:
    """Raise if a model cannot be trained on walks, or its words are of another type than nodes."""
    if hasattr(model, "dv"):
        needs = "--walks needs a Word2Vec or FastText model, because walks have no tags"
        raise wrong_kind_error(model, path, needs)
    words_are_integers = has_integers(getattr(model, "wv", model))
    if words_are_integers == isinstance(walks.names[0], str):
        kinds = ("integers", "strings") if words_are_integers else ("strings", "integers")
        raise BadInput(
            f"{path}: its words are {kinds[0]}, but the names of the graph's nodes are {kinds[1]}: "
            "write the edges as a table whose columns have the type of the words"
        )


def _set_options(model: TFWord2Vec, options: Mapping[str, Any], path: Path) -> None:
    """Set the options of a full model; raise for options that it does not have."""
    from gensim_tfw2v.options.option import Use
    from gensim_tfw2v.options.table import option_names

    fixed = ("fasttext", "doc2vec", *option_names(Use.ARRAYS, "", "FastText", "Doc2Vec"))
    kind = {"fasttext": model.has_subwords, "doc2vec": model.has_documents, "dm": not model.sg}
    _check_unchanged(options, fixed, vars(model.wv) | vars(model) | kind, path)
    settable = {*model._kinds, "compute_loss"}
    unusable = options.keys() - settable - {*fixed}
    if unusable:
        raise _useless_options(options, unusable)
    if options.get("dbow_words") and not model.sg:
        raise BadInput(f"--dbow-words: works only with --dbow, but {path} was trained with --dm")
    model.__dict__.update({name: options[name] for name in settable & options.keys()})


def _new_model(vectors: Any, options: Mapping[str, Any], path: Path) -> TFWord2Vec:
    """Make a new model from vectors; raise for options that cannot be used with them."""
    from gensim_tfw2v import TFWord2Vec
    from gensim_tfw2v.options.table import DEFAULTS

    fixed = ("fasttext", "doc2vec", "vector_size")
    _check_unchanged(options, fixed, vars(vectors), path)
    if "sorted_vocab" in options:
        raise _useless_options(options, ["sorted_vocab"])
    values = {**DEFAULTS, **options}
    check_objective(values["hs"], values["negative"])
    arguments = {name: value for name, value in options.items() if name not in fixed}
    return TFWord2Vec.from_vectors(vectors, **arguments)


def _check_unchanged(
    options: Mapping[str, Any], fixed: Iterable[str], state: Mapping[str, Any], path: Path
) -> None:
    """Raise for an option in `fixed` whose value differs from that in the saved `state`.

    `state` contains the attributes of a model or of vectors.
    """
    for name in fixed:
        saved_value = state.get(name)
        value = options.get(name, saved_value)
        # `negative` may change from one positive number to another: the model's arrays depend only
        # on whether it is 0
        is_compatible = name == "negative" and value and saved_value
        if value != saved_value and not is_compatible:
            raise BadInput(
                f"{flag(name, value)} cannot change when training continues: {path} has "
                f"{saved_value}; leave it out, or train a new model"
            )


def _useless_options(options: Mapping[str, Any], names: Iterable[str]) -> BadInput:
    """Return the error for options that have no effect in further training."""
    return BadInput(
        f"{flags(options, names)}: has no effect when training continues; leave it out, or train a "
        "new model"
    )
