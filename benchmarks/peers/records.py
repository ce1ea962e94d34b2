"""Settings, jobs and results of the comparison of tools."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of all tools. Their names are gensim's, except `threads`."""

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
        """Values of the placeholders that a command may contain."""
        objective = {"cbow": 1 - self.sg, "objective": "sg" if self.sg else "cbow"}
        return {**asdict(self), **objective}


@dataclass(frozen=True)
class Job:
    """Planned training run: its tool, round, seed and number of epochs."""

    peer: str
    round: int
    seed: int
    epochs: int


@dataclass(frozen=True)
class PeerRun:
    """Results of a training run, measured from outside. Times are in seconds, memory in bytes."""

    peer: str
    round: int  # index of the round; its runs follow each other directly
    seed: int
    epochs: int
    raw_words: int  # words of the corpus, including dropped ones
    wall_seconds: float = 0.0  # whole command, including writing the vectors
    cpu_seconds: float = 0.0  # user and system time of the command and all its descendants
    peak_bytes: int = 0  # peak memory of the command and its descendants
    train_seconds: float | None = None  # only training, if the tool reports it
    vocabulary: int = 0  # number of words that have a vector and occur in the corpus
    #: Spearman correlations and accuracies by set; None where no item is in the vocabulary.
    quality: dict[str, float | None] = field(default_factory=dict)
    error: str | None = None  # reason of a failure; all figures are then 0

    @property
    def words_per_second(self) -> float:
        """Raw words times epochs, divided by the total time."""
        return self.raw_words * self.epochs / self.wall_seconds

    @property
    def train_words_per_second(self) -> float | None:
        """Raw words times epochs, divided by the training time, if the tool reports it."""
        return self.raw_words * self.epochs / self.train_seconds if self.train_seconds else None

    def to_json(self) -> dict[str, Any]:
        """Return all fields, and the figures computed from them."""
        if self.error is not None:
            return asdict(self)
        return {
            **asdict(self),
            "words_per_second": self.words_per_second,
            "train_words_per_second": self.train_words_per_second,
        }
