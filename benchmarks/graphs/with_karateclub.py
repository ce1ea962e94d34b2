"""karateclub's Node2Vec as a command: ``python -m benchmarks.graphs.with_karateclub``.

karateclub needs the nodes 0 to n - 1, so the command numbers the nodes of the file. Its walks fail
on edges with weights, which are therefore left out.
"""

import time
from unittest import mock

from benchmarks.graphs import adapter


def main() -> None:
    """Walk, train, and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    import networkx
    from karateclub import Node2Vec
    from karateclub.utils.walker import BiasedRandomWalker

    class TimedWalker(BiasedRandomWalker):
        """Walker that measures all its walks."""

        seconds = 0.0

        def do_walks(self, graph: networkx.Graph) -> None:
            """Walk, as karateclub's walker does."""
            start = time.perf_counter()
            super().do_walks(graph)
            TimedWalker.seconds = time.perf_counter() - start

    edges = [columns[:2] for columns in adapter.read_edges(args.edges)]
    graph = networkx.Graph()
    graph.add_edges_from(edges)
    nodes = list(graph)
    model = Node2Vec(
        walk_number=args.num_walks,
        walk_length=args.walk_length,
        p=args.p,
        q=args.q,
        dimensions=args.vector_size,
        workers=args.threads,
        window_size=args.window,
        epochs=args.epochs,
        seed=args.seed,
    )
    walker = "karateclub.node_embedding.neighbourhood.node2vec.BiasedRandomWalker"
    with mock.patch(walker, TimedWalker):
        model.fit(networkx.convert_node_labels_to_integers(graph))
    adapter.write_text(args.vectors, nodes, model.get_embedding())
    adapter.done(TimedWalker.seconds)


if __name__ == "__main__":
    main()
