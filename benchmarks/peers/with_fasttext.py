"""fastText as a command: ``python -m benchmarks.peers.with_fasttext``.

Its Python package reads, counts and trains in one call, so it reports no separate training time.
"""

import os

from benchmarks.peers import adapter
from gensim_tfw2v.processes.threads import usable_cores

#: Each of fastText's first ten threads initializes a tenth of the rows. With fewer threads, the
#: remaining rows are uninitialized memory, and training ends in "Encountered NaN" or with zeros.
MIN_THREADS = 10


def main() -> None:
    """Train, and write the vectors."""
    args = adapter.parser(__doc__).parse_args()
    import fasttext

    if hasattr(os, "sched_setaffinity"):  # more threads than asked for, but not more cores
        os.sched_setaffinity(0, usable_cores()[: args.threads])
    # train_unsupervised() has no seed argument, but uses these defaults
    fasttext.FastText.unsupervised_default["seed"] = args.seed
    model = fasttext.train_unsupervised(
        args.corpus,
        model="skipgram" if args.sg else "cbow",
        dim=args.vector_size,
        ws=args.window,
        loss="ns",
        neg=args.negative,
        t=args.sample,
        minCount=args.min_count,
        lr=args.alpha,
        epoch=args.epochs,
        thread=max(args.threads, MIN_THREADS),
        minn=0,
        maxn=0,  # no n-grams, so a word's vector is its row
        verbose=0,
    )
    rows = [(word, model.get_word_vector(word)) for word in model.words]
    adapter.write_text(args.vectors, args.vector_size, rows)


if __name__ == "__main__":
    main()
