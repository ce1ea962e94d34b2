"""Where a training stands: what a checkpoint holds beside the vectors."""

import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from gensim_tfw2v.corpus.units import WorkUnit
from gensim_tfw2v.kernel.task import UnitReport


@dataclass
class Position:
    """Progress of a training: its epoch, and what has been trained of it."""

    epoch: int = 0
    done: set[int] = field(default_factory=set)  # indices of this epoch's units that are trained
    sentences: int = 0  # this and the next four: of these units
    trained: int = 0  # words, after subsampling
    raw_words: int = 0  # words of the text
    loss: float = 0.0  # summed
    predictions: float = 0.0  # whose loss that is
    #: Words trained on, raw words and units of each epoch before.
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    mean_losses: list[float] = field(default_factory=list)
    total_loss: float = 0.0  # gensim's `running_training_loss`

    def add(self, report: UnitReport, in_total: bool) -> None:
        """Count a unit; its loss in `total_loss` too, if it is that of all its steps."""
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

    def end_epochs(self, number: int, raw_words: int) -> None:
        """Go on after so many epochs that were trained as one, as if it had been each.

        `raw_words` are those of the text, also those that stand in no unit.
        """
        trained, units = self.trained, len(self.done)
        self.finished += [
            (trained * (e + 1) // number - trained * e // number, raw_words, units)
            for e in range(number)
        ]
        if self.mean_loss is not None:
            self.mean_losses.append(self.mean_loss)
        self.epoch, self.done = self.epoch + number, set()
        self.sentences = self.trained = self.raw_words = 0
        self.loss = self.predictions = 0.0

    def state(self) -> dict[str, Any]:
        """The same as values that JSON can hold."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, state: Any, epochs: int, units: Iterable[WorkUnit] | None = None) -> "Position":
        """Make one of what `state` gave, in a training of so many epochs of these units.

        Without `units`, what is done may be units of any kind, and words may be of several
        sub-models' samples.

        Raises
        ------
        ValueError
            If it is no state of such a training.
        """
        if not isinstance(state, dict) or set(state) != set(_FITS):
            raise ValueError(f"the state is {_short(state)}: it has to hold {sorted(_FITS)}")

        def check(name: str, fits: bool, reason: str = "of another type") -> None:
            if not fits:
                raise ValueError(f"the state's {name} is {_short(state[name])}: {reason}")

        for name, fits in _FITS.items():
            check(name, fits(state[name]))
        epoch, done = state["epoch"], set(state["done"])
        check("epoch", epoch <= epochs, f"there are {epochs}")
        check("finished", len(state["finished"]) == epoch, f"epoch is {epoch}")
        check("mean_losses", len(state["mean_losses"]) <= epoch, f"epoch is {epoch}")
        check("done", len(done) == len(state["done"]), "some are there twice")
        check("done", epoch < epochs or not done, "all epochs have ended")
        if units is not None:
            check("trained", state["trained"] <= state["raw_words"], "there are fewer words")
            of_index = {unit.index: unit for unit in units}
            check("done", done <= set(of_index), f"there are {len(of_index)} units")
            for name in ("sentences", "raw_words"):
                counted = sum(getattr(of_index[index], name) for index in done)
                check(name, state[name] == counted, f"these units have {counted}")
        finished = [tuple(ended) for ended in state["finished"]]
        return cls(**state | {"done": done, "finished": finished})


def _short(value: Any) -> str:
    return textwrap.shorten(repr(value), 60)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _lists(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


#: What the values of a state have to be.
_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("epoch", "sentences", "trained", "raw_words"), _is_count),
    **dict.fromkeys(("loss", "predictions", "total_loss"), _is_number),
    "done": _lists(_is_count),
    "finished": _lists(lambda ended: _lists(_is_count)(ended) and len(ended) == 3),
    "mean_losses": _lists(_is_number),
}
