"""Progress on a terminal: a line or a bar for each phase that takes a while."""

import multiprocessing
import sys
from typing import Any

from tqdm.auto import tqdm


def progress_bar(what: str, shown: bool | None, **options: Any) -> Any:
    """Return a tqdm bar on stderr: a context manager that removes the bar at the end.

    Parameters
    ----------
    what : str
        Description of the phase.
    shown : bool or None
        Show the bar; None shows it on terminals and in notebooks only.
    **options
        Options of tqdm. Without `total`, a counter is shown instead of a bar. The first `initial`
        steps do not count for the rate and the remaining time.
    """
    stderr = _Stderr()
    if shown is None:
        shown = _is_notebook() or stderr.isatty()
    return tqdm(desc=what, file=stderr, unit_scale=True, disable=not shown, leave=False, **options)


def phase(what: str, shown: bool | None) -> Any:
    """Return a line with a description of the phase; see `progress_bar`."""
    return progress_bar(f"{what} ...", shown, bar_format="{desc}")


class _Stderr:
    """Current `sys.stderr`, even if it is None, closed, a logger, or a pipe without a reader.

    Errors are ignored: a progress bar must not end a training.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other == sys.stderr  # so that tqdm.write() clears these bars

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
        return False  # the bar of a forked child would stay in the notebook forever
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
