"""Settings of a model that training reads, and rules for changing them during training."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gensim_tfw2v.options.table import named
from gensim_tfw2v.training.weights import shapes, weights_of

#: Options that are read at the start of each epoch.
EACH_EPOCH = set(named("each-epoch"))

#: Settings that must not change during training.
FIXED = {*named("fixed"), "words", "shapes"}


def settings_of(model: Any) -> dict[str, Any]:
    """Return the settings of a model that training reads, by their names."""
    weights = weights_of(model)
    settings: dict[str, Any] = {"words": [], "shapes": shapes(weights)}
    for name in {*model._kinds, "compute_loss"} - {"seed"}:
        settings[name] = getattr(model, name)
    arrays = {"cum_table": vars(model).get("cum_table")}
    arrays["sample_int"] = model.wv.expandos.get("sample_int")
    for place, (held, _) in zip(("", "wv.", "dv."), weights, strict=False):
        settings["words"].append(held.get("key_to_index"))
        for name in tuple(held):  # a concurrent thread may add attributes
            if "_lockf" in name:
                arrays[place + name] = held[name]
    for name, array in arrays.items():
        settings[name] = hash(np.asarray(array).tobytes())
    return settings


def refusal(changed: Iterable[str]) -> RuntimeError:
    """Return the error for settings, named in `changed`, that must not change during training."""
    return RuntimeError(
        "a callback or another thread has changed what must stay the same during training: "
        f"{', '.join(sorted(changed))}. The model keeps what was trained. Change words, shapes of "
        "arrays and these options, and add vectors (wv.add_vector), only before or after train(). "
        "With sub-models, which train all epochs at once, this applies to every option"
    )
