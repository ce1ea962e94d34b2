"""Hyperparameters of a model, as TensorBoard shows them."""

from typing import Any

from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import DEFAULTS, option_names


def hyperparameters(model: Any, n_raw_words: int | None) -> dict[str, bool | int | float | str]:
    """Return a model's options, and the sizes of its vocabulary and of its text in raw words.

    None is replaced by 0, because TensorBoard doesn't accept it. ``sample=None`` means 0, and the
    size of the text is None in files of old versions of gensim.
    """
    values = {name: getattr(model, name) or 0 for name in option_names(Use.SHOWN)}
    values |= {name: bool(getattr(model, name)) for name in option_names(Use.SWITCH)}
    for name in option_names(Use.UNUSUAL, "", "Doc2Vec"):
        if (value := getattr(model, name, DEFAULTS[name])) != DEFAULTS[name]:
            values[name] = value
    for name in ("cluster", "regime"):
        values[name] = str(getattr(model, name, None) or "none")
    return values | {"vocabulary": len(model.wv), "words": n_raw_words or 0}
