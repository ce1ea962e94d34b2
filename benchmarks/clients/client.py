"""Clients: third-party programs, in which gensim's class can be replaced by ours."""

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

    A client without a score of its vectors sets their nearest neighbours instead. These are
    compared with the neighbours of gensim's runs.
    """

    scores: dict[str, float]
    neighbours: Neighbours = field(default_factory=dict)


@dataclass(frozen=True)
class Client:
    """A program that uses gensim's Word2Vec."""

    name: str  # as shown in tables
    packages: tuple[str, ...]  # required packages, by their names in pip
    targets: tuple[str, ...]  # where the program refers to gensim's class: "package.module.name"
    run: Callable[[type, int], Measured]  # runs the program with a class and a seed
    about: str  # description of the task

    def measure(self, word2vec: type, seed: int) -> Measured:
        """Run the client with this class."""
        random.seed(seed)  # for programs without a seed option
        np.random.seed(seed)
        with replace_classes(self.targets, word2vec):
            return self.run(word2vec, seed)


@contextlib.contextmanager
def replace_classes(targets: Sequence[str], value: object) -> Iterator[None]:
    """Replace each target, ``package.module.name``, by `value` within the context."""
    with contextlib.ExitStack() as stack:
        for target in targets:
            stack.enter_context(mock.patch(target, value))
        yield


def agreement(neighbours: Neighbours, other_runs: Sequence[Neighbours]) -> float:
    """Return the mean fraction of a word's neighbours that a run of `other_runs` has, too."""
    shares = [
        len(set(neighbours[word]) & set(other_neighbours[word])) / len(neighbours[word])
        for other_neighbours in other_runs
        for word in neighbours.keys() & other_neighbours.keys()
    ]
    return float(np.mean(shares))


def with_agreement(
    name: str, runs: Mapping[int, Measured], reference: Mapping[int, Measured]
) -> dict[int, dict[str, float]]:
    """Return the scores by seed, with the agreement of neighbours as the score `name`.

    A run is compared with the `reference` runs, which are gensim's, of all other seeds.
    """
    scores = {seed: dict(run.scores) for seed, run in runs.items()}
    for seed, run in runs.items():
        other_runs = [
            other_run.neighbours
            for other_seed, other_run in reference.items()
            if other_seed != seed
        ]
        if run.neighbours and other_runs:
            scores[seed][name] = agreement(run.neighbours, other_runs)
    return scores


def nearest(vectors: Any, words: Sequence[str], count: int = 10) -> Neighbours:
    """Return the nearest neighbours of words in gensim's `KeyedVectors`."""
    return {
        word: [neighbour for neighbour, _ in vectors.most_similar(word, topn=count)]
        for word in words
    }
