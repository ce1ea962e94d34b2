"""Progress on a terminal: a line or a bar for each slow phase of a training run."""

import multiprocessing
import sys
from typing import Any

from tqdm.auto import tqdm


def progress_bar(description: str, is_visible: bool | None, **options: Any) -> Any:
    """Return a tqdm bar on stderr: a context manager that removes the bar at the end.

    Parameters
    ----------
    description : str
        Description of the phase.
    is_visible : bool or None
        Show the bar; None shows it on terminals and in notebooks only.
    **options
        Options of tqdm. Without `total`, a counter is shown instead of a bar. tqdm computes the
        rate and the remaining time without the first `initial` steps.
    """
    stderr = _Stderr()
    if is_visible is None:
        is_visible = _is_notebook() or stderr.isatty()
    return tqdm(
        desc=description,
        file=stderr,
        unit_scale=True,
        disable=not is_visible,
        leave=False,
        **options,
    )


def phase(description: str, is_visible: bool | None) -> Any:
    """Return a context manager that shows the description of a phase; see `progress_bar`."""
    return progress_bar(f"{description} ...", is_visible, bar_format="{desc}")


class _Stderr:
    """Stream that writes to the current `sys.stderr`.

    Errors are ignored, because a progress bar must not stop training. So `sys.stderr` may be
    None, closed, a logger, or a pipe without a reader.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def __eq__(self, other: object) -> bool:
        # tqdm.write() clears the bars whose stream equals sys.stderr, so that its text is not mixed
        # with a bar.
        return other is self or other == sys.stderr

    def _call(self, method: str, *arguments: Any) -> Any:
        """Return the result of a method of sys.stderr; None after an error."""
        try:
            return getattr(sys.stderr, method)(*arguments)
        except (AttributeError, OSError, ValueError):
            return None

    def write(self, text: str) -> None:
        self._call("write", text)

    def flush(self) -> None:
        self._call("flush")

    def isatty(self) -> bool:
        return bool(self._call("isatty"))


def _is_notebook() -> bool:
    """Return whether this process runs a notebook."""
    if multiprocessing.parent_process() is not None:
        return False  # the bar of a forked child would remain in the notebook forever
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
