"""What a client is, and how a class takes the place of another in it."""

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

#: The other words that are most similar to each of some words.
Neighbours = dict[str, list[str]]

#: How the names of scores end that are times.
SECONDS = "seconds"


@dataclass(frozen=True)
class Measured:
    """What one run of a client gave: scores by name, and what has no score of its own.

    Neighbours are there where nothing is known to score vectors by: they are compared with those
    of gensim's runs.
    """

    scores: dict[str, float]
    neighbours: Neighbours = field(default_factory=dict)


@dataclass(frozen=True)
class Client:
    """A program that uses gensim's Word2Vec."""

    name: str  # as shown in tables
    packages: tuple[str, ...]  # what has to be installed, as pip calls it
    targets: tuple[str, ...]  # where it finds gensim's class: "package.module.name"
    run: Callable[[type, int], Measured]  # run it with a class and a seed
    about: str  # the task, in a sentence

    def measure(self, word2vec: type, seed: int) -> Measured:
        """Run it with this class."""
        random.seed(seed)  # programs that have no seed of their own
        np.random.seed(seed)
        with replaced(self.targets, word2vec):
            return self.run(word2vec, seed)


@contextlib.contextmanager
def replaced(targets: Sequence[str], value: object) -> Iterator[None]:
    """Within it, each of the targets, ``package.module.name``, is `value`."""
    with contextlib.ExitStack() as stack:
        for target in targets:
            stack.enter_context(mock.patch(target, value))
        yield


def agreement(own: Neighbours, others: Sequence[Neighbours]) -> float:
    """Share of neighbours that others have too, the mean over words and others."""
    shares = [
        len(set(own[word]) & set(other[word])) / len(own[word])
        for other in others
        for word in own.keys() & other.keys()
    ]
    return float(np.mean(shares))


def with_agreement(
    name: str, runs: Mapping[int, Measured], reference: Mapping[int, Measured]
) -> dict[int, dict[str, float]]:
    """The scores of each seed's run, and its agreement with gensim's runs of all other seeds."""
    scores = {seed: dict(run.scores) for seed, run in runs.items()}
    for seed, run in runs.items():
        others = [other.neighbours for at, other in reference.items() if at != seed]
        if run.neighbours and others:
            scores[seed][name] = agreement(run.neighbours, others)
    return scores


def nearest(vectors: Any, words: Sequence[str], count: int = 10) -> Neighbours:
    """The nearest neighbours of words in gensim's `KeyedVectors`."""
    return {word: [other for other, _ in vectors.most_similar(word, topn=count)] for word in words}
