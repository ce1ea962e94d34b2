"""Progress on a terminal: a line or a bar for each phase that takes a while."""

import contextlib
import multiprocessing
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

if TYPE_CHECKING:  # commands show that they load, before they do
    from gensim_tfw2v.corpus.files import Extent
    from gensim_tfw2v.corpus.shards import Progress


def progress_bar(total_words: int, shown: bool | None, done: int = 0) -> Any:
    """A bar over the raw words of all epochs.

    Parameters
    ----------
    total_words : int
        Raw words of all epochs.
    shown : bool or None
        None shows it on terminals and in notebooks only.
    done : int
        Words that were trained before: the bar begins there, its rate and time left are without.
    """
    return _bar(
        shown, total=total_words, initial=done, unit="words", desc="training", smoothing=0.1
    )


@contextlib.contextmanager
def reading_bar(what: str, extent: "Extent", shown: bool | None) -> "Iterator[Progress]":
    """A bar over a corpus while it is read, gone at the end; gives what is told how far that is.

    Parameters
    ----------
    what : str
        What it is read for.
    extent : Extent
        Of the corpus; without a total there is a counter in place of a bar.
    shown : bool or None
        As of `progress_bar`.
    """
    with _bar(shown, total=extent.total, unit=extent.unit, desc=what) as bar:
        yield lambda *state: bar.update(extent.reached(*state) - bar.n)


@contextlib.contextmanager
def phase(what: str, shown: bool | None) -> Iterator[None]:
    """A line that says what is being done, and is gone when it is.

    Parameters
    ----------
    what : str
    shown : bool or None
        As of `progress_bar`.
    """
    with _bar(shown, desc=f"{what} ...", bar_format="{desc}"):
        yield


class _Stderr:
    """`sys.stderr`, whatever it is and becomes: None, closed, a logger, or a pipe without reader.

    Nothing that is shown there is worth a training.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other == sys.stderr  # tqdm.write() clears what is shown there

    def _do(self, what: str, *arguments: Any) -> Any:
        try:
            return getattr(sys.stderr, what)(*arguments)
        except (AttributeError, OSError, ValueError):
            return None

    def write(self, text: str) -> None:
        self._do("write", text)

    def flush(self) -> None:
        self._do("flush")

    def isatty(self) -> bool:
        return bool(self._do("isatty"))


def _bar(shown: bool | None, **options: Any) -> Any:
    stderr = _Stderr()
    is_shown = _is_notebook() or stderr.isatty() if shown is None else shown
    return tqdm(file=stderr, unit_scale=True, disable=not is_shown, leave=False, **options)


def _is_notebook() -> bool:
    if multiprocessing.parent_process() is not None:
        return False  # what a forked child shows would stay in the notebook without an end
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
