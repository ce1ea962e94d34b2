"""Corpora of the grid: one file each, one sentence per line."""

import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from gensim.test.utils import datapath


@dataclass(frozen=True)
class Corpus:
    """Size of a corpus, and options for training on it."""

    words: int  # words of an epoch, approximately
    sentence: int  # words per sentence, approximately
    epochs: int
    min_count: int
    dearest: float  # maximum `Cell.cost` of random cells
    seeds: int = 2  # number of training runs per class, whose means are compared


CORPORA = {
    "lee": Corpus(60_000, 150, 2, 5, 2e10),
    "words": Corpus(1_200_000, 90, 1, 5, 3e10),
    "text": Corpus(17_000_000, 90, 1, 5, 8e10),
    "baskets": Corpus(30_000, 30, 5, 1, 2e10),
    "walks": Corpus(80_000, 40, 2, 1, 2e10),
    "ten words": Corpus(20_000, 20, 2, 1, 2e9, seeds=12),
}


def write_corpora(text: Path | None, folder: Path) -> dict[str, Path]:
    """Write each corpus to a file in a folder; return the files by name.

    `text` contains a million words or more, one paragraph per line. The corpora "text" and "words"
    are made from it; without it, they are left out.
    """
    corpora = {"baskets": _baskets(), "walks": _walks(), "ten words": _ten_words()}
    for name, sentences in corpora.items():
        (folder / name).write_text("\n".join(map(" ".join, sentences)) + "\n", encoding="utf-8")
    shutil.copy(datapath("lee_background.cor"), folder / "lee")
    files = {name: folder / name for name in (*corpora, "lee")}
    if text is not None:
        files["text"] = text
        files["words"] = folder / "words"
        n_sentences = CORPORA["words"].words // CORPORA["words"].sentence
        with text.open(encoding="utf-8") as lines:
            files["words"].write_text("".join(islice(lines, n_sentences)), encoding="utf-8")
    return files


def _baskets() -> list[list[str]]:
    """Return 1,000 baskets of 30 items out of 1,200.

    Items belong to 24 departments; most items of a basket are of the same department.
    """
    random = np.random.default_rng(1)
    popular = 1 / np.arange(1, 1201) ** 0.8
    baskets = []
    for _ in range(1000):
        popularity = np.where(np.arange(1200) % 24 == random.integers(24), 30.0, 1.0) * popular
        baskets.append(
            [f"item{i}" for i in random.choice(1200, 30, p=popularity / popularity.sum())]
        )
    return baskets


def _walks() -> list[list[str]]:
    """Return walks of 40 nodes, four from each of 500 nodes of a graph with ten communities."""
    random = np.random.default_rng(2)
    edges: list[list[int]] = [[] for _ in range(500)]
    for node in range(500):
        for _ in range(4):
            is_near = random.random() < 0.85
            neighbour = (
                int(random.integers(50)) * 10 + node % 10 if is_near else int(random.integers(500))
            )
            edges[node].append(neighbour)
            edges[neighbour].append(node)
    walks = []
    for node in random.permutation(np.repeat(np.arange(500), 4)):
        walk = [int(node)]
        while len(walk) < 40:
            walk.append(edges[walk[-1]][random.integers(len(edges[walk[-1]]))])
        walks.append([f"node{step}" for step in walk])
    return walks


def _ten_words() -> list[list[str]]:
    """Return 1,000 sentences of 20 words from a vocabulary of ten, mostly in cyclic order."""
    random = np.random.default_rng(3)
    sentences = []
    for _ in range(1000):
        steps = np.where(random.random(20) < 0.6, 1, random.integers(10, size=20))
        sentences.append([f"word{i}" for i in np.cumsum(steps) % 10])
    return sentences
