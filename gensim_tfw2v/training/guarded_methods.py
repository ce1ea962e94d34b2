"""gensim's methods that change a model's vocabulary or weights, made safe and fast.

Only one call at a time may train or change a model, and a call that fails changes nothing.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from gensim_tfw2v import keys
from gensim_tfw2v.keys.compact import compact
from gensim_tfw2v.training.model_arrays import (
    complete_added_words,
    copied_vocabulary,
    extended_outputs,
)
from gensim_tfw2v.training.model_state import ModelState
from gensim_tfw2v.training.vocabulary_preparation import prepare_vocab
from gensim_tfw2v.training.vocabulary_update import update_vocab

#: gensim's methods that change the vocabulary or replace arrays.
CHANGING = (
    "build_vocab",
    "build_vocab_from_freq",
    "prepare_vocab",
    "create_binary_tree",
    "update_weights",
    "reset_from",
)

#: Lock that makes checking and setting the user of a model one step.
_ENTRANCE = threading.Lock()


def claim(state: ModelState, user: int) -> None:
    """Set a model's user: until it is None again, only this user may train or change the model.

    Raises
    ------
    RuntimeError
        If the model has a different user; see `refuse_while_used`.
    """
    with _ENTRANCE:
        refuse_while_used(state)
        state.user = user


def refuse_while_used(state: ModelState) -> None:
    """Raise a RuntimeError if a model is being trained or changed, unless by this thread."""
    if state.user not in (None, threading.get_ident()):
        raise RuntimeError(
            "this model is being trained, or its vocabulary is being built, by another thread "
            "or by the train() that runs this callback: wait until that has returned, or use a "
            "copy (copy.deepcopy(model)), with its own checkpoint_dir and log_dir if these are "
            "set"
        )


def guard_methods(class_: type) -> None:
    """Override gensim's methods in `CHANGING` by guarded ones."""
    for name in CHANGING:
        setattr(class_, name, _guarded_method(class_, name))


def _guarded_method(class_: type, name: str) -> Any:
    """Return gensim's method with a guard.

    The guarded method raises an error while the model is in use. If gensim's method fails, the
    vocabulary is restored.
    """

    @functools.wraps(getattr(class_, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = getattr(super(class_, self), name)
        if name == "prepare_vocab":
            call = _compact(self.wv, len(self.raw_vocab))(call)
            is_update = kwargs["update"] if "update" in kwargs else any(args[:1])
            if is_update and not self.learn_hidden:
                from gensim_tfw2v.training.huffman import keep_paths

                call = keep_paths(self.wv)(call)
            elif is_update:
                call = functools.partial(update_vocab, self, call)
            else:
                call = functools.partial(prepare_vocab, self, call)
        if name == "create_binary_tree":
            from gensim_tfw2v.training.huffman import create_tree

            call = functools.partial(create_tree, self.wv, call)
        if name == "update_weights":
            call = extended_outputs(self)(call)
        state = self._state
        if state.user == threading.get_ident():  # called by a method that is itself guarded
            return call(*args, **kwargs)
        if name == "create_binary_tree" and not self.learn_hidden:
            raise ValueError(
                "with learn_hidden=False, the nodes of the tree (syn1) do not change, and another "
                "tree would not fit them: build the vocabulary anew, or set learn_hidden=True"
            )
        claim(state, threading.get_ident())
        try:
            copies = copied_vocabulary(self)
            try:
                complete_added_words(self)
                return call(*args, **kwargs)
            except BaseException:
                for attributes, copied in copies:
                    attributes.update(copied)
                state.is_new = False  # the restored weights may be trained ones
                raise
        finally:
            state.user = None

    return method


@contextlib.contextmanager
def _compact(vectors: Any, n_counted: int) -> Iterator[None]:
    """Let gensim's `prepare_vocab` take less time and memory, if it keeps few of the counted words.

    In this context, gensim's method sets attributes of words without checking the attributes'
    arrays for each word. Before the words are sorted, they are replaced by copies, because in
    memory they are scattered among the rare words: when these are freed, their memory could not be
    returned to the system otherwise.

    Integers that are not among the words are new words, although gensim takes them for rows.
    """
    checked = set[str]()

    def set_vecattr(word: Any, name: str, value: Any) -> None:
        if name not in checked or len(vectors.expandos[name]) != len(vectors.index_to_key):
            vectors.allocate_vecattrs([name], [type(value)])
            checked.add(name)
        vectors.expandos[name][vectors.get_index(word)] = value

    def has_index_for(word: Any) -> bool:
        return word in vectors.key_to_index

    sort = vectors.sort_by_descending_frequency

    def sort_by_descending_frequency() -> None:
        words = vectors.index_to_key
        if len(words) < n_counted and {type(word) for word in words} == {str}:
            vectors.index_to_key = ["".join(word) for word in words]
        sort()

    vectors.set_vecattr = set_vecattr
    vectors.has_index_for = has_index_for
    vectors.sort_by_descending_frequency = sort_by_descending_frequency
    try:
        yield
    finally:
        del vectors.set_vecattr, vectors.has_index_for, vectors.sort_by_descending_frequency
    if len(vectors) >= keys.MIN_WORDS:
        compact(vectors)
