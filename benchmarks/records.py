"""One training of `benchmarks.compare`, measured."""

from dataclasses import asdict, dataclass, field
from typing import Any

REFERENCE = "gensim corpus_file"


@dataclass(frozen=True)
class Run:
    """One training. Times in seconds, memory in bytes."""

    engine: str  # what trained, as shown in tables
    setting: str  # name of the row of settings, such as "sg100"
    round: int  # runs of a round stand next to each other in time and are compared as a pair
    seed: int
    raw_words: int  # of the corpus, before any is dropped
    vocabulary: int
    epochs: int
    import_seconds: float
    vocab_seconds: float  # in the constructor and `build_vocab`
    train_seconds: float
    process_seconds: float  # from before the interpreter started until the vectors were ready
    cpu_seconds: float  # user and system, inside `train`
    peak_bytes: int  # resident, of the process until the vectors were ready
    family_bytes: int = 0  # of the process while it had children, and of those, as sampled
    bytes_per_token: float | None = None  # that travelled, on a cluster
    #: Spearman correlations and accuracy; None where no item was in the vocabulary.
    quality: dict[str, float | None] = field(default_factory=dict)

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
