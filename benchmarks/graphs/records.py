"""Graphs to learn, settings, and results of the comparison of node2vec tools."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of all tools; the defaults are those of the node2vec paper."""

    num_walks: int = 10  # walks per node and epoch
    walk_length: int = 80
    vector_size: int = 128
    window: int = 10
    epochs: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Task:
    """A graph, the labels of its nodes, and the walks' parameters p and q."""

    edges: Path  # two nodes per line, and a weight if edges have weights, separated by tabs
    labels: Path  # a node and one of its labels per line, separated by tabs
    p: float
    q: float

    @property
    def name(self) -> str:
        """Name of the graph with p and q, as tables show it."""
        return f"{self.edges.name.partition('.')[0]}, p={self.p:g}, q={self.q:g}"

    def describe(self) -> dict[str, Any]:
        """Return the graph's numbers of edges and nodes, and whether edges have weights."""
        nodes: set[str] = set()
        n_edges, n_columns = 0, 2
        with self.edges.open(encoding="utf-8") as lines:
            for line in lines:
                columns = line.split()
                nodes.update(columns[:2])
                n_columns = len(columns)
                n_edges += 1
        return {"nodes": len(nodes), "edges": n_edges, "weighted": n_columns == 3}


@dataclass(frozen=True)
class GraphRun:
    """Results of a training run, measured from outside. Times are in seconds, memory in bytes."""

    tool: str
    task: str
    round: int  # index of the round; its runs follow each other directly
    seed: int
    wall_seconds: float = 0.0  # whole command: edges to vectors
    cpu_seconds: float = 0.0  # user and system time of the command and all its descendants
    walk_seconds: float | None = None  # only walking, if the tool walks and the time is known
    peak_bytes: int = 0  # peak memory of the command and its descendants
    vectors: int = 0  # number of labelled nodes that have a vector
    quality: dict[str, float] = field(default_factory=dict)  # F1 scores by name
    error: str | None = None  # reason of a failure; all figures are then 0
    limit_seconds: float | None = None  # time limit, if the command reached it

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        return asdict(self)
