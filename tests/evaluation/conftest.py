import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath


@pytest.fixture(scope="session")
def lee():
    """Vectors of 1,700 words."""
    model = Word2Vec(
        corpus_file=datapath("lee_background.cor"), vector_size=20, epochs=3, workers=1, seed=3
    )
    return model.wv


@pytest.fixture(scope="session")
def random_vectors():
    """Random vectors of the words of the analogy questions, the first half of them lower case."""
    with open(datapath("questions-words.txt"), encoding="utf-8") as file:
        words = sorted({w for line in file if not line.startswith(":") for w in line.split()})
    cut = len(words) // 2
    vectors = KeyedVectors(10)
    keys = list(dict.fromkeys([w.lower() for w in words[:cut]] + words[cut:]))
    vectors.add_vectors(keys, np.random.default_rng(5).normal(size=(len(keys), 10)))
    return vectors


def keyed(vectors):
    """Make KeyedVectors of ``{word: vector}``."""
    made = KeyedVectors(len(next(iter(vectors.values()))))
    made.add_vectors(list(vectors), np.array(list(vectors.values()), dtype=np.float32))
    return made


@pytest.fixture(name="keyed")
def keyed_function():
    return keyed
