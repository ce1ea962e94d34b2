"""gensim's callbacks, as training calls them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class StoppableCallbacks:
    """gensim's callbacks; after one has set `stop_training`, only `on_train_end` is called.

    A callback may change the model's arrays. So it is called when the checkpoint of the epoch,
    which doesn't include these changes, has been written.
    """

    def __init__(self, callbacks: Iterable[Any]) -> None:
        # A list is not copied, because a callback may change it. An iterator can be read only once.
        self._callbacks = list(callbacks) if isinstance(callbacks, Iterator) else callbacks

    def __getattr__(self, event: str) -> Callable[[Any], None]:
        def call(model: Any) -> None:
            training = model._state.training
            if training is not None:
                training.finish_writing()
            if model.stop_training and event != "on_train_end":
                return
            for callback in self._callbacks:
                getattr(callback, event)(model)

        return call
