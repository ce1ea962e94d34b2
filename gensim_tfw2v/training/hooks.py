"""gensim's training hooks: which a subclass has overridden, and so has to be trained by gensim."""

import logging
from typing import Any

from gensim.models import Word2Vec

logger = logging.getLogger(__name__)

#: Methods that gensim's threads call while they train, and TensorFlow's engine does not.
BYPASSED = (
    *("_do_train_job", "_do_train_epoch", "_worker_loop", "_worker_loop_corpusfile"),
    *("_job_producer", "_get_thread_working_mem", "_log_epoch_progress", "_raw_word_count"),
)

#: Options that gensim's code does not know, with what they are where nothing is asked for.
NOT_GENSIMS: dict[str, Any] = {
    "cluster": None,
    "regime": None,
    "checkpoint_dir": None,
    "log_dir": None,
    "corrected_cbow": False,
    "negative_shards": 1,
}


def overridden_hooks(model: Word2Vec) -> list[str]:
    """Names of gensim's training hooks that are not gensim's own, of the class or the object."""
    return [
        name
        for name in BYPASSED
        if getattr(getattr(model, name), "__func__", None) is not getattr(Word2Vec, name)
    ]


def is_trained_by_gensim(model: Any) -> bool:
    """Whether gensim's code has to train a model, as hooks of that are overridden.

    Raises
    ------
    ValueError
        If the model has an option that gensim's code does not know.
    """
    if not (hooks := overridden_hooks(model)):
        return False
    for name, nothing in NOT_GENSIMS.items():
        if (given := getattr(model, name)) != nothing:
            raise ValueError(
                f"{type(model).__name__} overrides {' and '.join(hooks)}, which gensim's threads "
                f"alone call, and gensim's code has no {name}: leave out {name}={given!r}, or "
                "train a class that overrides no such method"
            )
    return True


def warn_of_gensims_code(model: Word2Vec) -> None:
    """Say once a training that gensim's code does it, and why."""
    logger.warning(
        "%s overrides %s, which gensim's threads alone call: gensim's code trains this model, at "
        "gensim's speed",
        type(model).__name__,
        " and ".join(overridden_hooks(model)),
    )
