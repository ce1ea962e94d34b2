"""Hyperparameters of a model, as TensorBoard shows them."""

from typing import Any

from gensim_tfw2v.options.table import DEFAULTS, named


def hyperparameters(model: Any, words: int) -> dict[str, bool | int | float | str]:
    """Return a model's options, its vocabulary size, and `words`, the size of the text."""
    values = {name: getattr(model, name) for name in named("shown")}
    values |= {name: bool(getattr(model, name)) for name in named("switch")}
    for name in named("unusual", "", "Doc2Vec"):
        if (value := getattr(model, name, DEFAULTS[name])) != DEFAULTS[name]:
            values[name] = value
    for name in ("cluster", "regime"):
        values[name] = str(getattr(model, name, None) or "none")
    return values | {"vocabulary": len(model.wv), "words": words}
