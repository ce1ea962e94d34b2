"""What a model was made with, as the HParams page of TensorBoard compares it."""

from typing import Any

#: Always told.
SHOWN = ("vector_size", "window", "negative", "sample", "alpha", "epochs", "min_count", "workers")
SWITCHES = ("sg", "hs")

#: Told where they are not what they are for nearly everybody.
USUAL = {
    "ns_exponent": 0.75,
    "shrink_windows": True,
    "cbow_mean": 1,
    "corrected_cbow": False,
    "negative_shards": 1,
    "min_alpha": 0.0001,
}


def hyperparameters(model: Any) -> dict[str, bool | int | float | str]:
    """Hyperparameters of a Word2Vec model, gensim's own too."""
    values = {name: getattr(model, name) for name in SHOWN}
    values |= {name: bool(getattr(model, name)) for name in SWITCHES}
    for name, usual in USUAL.items():
        if (value := getattr(model, name, usual)) != usual:
            values[name] = value
    for name in ("cluster", "regime"):
        values[name] = str(getattr(model, name, None) or "none")
    return values | {"vocabulary": len(model.wv)}
