"""What ``tfw2v train`` is told of TensorBoard's log."""

from __future__ import annotations

from typing import Any

from gensim_tfw2v.cli.failures import BadInput, one_line


def set_log(options: dict[str, Any]) -> None:
    """Put a `TensorBoardLog` in place of the options for it, if they name a folder.

    Raises
    ------
    BadInput
        If there are such options and no folder, or a file of word pairs cannot be read.
    """
    folder = options.pop("log_dir")
    given = {
        "word_pairs": options.pop("log_pairs"),
        "probe_words": options.pop("log_words"),
        "projector_words": options.pop("projector_words"),
        "projector_each_epoch": options.pop("projector_each_epoch") or None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if folder is None:
        if given:
            raise BadInput("what is to be logged for TensorBoard needs a folder: give --log-dir")
        return

    from gensim_tfw2v.evaluation import EvaluationFileError
    from gensim_tfw2v.monitor.options import TensorBoardLog

    try:
        options["log_dir"] = TensorBoardLog(folder, **given)
    except (EvaluationFileError, OSError) as error:
        raise BadInput(f"--log-pairs: {one_line(error)}") from error
