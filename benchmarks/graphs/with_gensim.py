"""Our walks and gensim's Word2Vec: ``python -m benchmarks.graphs.with_gensim``."""

import time

from benchmarks.graphs import adapter


def main() -> None:
    """Walk, train, and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    from gensim.models import Word2Vec

    from gensim_tfw2v import RandomWalks

    start = time.perf_counter()
    walks = RandomWalks(
        args.edges,
        num_walks=args.num_walks,
        walk_length=args.walk_length,
        p=args.p,
        q=args.q,
        seed=args.seed,
    )
    sentences = list(walks)
    walk_seconds = time.perf_counter() - start
    model = Word2Vec(
        sentences,
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
