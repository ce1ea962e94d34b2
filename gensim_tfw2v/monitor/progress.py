"""What is shown of a training on a terminal: a line or a bar for each thing that takes a while."""

import contextlib
import multiprocessing
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

if TYPE_CHECKING:  # commands show that they load, before they do
    from gensim_tfw2v.corpus.shards import Progress
    from gensim_tfw2v.corpus.texts import Extent


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
    return tqdm(
        total=total_words,
        initial=done,
        unit="words",
        unit_scale=True,
        desc="training",
        smoothing=0.1,
        disable=not _is_shown(shown),
        leave=False,
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
    with tqdm(
        total=extent.total,
        unit=extent.unit,
        unit_scale=True,
        desc=what,
        disable=not _is_shown(shown),
        leave=False,
    ) as bar:
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
    with tqdm(desc=f"{what} ...", bar_format="{desc}", disable=not _is_shown(shown), leave=False):
        yield


def _is_shown(shown: bool | None) -> bool:
    return _is_notebook() or sys.stderr.isatty() if shown is None else shown


def _is_notebook() -> bool:
    if multiprocessing.parent_process() is not None:
        return False  # what a forked child shows would stay in the notebook without an end
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
