"""Record of one training run of `benchmarks.compare`, and records read from results."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

Record = TypeVar("Record")

#: Name of the engine with which all others are compared.
REFERENCE = "gensim corpus_file"


@dataclass(frozen=True)
class Run:
    """Results of one training run. Times are in seconds, memory is in bytes."""

    engine: str  # name of the engine, as shown in tables
    setting: str  # name of the setting, such as "sg100"
    round: int  # index of the round; its runs follow each other directly, and are compared
    seed: int
    raw_words: int  # words of the corpus, including dropped ones
    vocabulary: int
    epochs: int
    import_seconds: float
    vocab_seconds: float  # constructor and `build_vocab`
    train_seconds: float
    process_seconds: float  # from before the interpreter's start until the vectors were ready
    cpu_seconds: float  # user and system time, inside `train`
    peak_bytes: int  # peak resident memory of the process until the vectors were ready
    family_bytes: int = 0  # sampled peak of the process and its children; 0 without children
    bytes_per_token: float | None = None  # network traffic, on a cluster
    #: Spearman correlations and accuracy by set; None where no item is in the vocabulary.
    quality: dict[str, float | None] = field(default_factory=dict)
    #: Numbers of word pairs with a word outside the vocabulary, by set (FastText).
    n_pairs: dict[str, int] = field(default_factory=dict)

    @property
    def words_per_second(self) -> float:
        """Raw words per second inside `train`, as in gensim's log."""
        return self.raw_words * self.epochs / self.train_seconds

    @property
    def text_seconds(self) -> float:
        """Seconds from text to vectors, without imports."""
        return self.vocab_seconds + self.train_seconds

    @property
    def memory_bytes(self) -> int:
        """Peak memory of the process and its children."""
        return max(self.peak_bytes, self.family_bytes)

    def to_json(self) -> dict[str, Any]:
        """Return all fields, and the figures computed from them."""
        return {
            **asdict(self),
            "words_per_second": self.words_per_second,
            "text_seconds": self.text_seconds,
            "memory_bytes": self.memory_bytes,
        }


def read_runs(kind: type[Record], document: Mapping[str, Any]) -> list[Record]:
    """Return the runs of a document as records, without the figures computed from their fields."""
    names = [known.name for known in fields(kind)]  # type: ignore[arg-type]
    return [kind(**{name: run[name] for name in names if name in run}) for run in document["runs"]]
