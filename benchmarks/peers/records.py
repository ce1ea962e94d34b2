"""What a benchmark asks of the tools and what it gets back, as plain data."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Hyperparameters, the same for all tools; the names are gensim's, but for its ``workers``."""

    sg: int = 1
    vector_size: int = 100
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    min_count: int = 5
    alpha: float = 0.025
    epochs: int = 5
    threads: int = 2

    def placeholders(self) -> dict[str, Any]:
        """What a command may ask for."""
        objective = {"cbow": 1 - self.sg, "objective": "sg" if self.sg else "cbow"}
        return {**asdict(self), **objective}


@dataclass(frozen=True)
class Job:
    """One training to be done: by which tool, in which round, with which seed and epochs."""

    peer: str
    round: int
    seed: int
    epochs: int


@dataclass(frozen=True)
class PeerRun:
    """One training, measured from outside. Times in seconds, memory in bytes."""

    peer: str
    round: int  # runs of a round stand near each other in time
    seed: int
    epochs: int
    raw_words: int  # of the corpus, before any is dropped
    wall_seconds: float = 0.0  # of the command, the writing of the vectors included
    cpu_seconds: float = 0.0  # user and system, of the command and all its descendants
    peak_bytes: int = 0  # of these at one time
    train_seconds: float | None = None  # of training alone, where the tool tells
    vocabulary: int = 0  # words in the file of vectors that are in the corpus
    #: Spearman correlations and accuracies; None where no item was in the vocabulary.
    quality: dict[str, float | None] = field(default_factory=dict)
    error: str | None = None  # why it failed; all figures are then 0

    @property
    def words_per_second(self) -> float:
        """Raw words times epochs over the whole time."""
        return self.raw_words * self.epochs / self.wall_seconds

    @property
    def train_words_per_second(self) -> float | None:
        """Raw words times epochs over the time of training alone, where the tool tells."""
        return self.raw_words * self.epochs / self.train_seconds if self.train_seconds else None

    def to_json(self) -> dict[str, Any]:
        """All fields, and the figures computed from them."""
        if self.error is not None:
            return asdict(self)
        return {
            **asdict(self),
            "words_per_second": self.words_per_second,
            "train_words_per_second": self.train_words_per_second,
        }
