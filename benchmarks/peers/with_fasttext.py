"""fastText as a command: ``python -m benchmarks.peers.with_fasttext``.

Its Python package reads, counts and trains in one call, so there are no seconds of training alone.
"""

from __future__ import annotations

from benchmarks.peers import adapter


def main() -> None:
    """Train, and write the vectors."""
    given = adapter.parser(__doc__).parse_args()
    import fasttext

    model = fasttext.train_unsupervised(
        given.corpus,
        model="skipgram" if given.sg else "cbow",
        dim=given.vector_size,
        ws=given.window,
        loss="ns",
        neg=given.negative,
        t=given.sample,
        minCount=given.min_count,
        lr=given.alpha,
        epoch=given.epochs,
        thread=given.threads,
        seed=given.seed,
        minn=0,
        maxn=0,  # no subwords: a word's vector is its row
        verbose=0,
    )
    rows = zip(model.words, model.get_input_matrix(), strict=False)
    adapter.write_text(given.vectors, given.vector_size, rows, len(model.words))


if __name__ == "__main__":
    main()
