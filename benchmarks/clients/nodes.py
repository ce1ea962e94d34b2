"""Node embeddings: programs that walk over a graph and train on the walks as on sentences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.clients.client import Client, Measured
from benchmarks.clients.graphs import on_graphs

WALKS = 10  # walks per node
LENGTH = 40  # nodes per walk
DIMENSIONS = 32
EPOCHS = 5

ABOUT = f"{WALKS} walks of {LENGTH} nodes from each node, {DIMENSIONS} dimensions, {EPOCHS} epochs"


def _node2vec(graph: Any, word2vec: type, seed: int) -> np.ndarray:
    from node2vec import Node2Vec

    walker = Node2Vec(
        graph, dimensions=DIMENSIONS, walk_length=LENGTH, num_walks=WALKS, seed=seed, quiet=True
    )
    model = walker.fit(window=5, min_count=1, epochs=EPOCHS, seed=seed, workers=1)
    return np.array([model.wv[str(node)] for node in range(len(graph))])


def _fastnode2vec(graph: Any, word2vec: type, seed: int) -> np.ndarray:
    from fastnode2vec import Graph, Node2Vec

    # Node2Vec is a subclass of gensim's class; this class inserts word2vec between the two.
    subclass = type("Node2Vec", (Node2Vec, word2vec), {})
    edges = Graph([(str(a), str(b)) for a, b in graph.edges], directed=False, weighted=False)
    model = subclass(edges, dim=DIMENSIONS, walk_length=LENGTH, window=5)
    # The program's option for a seed is not set: it would repeat the same walks in every batch.
    model.train(epochs=EPOCHS * WALKS, verbose=False)
    return np.array([model.wv[str(node)] for node in range(len(graph))])


def _karate_club(name: str, window: int) -> Callable[[type, int], Measured]:
    def embed(graph: Any, word2vec: type, seed: int) -> np.ndarray:
        import karateclub

        estimator = getattr(karateclub, name)(
            seed=seed,
            window_size=window,
            walk_number=WALKS,
            walk_length=LENGTH,
            dimensions=DIMENSIONS,
            epochs=EPOCHS,
            workers=1,
        )
        estimator.fit(graph)
        return np.asarray(estimator.get_embedding())

    return on_graphs(embed)


_NEIGHBOURHOOD = "karateclub.node_embedding.neighbourhood"

CLIENTS = (
    Client("node2vec", ("node2vec",), ("gensim.models.Word2Vec",), on_graphs(_node2vec), ABOUT),
    Client(
        "fastnode2vec",
        ("fastnode2vec", "networkx"),
        (),
        on_graphs(_fastnode2vec),
        f"{ABOUT}; it overrides gensim's `_do_train_job`, so gensim's code trains both, and "
        "differences are due to chance",
    ),
    Client(
        "karateclub DeepWalk",
        ("karateclub",),
        (f"{_NEIGHBOURHOOD}.deepwalk.Word2Vec",),
        _karate_club("DeepWalk", window=5),
        f"{ABOUT}, CBOW with both objectives, `hs=1` and `negative=5`, its default",
    ),
    Client(
        "karateclub Walklets",
        ("karateclub",),
        (f"{_NEIGHBOURHOOD}.walklets.Word2Vec",),
        _karate_club("Walklets", window=4),
        f"{ABOUT}, CBOW with a window of 1, and a model per distance: on every node of a walk, "
        "every second, third and fourth",
    ),
)
