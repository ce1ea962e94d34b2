"""Importing much at once, without looking for garbage in it."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Keep Python from looking for garbage in what an import makes, nearly all of which stays.

    With TensorFlow and gensim that takes an eighth of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
