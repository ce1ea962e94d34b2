"""Names for the parts of a step, which TensorBoard's page of graphs shows as boxes."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gensim_tfw2v._tensorflow import tf

Given = ParamSpec("Given")
Made = TypeVar("Made")


def scoped(name: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Have a function build its ops in a name scope, as ``tf.Module.with_name_scope`` does."""

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @functools.wraps(function)
        def in_scope(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            with tf.name_scope(name):
                return function(*args, **kwargs)

        return in_scope

    return decorate
