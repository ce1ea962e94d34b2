"""Cells of the grid: each is a combination of a corpus and options."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.options.corpora import CORPORA

#: Options of gensim's classes by objective; the class is FastText if the name starts with it.
OBJECTIVES: dict[str, dict[str, Any]] = {
    "skip-gram": {"sg": 1},
    "CBOW": {"sg": 0},
    "skip-gram hs": {"sg": 1, "hs": 1, "negative": 0},
    "CBOW hs": {"sg": 0, "hs": 1, "negative": 0},
    "FastText skip-gram": {"sg": 1, "bucket": 20_000},
    "FastText CBOW": {"sg": 0, "bucket": 20_000},
}

#: Values of each option that varies; the first is gensim's default.
AXES: dict[str, tuple[Any, ...]] = {
    "window": (5, 1, 2, 8, 10, 15, 20, 50, 100, 500),
    "negative": (5, 1, 2, 10, 15, 20, 30, 40),
    "alpha": (0.025, 0.005, 0.01, 0.05, 0.1, 0.2),
    "vector_size": (100, 2, 10, 50, 300, 600),
    "sample": (1e-3, 0, 1e-2, 1e-4, 1e-5),
}

#: Number of random cells by corpus and objective. It is larger where training is cheap.
N_RANDOM_CELLS: dict[str, dict[str, int]] = {
    "lee": dict(zip(OBJECTIVES, (34, 22, 12, 10, 10, 10), strict=True)),
    "words": dict(zip(OBJECTIVES, (18, 12, 5, 5, 4, 4), strict=True)),
    "text": dict(zip(OBJECTIVES, (4, 3, 1, 1, 0, 0), strict=True)),
    "baskets": dict(zip(OBJECTIVES, (18, 12, 5, 5, 4, 4), strict=True)),
    "walks": dict(zip(OBJECTIVES, (18, 12, 5, 5, 4, 4), strict=True)),
    "ten words": dict(zip(OBJECTIVES, (14, 10, 4, 4, 3, 3), strict=True)),
}

#: Cells that failed in the past. They are part of every grid.
PAST_FAILURES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("lee", "skip-gram", {"window": 10, "negative": 20}),
    ("lee", "skip-gram", {"window": 20, "negative": 10}),
    ("lee", "skip-gram", {"negative": 20, "alpha": 0.05}),
    ("lee", "skip-gram", {"negative": 20}),
    ("lee", "skip-gram", {"window": 300}),
    ("lee", "skip-gram", {"window": 100}),
    ("lee", "skip-gram", {"window": 10, "negative": 10}),
    ("lee", "CBOW", {"negative": 40, "alpha": 0.2}),
    ("lee", "CBOW", {"window": 500}),
    ("lee", "FastText skip-gram", {"window": 20, "negative": 20}),
    ("words", "skip-gram", {"window": 10, "negative": 20}),
    ("words", "skip-gram", {"window": 10}),
    ("words", "skip-gram", {"window": 5, "negative": 30}),
    ("words", "skip-gram", {"window": 20, "negative": 10}),
    ("baskets", "skip-gram", {"window": 100, "negative": 20, "vector_size": 50}),
)


@dataclass(frozen=True)
class Cell:
    """Cell of the grid: a corpus, an objective, and a value for each axis."""

    corpus: str
    objective: str
    window: int = 5
    negative: int = 5
    alpha: float = 0.025
    vector_size: int = 100
    sample: float = 1e-3
    draw: int = 0  # index in the grid

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of the constructors of both classes, gensim's and this package's."""
        axes = {name: getattr(self, name) for name in AXES}
        corpus = CORPORA[self.corpus]
        return {
            **axes,
            "min_count": corpus.min_count,
            "epochs": corpus.epochs,
            **OBJECTIVES[self.objective],
        }

    @property
    def is_fasttext(self) -> bool:
        """Return whether the class is FastText."""
        return self.objective.startswith("FastText")

    @property
    def cost(self) -> float:
        """Approximate number of multiplications of one training run by gensim."""
        corpus = CORPORA[self.corpus]
        pairs = 1 + min(self.window, corpus.sentence) if "skip-gram" in self.objective else 2
        draws = 16 if "hs" in self.objective else 1 + self.negative
        rows = 2 if self.is_fasttext else 1
        # CBOW also sums the context words of each prediction.
        n_summed_words = 0 if pairs > 2 else min(self.window, corpus.sentence)
        return (
            corpus.words
            * corpus.epochs
            * self.vector_size
            * rows
            * (pairs * draws + n_summed_words)
        )

    @property
    def untrained_loss(self) -> float:
        """Loss per prediction of zero vectors, in nats.

        With hierarchical softmax, a word's path is assumed to have 20 nodes.
        """
        return math.log(2) * (20 if "hs" in self.objective else 1 + self.negative)

    @property
    def name(self) -> str:
        """Unique name, made of all fields except `draw`."""
        axes = " ".join(f"{name}={getattr(self, name):g}" for name in AXES)
        return f"{self.corpus}, {self.objective}, {axes}"


def draw_cells() -> list[Cell]:
    """Draw the grid: the cells of `PAST_FAILURES`, then random ones in random order."""
    known_cells = [
        Cell(corpus, objective, **options) for corpus, objective, options in PAST_FAILURES
    ]
    cells = {cell.name: cell for cell in known_cells}
    drawn_cells = [
        cell
        for corpus, counts in N_RANDOM_CELLS.items()
        for objective, n_cells in counts.items()
        for cell in _random_cells(corpus, objective, n_cells, set(cells))
    ]
    random.Random(7).shuffle(drawn_cells)
    return [replace(cell, draw=draw) for draw, cell in enumerate([*known_cells, *drawn_cells])]


def _random_cells(corpus: str, objective: str, n_cells: int, names: set[str]) -> Iterator[Cell]:
    """Yield random cells, whose names are not in `names`; names of new cells are added to it.

    Each option has its default with probability 0.4.
    """
    chance = random.Random(f"{corpus} {objective}")
    while n_cells:
        values = {
            name: axis[0] if chance.random() < 0.4 else chance.choice(axis[1:])
            for name, axis in AXES.items()
        }
        if "hs" in objective:
            values["negative"] = AXES["negative"][0]
        cell = Cell(corpus, objective, **values)
        if cell.cost > CORPORA[corpus].dearest or cell.name in names:
            continue
        names.add(cell.name)
        n_cells -= 1
        yield cell
