"""Graphs, and scores of node vectors: prediction of communities and of hidden edges."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.clients.client import SECONDS, Measured

#: Fraction of edges that are removed from the graph, to be predicted from the vectors.
HIDDEN_FRACTION = 0.2


@dataclass(frozen=True)
class Task:
    """Graph from which some edges were removed; the same ones in every run."""

    name: str
    graph: Any  # networkx graph; nodes are 0 to n - 1, each with at least one edge
    hidden: np.ndarray  # [h, 2], edges that were removed
    absent: np.ndarray  # [h, 2], pairs of nodes without an edge
    labels: np.ndarray | None = None  # [n], community of each node

    def scores(self, vectors: np.ndarray) -> dict[str, float]:
        """Score the nodes' vectors [n, D].

        The scores are the AUC of hidden edges by the cosine of their nodes, and the cross-validated
        accuracy of a linear classifier of communities.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        pairs = np.concatenate([self.hidden, self.absent])
        cosines = np.sum(unit[pairs[:, 0]] * unit[pairs[:, 1]], axis=1)
        is_hidden = np.arange(len(pairs)) < len(self.hidden)
        scores = {f"{self.name}: AUC of hidden edges": float(roc_auc_score(is_hidden, cosines))}
        if self.labels is not None:
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            learner = LogisticRegression(max_iter=1000)
            accuracies = cross_val_score(learner, unit, self.labels, cv=folds)
            scores[f"{self.name}: accuracy of communities"] = float(accuracies.mean())
        return scores


def tasks() -> list[Task]:
    """Return two stochastic block models, and the graph of Les Misérables' characters."""
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
    integer_graph = nx.convert_node_labels_to_integers(graph)
    edges = random.permutation(np.array(list(integer_graph.edges)))
    reduced_graph = nx.Graph()
    reduced_graph.add_nodes_from(range(len(integer_graph)))
    reduced_graph.add_edges_from(edges)
    hidden: list[tuple[int, int]] = []
    for start, end in edges.tolist():
        if len(hidden) == int(HIDDEN_FRACTION * len(edges)):
            break
        if reduced_graph.degree[start] > 1 and reduced_graph.degree[end] > 1:
            reduced_graph.remove_edge(start, end)
            hidden.append((start, end))
    non_edges = np.array(list(nx.non_edges(integer_graph)))
    absent = random.permutation(non_edges)[: len(hidden)]
    return Task(name, reduced_graph, np.array(hidden), absent, labels)


def on_graphs(embed: Callable[[Any, type, int], np.ndarray]) -> Callable[[type, int], Measured]:
    """Make a client's `run` from `embed`, which maps (graph, class, seed) to vectors by node."""

    def run(word2vec: type, seed: int) -> Measured:
        scores: dict[str, float] = {}
        for task in tasks():
            graph, start = task.graph.copy(), time.perf_counter()
            vectors = embed(graph, word2vec, seed)
            scores |= {f"{task.name}: {SECONDS}": time.perf_counter() - start}
            scores |= task.scores(vectors)
        return Measured(scores)

    return run
