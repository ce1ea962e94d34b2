"""Where a training stands: what a checkpoint holds beside the vectors."""

from dataclasses import asdict, dataclass, field
from typing import Any

from gensim_tfw2v.regimes import UnitReport


@dataclass
class Position:
    """What has been trained, of which epoch.

    Attributes
    ----------
    epoch : int
        From 0.
    done : set of int
        Indices of the units of this epoch that have been trained.
    sentences, trained, raw_words : int
        Of these units: sentences, words trained on after subsampling, and words of the text.
    loss, predictions : float
        Of these units: summed loss, and of how many predictions.
    finished : list of (int, int, int)
        Of each epoch before: words trained on, raw words, units.
    mean_losses : list of float
    total_loss : float
        gensim's ``running_training_loss``.
    """

    epoch: int = 0
    done: set[int] = field(default_factory=set)
    sentences: int = 0
    trained: int = 0
    raw_words: int = 0
    loss: float = 0.0
    predictions: float = 0.0
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0

    def add(self, report: UnitReport, in_total: bool) -> None:
        """Count a unit.

        Parameters
        ----------
        in_total : bool
            Whether its loss is that of all its steps, and counts in `total_loss`.
        """
        self.done.add(report.unit.index)
        self.sentences += report.unit.sentences
        self.trained += report.kept
        self.raw_words += report.unit.raw_words
        self.loss += report.loss
        self.total_loss += report.loss if in_total else 0.0
        self.predictions += report.predictions

    @property
    def mean_loss(self) -> float | None:
        """Loss of a prediction of this epoch; None unless it has been computed."""
        return self.loss / self.predictions if self.predictions else None

    def end_epoch(self, raw_words: int) -> tuple[int, int, int]:
        """Go on to the next epoch.

        Parameters
        ----------
        raw_words : int
            Of the text: also those that stand in no unit.

        Returns
        -------
        (int, int, int)
            What `finished` gets.
        """
        self.finished.append((self.trained, raw_words, len(self.done)))
        if self.mean_loss is not None:
            self.mean_losses.append(self.mean_loss)
        self.epoch, self.done = self.epoch + 1, set()
        self.sentences = self.trained = self.raw_words = 0
        self.loss = self.predictions = 0.0
        return self.finished[-1]

    def state(self) -> dict[str, Any]:
        """The same as values that JSON can hold."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Position":
        """From what `state` gave."""
        finished = [(epoch[0], epoch[1], epoch[2]) for epoch in state["finished"]]
        return cls(**state | {"done": set(state["done"]), "finished": finished})
