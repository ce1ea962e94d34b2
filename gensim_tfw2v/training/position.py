"""Where a training stands: what a checkpoint holds beside the vectors."""

import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.kernel.task import UnitReport


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
        self._begin_epoch(self.epoch + 1)
        return self.finished[-1]

    def end_all_epochs(self, epochs: int, raw_words: int) -> None:
        """Go to the end of an epoch that was all of them, as if it had been each."""
        trained, units = self.trained, len(self.done)
        self.finished = [
            (trained * (e + 1) // epochs - trained * e // epochs, raw_words, units)
            for e in range(epochs)
        ]
        self.mean_losses = [] if self.mean_loss is None else [self.mean_loss]
        self._begin_epoch(epochs)

    def _begin_epoch(self, epoch: int) -> None:
        self.epoch, self.done = epoch, set()
        self.sentences = self.trained = self.raw_words = 0
        self.loss = self.predictions = 0.0

    def state(self) -> dict[str, Any]:
        """The same as values that JSON can hold."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: Any, epochs: int, units: Iterable[WorkUnit] | None = None) -> "Position":
        """From what `state` gave.

        Parameters
        ----------
        epochs : int
            Of the training.
        units : iterable of WorkUnit, optional
            Of an epoch. Without, what is done of it may be units of any kind.

        Raises
        ------
        ValueError
            If it is no state of such a training.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(state, dict) or set(state) != names:
            raise ValueError(f"the state is {_short(state)}: it has to hold {sorted(names)}")
        for name in ("epoch", "sentences", "trained", "raw_words"):
            _check(name, _is_count(state[name]), state)
        for name in ("loss", "predictions", "total_loss"):
            _check(name, _is_number(state[name]), state)
        for name, fits in (
            ("done", _is_count),
            ("finished", lambda ended: _is_list(ended, _is_count) and len(ended) == 3),
            ("mean_losses", _is_number),
        ):
            _check(name, _is_list(state[name], fits), state)
        epoch, done = state["epoch"], set(state["done"])
        _check("epoch", epoch <= epochs, state, f"there are {epochs}")
        _check("finished", len(state["finished"]) == epoch, state, f"epoch is {epoch}")
        _check("mean_losses", len(state["mean_losses"]) <= epoch, state, f"epoch is {epoch}")
        _check("done", len(done) == len(state["done"]), state, "some are there twice")
        _check("done", epoch < epochs or not done, state, "all epochs have ended")
        _check("trained", state["trained"] <= state["raw_words"], state, "there are fewer words")
        if units is not None:
            of_index = {unit.index: unit for unit in units}
            _check("done", done <= set(of_index), state, f"there are {len(of_index)} units")
            for name in ("sentences", "raw_words"):
                counted = sum(getattr(of_index[index], name) for index in done)
                _check(name, state[name] == counted, state, f"these units have {counted}")
        finished = [(ended[0], ended[1], ended[2]) for ended in state["finished"]]
        return cls(**state | {"done": done, "finished": finished})


def _check(name: str, fits: bool, state: dict[str, Any], reason: str = "of another type") -> None:
    if not fits:
        raise ValueError(f"the state's {name} is {_short(state[name])}: {reason}")


def _short(value: Any) -> str:
    return textwrap.shorten(repr(value), 60)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))
