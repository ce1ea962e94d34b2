"""fastnode2vec as a command: ``python -m benchmarks.graphs.with_fastnode2vec``.

Its training threads walk, so the seconds spent walking are summed over the walks.
"""

import time
from typing import Any

import numpy as np

from benchmarks.graphs import adapter


def main() -> None:
    """Walk and train, and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    from fastnode2vec import Graph, Node2Vec

    class TimedGraph(Graph):
        """Graph that sums the seconds spent walking."""

        walk_seconds = 0.0

        def generate_random_walk(self, *args: Any) -> list[str]:
            """Return a walk, as fastnode2vec's graph does."""
            start = time.perf_counter()
            walk: list[str] = super().generate_random_walk(*args)
            self.walk_seconds += time.perf_counter() - start
            return walk

    edges = adapter.read_edges(args.edges)
    weighted_edges = ((a, b, float(weight)) for a, b, weight in edges)
    rows = weighted_edges if args.weighted else edges
    graph = TimedGraph(rows, directed=False, weighted=bool(args.weighted), verbose=False)
    np.random.seed(args.seed)  # the order of the start nodes
    model = Node2Vec(
        graph,
        args.vector_size,
        args.walk_length,
        args.window,
        p=args.p,
        q=args.q,
        workers=args.threads,
    )
    model.train(args.num_walks * args.epochs, verbose=False)
    model.wv.save_word2vec_format(args.vectors)
    adapter.done(graph.walk_seconds)


if __name__ == "__main__":
    main()
