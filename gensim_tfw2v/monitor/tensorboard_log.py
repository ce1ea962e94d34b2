"""Options of the TensorBoard log of a training run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from gensim_tfw2v.messages import quoted, require

#: Default number of vectors in the projector, few enough for a browser to rotate them smoothly.
PROJECTOR_WORDS = 10_000


@dataclass(frozen=True)
class TensorBoardLog:
    """Folder of the TensorBoard log of a training run, and options of what is logged.

    Parameters
    ----------
    folder : str or path
        Folder that TensorBoard shows as a run. Use a separate folder for each training run, below
        the folder that TensorBoard is started on.
    word_pairs : sequence of str or path
        Files of rated word pairs, or names of the sets that `evaluate_pairs` includes
        (``"ws353"``, ``"simlex999"``). The Spearman correlation between the ratings of each set and
        the similarities of the vectors is logged after each epoch.
    probe_words : sequence of str, optional
        Words whose nearest neighbours are logged after each epoch; by default eight words of the
        vocabulary, from frequent to rare.
    projector_words : int, default 10000
        Number of most frequent words shown by the projector, from 0 up; 0 for no projector.
    projector_each_epoch : bool, default False
        Whether the projector's vectors are written after each epoch, rather than only after the
        last one.

    Raises
    ------
    ValueError
        If `folder` is not a path, `projector_words` is below 0, `projector_each_epoch` is not a
        bool, or a sequence of words is a single string.
    EvaluationFileError, OSError
        If a file of word pairs cannot be read.
    """

    folder: str | os.PathLike[str]
    word_pairs: Sequence[str | os.PathLike[str]] = ()
    probe_words: Sequence[str] | None = None
    projector_words: int = PROJECTOR_WORDS
    projector_each_epoch: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | os.PathLike) or not os.fspath(self.folder):
            raise ValueError(f"folder must be the path of a folder, got {quoted(self.folder)}")
        if not isinstance(self.projector_each_epoch, bool):
            raise ValueError(
                "projector_each_epoch must be True or False, got "
                f"{quoted(self.projector_each_epoch)}"
            )
        for name in ("word_pairs", "probe_words"):
            value = getattr(self, name)
            if isinstance(value, str | os.PathLike):
                raise ValueError(
                    f"{name} must be a list, got {quoted(value)}: give [{quoted(value)}]"
                )
        if not isinstance(self.projector_words, Integral) or self.projector_words < 0:
            raise ValueError(
                "projector_words must be a whole number from 0 up, got "
                f"{quoted(self.projector_words)}: 0 writes no projector"
            )
        if not self.word_pairs:
            return
        from gensim_tfw2v.evaluation import NAMED_SETS, read_pairs
        from gensim_tfw2v.evaluation.sets import require_file

        for pairs in self.word_pairs:
            if pairs not in NAMED_SETS:
                require_file(pairs)  # the file is read again after each epoch
                read_pairs(Path(pairs))

    @property
    def path(self) -> str:
        """Absolute path of the folder, for tasks with different working directories."""
        return os.path.abspath(self.folder)


def parse_log(log_dir: "str | os.PathLike[str] | TensorBoardLog") -> TensorBoardLog:
    """Return the options of a log; a model's `log_dir` may be only the folder of the log.

    Raises
    ------
    ValueError
        If `log_dir` is invalid or empty.
    """
    require("log_dir", "tensorboard")
    if isinstance(log_dir, TensorBoardLog):
        return log_dir
    if not isinstance(log_dir, str | os.PathLike) or not os.fspath(log_dir):
        raise ValueError(
            f"log_dir must be the path of a folder or a TensorBoardLog, got {quoted(log_dir)}"
        )
    return TensorBoardLog(log_dir)
