"""gensim's Word2Vec as a command: ``python -m benchmarks.peers.with_gensim``."""

from benchmarks.one_run import text_source, train
from benchmarks.peers import adapter


def main() -> None:
    """Train, and write the vectors."""
    parser = adapter.parser(__doc__)
    parser.add_argument("--source", choices=("corpus_file", "iterable"), required=True)
    given = parser.parse_args()
    from gensim.models import Word2Vec

    source = text_source(given.corpus, given.source == "corpus_file")
    model = Word2Vec(
        sg=given.sg,
        vector_size=given.vector_size,
        window=given.window,
        negative=given.negative,
        sample=given.sample,
        min_count=given.min_count,
        alpha=given.alpha,
        epochs=given.epochs,
        workers=given.threads,
        seed=given.seed,
    )
    model.build_vocab(**source)
    seconds = train(model, source)
    model.wv.save_word2vec_format(given.vectors)
    adapter.done(seconds)


if __name__ == "__main__":
    main()
