"""What a benchmark asks of one training and what it gets back, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

REFERENCE = "gensim corpus_file"


@dataclass(frozen=True)
class Task:
    """One training for a fresh process.

    Parameters
    ----------
    engine : str
        Name of the engine, as shown in tables.
    target : str
        The class to train, as ``module:Class``.
    from_file : bool
        Give the corpus as ``corpus_file``; otherwise as a `LineSentence`.
    setting : str
        Name of the row of settings, such as ``sg100``.
    round : int
        Runs of the same round stand next to each other in time and are compared as a pair.
    corpus : str
        Path of the text, one sentence a line.
    options : dict
        Keyword arguments of the constructor, the same for all engines.
    pairs : dict of str to str
        Further word-pair files, by name; tab separated.
    quality : bool
        Evaluate the vectors.
    cores : int or None
        Bind the process to that many cores, so that no engine uses more than another.
    started : float
        `time.time()` just before the process was started.
    kernel : str or None
        The variant of the compiled kernels, by default the processor's best.
    """

    engine: str
    target: str
    from_file: bool
    setting: str
    round: int
    corpus: str
    options: dict[str, Any]
    pairs: dict[str, str] = field(default_factory=dict)
    quality: bool = True
    cores: int | None = None
    started: float = 0.0
    kernel: str | None = None


@dataclass(frozen=True)
class Run:
    """One training, measured. Times in seconds, memory in bytes.

    Parameters
    ----------
    engine, setting, round, seed
        Which run this is; see `Task`.
    raw_words : int
        Words of the corpus, before any is dropped.
    vocabulary : int
        Words in the vocabulary.
    epochs : int
        Passes over the corpus.
    import_seconds, vocab_seconds, train_seconds : float
        Importing the class, `build_vocab` with the constructor, and `train`.
    process_seconds : float
        From before the interpreter started until the vectors were ready.
    cpu_seconds : float
        Processor time, user and system, spent inside `train`.
    peak_bytes : int
        Largest resident memory of the process until the vectors were ready.
    family_bytes : int
        Largest memory, in samples, of the process while it had children, and of those.
    quality : dict of str to (float or None)
        Spearman correlations and accuracy; None where no item was in the vocabulary.
    """

    engine: str
    setting: str
    round: int
    seed: int
    raw_words: int
    vocabulary: int
    epochs: int
    import_seconds: float
    vocab_seconds: float
    train_seconds: float
    process_seconds: float
    cpu_seconds: float
    peak_bytes: int
    quality: dict[str, float | None]
    family_bytes: int = 0

    @property
    def words_per_second(self) -> float:
        """Raw words a second inside `train`, as gensim's log counts them."""
        return self.raw_words * self.epochs / self.train_seconds

    @property
    def text_seconds(self) -> float:
        """Time from text to vectors, imports left out."""
        return self.vocab_seconds + self.train_seconds

    @property
    def memory_bytes(self) -> int:
        """Peak of the process and its children."""
        return max(self.peak_bytes, self.family_bytes)

    def to_json(self) -> dict[str, Any]:
        """All fields, and the figures computed from them."""
        return {
            **asdict(self),
            "words_per_second": self.words_per_second,
            "text_seconds": self.text_seconds,
            "memory_bytes": self.memory_bytes,
        }
