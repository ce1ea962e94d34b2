"""gensim's Word2Vec as a command: ``python -m benchmarks.peers.with_gensim``."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers import adapter


def main() -> None:
    """Train, and write the vectors."""
    parser = adapter.parser(__doc__)
    parser.add_argument("--source", choices=("corpus_file", "iterable"), required=True)
    given = parser.parse_args()
    from gensim.models.word2vec import LineSentence, Word2Vec

    source: dict[str, Any] = {"corpus_file": given.corpus}
    if given.source == "iterable":
        source = {"corpus_iterable": LineSentence(given.corpus)}
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
    began = time.perf_counter()
    model.train(
        **source,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=model.epochs,
    )
    seconds = time.perf_counter() - began
    model.wv.save_word2vec_format(given.vectors)
    adapter.done(seconds)


if __name__ == "__main__":
    main()
