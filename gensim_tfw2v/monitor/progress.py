"""Progress on a terminal: a line or a bar for each phase that takes a while."""

import multiprocessing
import sys
from typing import Any

from tqdm.auto import tqdm


def progress_bar(what: str, shown: bool | None, **options: Any) -> Any:
    """Return a bar of tqdm on stderr, a context manager, which is gone at the end.

    Parameters
    ----------
    what : str
        What is done.
    shown : bool or None
        None shows it on terminals and in notebooks only.
    **options
        tqdm's: without a `total` there is a counter in place of a bar; of those `initial` the rate
        and the time left are without.
    """
    stderr = _Stderr()
    if shown is None:
        shown = _is_notebook() or stderr.isatty()
    return tqdm(desc=what, file=stderr, unit_scale=True, disable=not shown, leave=False, **options)


def phase(what: str, shown: bool | None) -> Any:
    """Return a line that says what is being done, as `progress_bar`."""
    return progress_bar(f"{what} ...", shown, bar_format="{desc}")


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


def _is_notebook() -> bool:
    if multiprocessing.parent_process() is not None:
        return False  # what a forked child shows would stay in the notebook without an end
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
