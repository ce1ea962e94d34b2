"""A progress bar with words a second and the time left."""

import sys
from typing import Any

from tqdm.auto import tqdm


def progress_bar(total_words: int, shown: bool | None) -> Any:
    """A bar over the raw words of all epochs.

    Parameters
    ----------
    total_words : int
        Raw words of all epochs.
    shown : bool or None
        None shows it on terminals and in notebooks only.
    """
    return tqdm(
        total=total_words,
        unit="words",
        unit_scale=True,
        desc="training",
        smoothing=0.1,
        disable=not (_is_notebook() or sys.stderr.isatty()) if shown is None else not shown,
        leave=False,
    )


def _is_notebook() -> bool:
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False
