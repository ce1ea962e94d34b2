"""Cleora as a command: ``python -m benchmarks.graphs.with_pycleora``.

Cleora multiplies random vectors by the transition matrix, and so has neither walks nor p and q. The
command calls it as its documentation does, with its default number of iterations. It reads edges
with their nodes only: each line is a pair of nodes that occur together.
"""

from benchmarks.graphs import adapter

#: Column of Cleora's input: several nodes per line, related to each other.
COLUMNS = "complex::reflexive::node"


def main() -> None:
    """Compute and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    from pycleora import SparseMatrix, embed

    edges = (" ".join(columns[:2]) for columns in adapter.read_edges(args.edges))
    graph = SparseMatrix.from_iterator(edges, COLUMNS, num_workers=args.threads)
    vectors = embed(graph, args.vector_size, seed=args.seed, num_workers=args.threads)
    adapter.write_text(args.vectors, graph.entity_ids, vectors)


if __name__ == "__main__":
    main()
