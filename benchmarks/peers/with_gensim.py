"""gensim's Word2Vec as a command: ``python -m benchmarks.peers.with_gensim``."""

from benchmarks.one_run import text_source, train
from benchmarks.peers import adapter


def main() -> None:
    """Train, and write the vectors."""
    parser = adapter.parser(__doc__)
    parser.add_argument("--source", choices=("corpus_file", "iterable"), required=True)
    args = parser.parse_args()
    from gensim.models import Word2Vec

    source = text_source(args.corpus, args.source == "corpus_file")
    model = Word2Vec(
        sg=args.sg,
        vector_size=args.vector_size,
        window=args.window,
        negative=args.negative,
        sample=args.sample,
        min_count=args.min_count,
        alpha=args.alpha,
        epochs=args.epochs,
        workers=args.threads,
        seed=args.seed,
    )
    model.build_vocab(**source)
    seconds = train(model, source)
    model.wv.save_word2vec_format(args.vectors)
    adapter.done(seconds)


if __name__ == "__main__":
    main()
