"""State of a model that copies and files leave out: caches, and the state of running calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gensim_tfw2v.training.corpus_reader import CorpusReader

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher
    from gensim_tfw2v.corpus.text_corpus import Source
    from gensim_tfw2v.files.temporary import TemporaryFolder
    from gensim_tfw2v.options.config import TrainingConfig
    from gensim_tfw2v.training.documents import Tags
    from gensim_tfw2v.training.inference import Frozen
    from gensim_tfw2v.training.session import Training

#: Value of `ModelState.user` during training; differs from every thread id.
TRAINING = -1


@dataclass(eq=False)
class ModelState:
    """Private state of a model: it is never copied, saved or passed on to a different model.

    Attributes
    ----------
    user : int, optional
        `TRAINING`, or the id of the thread that changes the vocabulary: see `claim`. None if the
        model is not in use.
    corpus_reader : CorpusReader
        Reader of the model's corpus. Replacing it frees the encoded corpus.
    new_tags : Tags, optional
        Tags of the documents that are being counted.
    adds_tags : bool
        Whether `build_vocab` adds new tags to the known ones, or replaces them.
    is_new : bool
        Whether the weights are initial ones.
    config : TrainingConfig, optional
        Options of the model, parsed from `option_values`.
    option_values : sequence
        Values of the model's options when they were last parsed.
    training : Training, optional
        The running call of `train`.
    source : iterable or Path, optional
        Corpus of `training`.
    process_launcher : ProcessLauncher, optional
        Launcher of the processes of a local cluster, which start while the corpus is read.
    restored_words : int
        Raw words that the last `train` skipped, because they were trained before its checkpoint.
    logged_until : (int, int)
        Words and epochs up to which TensorBoard logs of this model exist.
    frozen : Frozen, optional
        Arrays and options for inference.
    tables_folder : TemporaryFolder, optional
        Folder with the files that the arrays are mapped from, unless it is `tables_dir`.
    report_delay : float
        Argument of the running `train`. gensim doesn't pass it on if the corpus is a file.
    """

    user: int | None = None
    corpus_reader: CorpusReader = field(default_factory=CorpusReader)
    new_tags: Tags | None = None
    adds_tags: bool = False
    is_new: bool = False
    config: TrainingConfig | None = None
    option_values: Sequence[Any] = ()
    training: Training | None = None
    source: Source | None = None
    process_launcher: ProcessLauncher | None = None
    restored_words: int = 0
    logged_until: tuple[int, int] = (0, 0)
    frozen: Frozen | None = None
    tables_folder: TemporaryFolder | None = None
    report_delay: float = 1.0
