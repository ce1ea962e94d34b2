"""PecanPy's walks and gensim's Word2Vec: ``python -m benchmarks.graphs.with_pecanpy``.

The command does what PecanPy's own command does, in the mode that the latter recommends for sparse
graphs, and measures the walks.
"""

import time

import numpy as np

from benchmarks.graphs import adapter

#: Names that NumPy 2 removed. The package nptyping, which PecanPy uses in annotations only, looks
#: them up when it is imported.
REMOVED_NAMES = """
bool8 object0 int0 uint0 float_ longfloat singlecomplex complex_ cfloat clongfloat longcomplex
void0 string_ bytes0 unicode_ str0
""".split()


def choose_mode(p: float, q: float, weighted: bool) -> str:
    """Return the name of PecanPy's class of walks for a sparse graph."""
    if p != 1 or q != 1:
        return "SparseOTF"
    return "PreCompFirstOrder" if weighted else "FirstOrderUnweighted"


def main() -> None:
    """Walk, train, and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    for name in REMOVED_NAMES:
        if not hasattr(np, name):
            setattr(np, name, np.generic)
    from gensim.models import Word2Vec
    from pecanpy import pecanpy

    walker = getattr(pecanpy, choose_mode(args.p, args.q, args.weighted))
    graph = walker(args.p, args.q, args.threads, random_state=args.seed)
    graph.read_edg(args.edges, args.weighted, directed=False)
    start = time.perf_counter()
    walks = graph.simulate_walks(args.num_walks, args.walk_length)
    walk_seconds = time.perf_counter() - start
    model = Word2Vec(
        walks,
        sg=1,
        vector_size=args.vector_size,
        window=args.window,
        min_count=0,
        epochs=args.epochs,
        workers=args.threads,
        seed=args.seed,
    )
    model.wv.save_word2vec_format(args.vectors)
    adapter.done(walk_seconds)


if __name__ == "__main__":
    main()
