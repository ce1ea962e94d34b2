"""Clients, which are third-party programs, and replacement of a class in them."""

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

#: Nearest neighbours of some words, {word: [neighbour, ...]}.
Neighbours = dict[str, list[str]]

#: Suffix of the names of scores that are times.
SECONDS = "seconds"


@dataclass(frozen=True)
class Measured:
    """Results of one run of a client: scores by name, and neighbours.

    Neighbours are set if no score of the vectors themselves is known; they are compared with the
    neighbours of gensim's runs.
    """

    scores: dict[str, float]
    neighbours: Neighbours = field(default_factory=dict)


@dataclass(frozen=True)
class Client:
    """A program that uses gensim's Word2Vec."""

    name: str  # as shown in tables
    packages: tuple[str, ...]  # required packages, by their names in pip
    targets: tuple[str, ...]  # names that it uses for gensim's class: "package.module.name"
    run: Callable[[type, int], Measured]  # function of a class and a seed
    about: str  # description of the task

    def measure(self, word2vec: type, seed: int) -> Measured:
        """Run the client with this class."""
        random.seed(seed)  # for programs without a seed option
        np.random.seed(seed)
        with replaced(self.targets, word2vec):
            return self.run(word2vec, seed)


@contextlib.contextmanager
def replaced(targets: Sequence[str], value: object) -> Iterator[None]:
    """Replace each target, ``package.module.name``, by `value` within the context."""
    with contextlib.ExitStack() as stack:
        for target in targets:
            stack.enter_context(mock.patch(target, value))
        yield


def agreement(own: Neighbours, others: Sequence[Neighbours]) -> float:
    """Return the fraction of neighbours that are in `others` too, mean over words and `others`."""
    shares = [
        len(set(own[word]) & set(other[word])) / len(own[word])
        for other in others
        for word in own.keys() & other.keys()
    ]
    return float(np.mean(shares))


def with_agreement(
    name: str, runs: Mapping[int, Measured], reference: Mapping[int, Measured]
) -> dict[int, dict[str, float]]:
    """Return each seed's scores, with its agreement with gensim's runs of the other seeds."""
    scores = {seed: dict(run.scores) for seed, run in runs.items()}
    for seed, run in runs.items():
        others = [other.neighbours for at, other in reference.items() if at != seed]
        if run.neighbours and others:
            scores[seed][name] = agreement(run.neighbours, others)
    return scores


def nearest(vectors: Any, words: Sequence[str], count: int = 10) -> Neighbours:
    """Return the nearest neighbours of words in gensim's `KeyedVectors`."""
    return {word: [other for other, _ in vectors.most_similar(word, topn=count)] for word in words}
