"""Graphs, and how well vectors of their nodes tell communities and hidden edges."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.clients.client import SECONDS, Measured

#: Share of edges that are hidden from the program, and asked for afterwards.
HIDDEN = 0.2


@dataclass(frozen=True)
class Task:
    """A graph without some of its edges, the same for every run."""

    name: str
    graph: Any  # of networkx; nodes are 0 to n - 1, each with an edge at least
    hidden: np.ndarray  # [n, 2], edges that were taken out
    absent: np.ndarray  # [n, 2], as many that never were there
    labels: np.ndarray | None = None  # [nodes], the community of each

    def scores(self, vectors: np.ndarray) -> dict[str, float]:
        """AUC of hidden edges by cosine, and accuracy of a linear classifier of communities.

        Vectors are [nodes, D].
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        pairs = np.concatenate([self.hidden, self.absent])
        cosines = np.sum(unit[pairs[:, 0]] * unit[pairs[:, 1]], axis=1)
        there = np.arange(len(pairs)) < len(self.hidden)
        scores = {f"{self.name}: AUC of hidden edges": float(roc_auc_score(there, cosines))}
        if self.labels is not None:
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            learner = LogisticRegression(max_iter=1000)
            accuracies = cross_val_score(learner, unit, self.labels, cv=folds)
            scores[f"{self.name}: accuracy of communities"] = float(accuracies.mean())
        return scores


def tasks() -> list[Task]:
    """Two stochastic block models, and the characters of Les Misérables."""
    import networkx as nx

    return [
        _blocks("600 nodes in 6 blocks", 6, 0.06, 0.01),
        _blocks("2,000 nodes in 20 blocks", 20, 0.06, 0.003),
        _task("Les Misérables", nx.les_miserables_graph(), None),
    ]


def _blocks(name: str, blocks: int, within: float, between: float) -> Task:
    import networkx as nx

    chances = np.where(np.eye(blocks), within, between)
    graph = nx.stochastic_block_model([100] * blocks, chances, seed=1)
    return _task(name, graph, np.repeat(np.arange(blocks), 100))


def _task(name: str, graph: Any, labels: np.ndarray | None) -> Task:
    import networkx as nx

    random = np.random.default_rng(1)
    numbered = nx.convert_node_labels_to_integers(graph)
    edges = random.permutation(np.array(list(numbered.edges)))
    kept = nx.Graph()
    kept.add_nodes_from(range(len(numbered)))
    kept.add_edges_from(edges)
    hidden: list[tuple[int, int]] = []
    for start, end in edges.tolist():
        if len(hidden) == int(HIDDEN * len(edges)):
            break
        if kept.degree[start] > 1 and kept.degree[end] > 1:
            kept.remove_edge(start, end)
            hidden.append((start, end))
    none = np.array(list(nx.non_edges(numbered)))
    absent = random.permutation(none)[: len(hidden)]
    return Task(name, kept, np.array(hidden), absent, labels)


def on_graphs(embed: Callable[[Any, type, int], np.ndarray]) -> Callable[[type, int], Measured]:
    """A client's `run`, from a function of graph, class and seed to vectors in the nodes' order."""

    def run(word2vec: type, seed: int) -> Measured:
        scores: dict[str, float] = {}
        for task in tasks():
            graph, began = task.graph.copy(), time.perf_counter()
            vectors = embed(graph, word2vec, seed)
            scores |= {f"{task.name}: {SECONDS}": time.perf_counter() - began}
            scores |= task.scores(vectors)
        return Measured(scores)

    return run
