"""Random graphs, whose walks are drawn by a library compiled with sanitizers.

Run by ``sanitized_program.py``. The arrays have no spare room, so reading behind their ends is an
error.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from gensim_tfw2v.walks import walk_file, walk_shard
from gensim_tfw2v.walks.csr_graph import CsrGraph, Relations
from gensim_tfw2v.walks.metapaths import follow_relations
from gensim_tfw2v.walks.walk_file import WalkOptions

OPTIONS = [
    {},
    {"p": 0.1, "q": 10.0},
    {"p": 10.0, "q": 0.1, "restart": 0.3},
    {"p": 0.25, "q": 1.0, "is_fixed": True},
    {"p": 0.5, "q": 2.0, "extend": True},
]


def draw(graph, options, folder):
    """Return the number of steps of some walks, as nodes and as entries."""
    walk_file.write_walk_file(folder / "walks", graph, options)
    content = np.fromfile(folder / "walks", np.uint8)
    n_starts = graph.n_nodes if options.starts is None else len(options.starts)
    n_names = graph.n_nodes
    max_words = options.walk_length
    if graph.relations is not None:
        n_names += len(graph.relations.names)
        max_words = 2 * options.walk_length - 1
    nodes = walk_shard.draw_walks(content, 1, 3, 3 * n_starts, max_words)
    np.arange(n_names, dtype=np.int32)[::-1].tofile(folder / "walks.ids")
    shard = walk_shard.WalkShard(str(folder / "walks"), 9 * n_starts, 1, 1, 9 * n_starts, max_words)
    entries = shard.read(3, 3 + 3 * n_starts, 1)
    steps = nodes[nodes >= 0]
    assert (n_names - 1 - steps).tolist() == entries[entries >= 0].tolist()
    # content that is cut short or damaged is refused
    for damaged in (content[:100], content[:-8], np.roll(content, 1), np.zeros(8, np.uint8)):
        try:
            walk_shard.draw_walks(np.array(damaged), 0, 0, 1, max_words)
        except ValueError:
            continue
        raise AssertionError("a damaged file was accepted")
    return len(steps)


def draw_typed(draws, sources, targets, weights, folder):
    """Return the number of steps of walks with relations, and along metapaths of them."""
    n_nodes = int(max(sources.max(), targets.max())) + 1
    numbers = draws.integers(3, size=len(sources)).astype(np.int32)
    graph = CsrGraph.from_edges(
        range(n_nodes), sources, targets, weights, Relations(numbers, "xyz"), directed=True
    )
    n_steps = 0
    for options in (*OPTIONS, {"walk_length": 1}):
        some = WalkOptions(**{"walk_length": int(draws.integers(1, 30))} | options)
        n_steps += draw(graph, some, folder)
    relations = [graph.relations.names[number] for number in graph.relations.numbers]
    for metapath in (relations[:1], relations[:5]):
        followed = follow_relations(graph, metapath)
        for restart in (0.0, 0.3):
            some = WalkOptions(
                walk_length=int(draws.integers(1, 30)),
                restart=restart,
                starts=followed.starts,
                metapath=followed.steps,
            )
            n_steps += draw(followed.graph, some, folder)
    return n_steps


def main():
    draws = np.random.default_rng(1)
    n_steps = 0
    with tempfile.TemporaryDirectory() as folder:
        for n_nodes in (1, 2, 17, 300):
            for n_edges in (0, 1, 40, 2000):
                sources, targets = draws.integers(n_nodes, size=(2, n_edges))
                for weights in (None, draws.exponential(size=n_edges) + 1e-6):
                    graph = CsrGraph.from_edges(
                        range(n_nodes), sources, targets, weights,
                        directed=n_edges == 40, parallel=n_nodes == 17,
                    )  # fmt: skip
                    for options in OPTIONS:
                        some = WalkOptions(walk_length=int(draws.integers(1, 30)), **options)
                        starts = draws.integers(n_nodes, size=5).astype(np.int32)
                        for chosen in (some, replace(some, starts=starts)):
                            n_steps += draw(graph, chosen, Path(folder))
                    if n_edges:
                        n_steps += draw_typed(draws, sources, targets, weights, Path(folder))
    print(n_steps)


if __name__ == "__main__":
    main()
