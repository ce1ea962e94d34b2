"""Continue training what gensim has trained: a saved model, or vectors alone.

Run it with ``python examples/continue_gensim.py``; the corpus, 300 news texts, comes with gensim.
It prints class, number of words, and a neighbour of four models: one that gensim has trained on 200
texts; the same, trained on with the other 100, whose words it takes up; that one, saved and loaded
by gensim; and one that has gone on in the same way from a file of the first one's vectors alone.
"""

import tempfile
from pathlib import Path

from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec


def show(name: str, model: Word2Vec) -> None:
    """Print what a model is."""
    ((nearest, cosine),) = model.wv.most_similar("attacks", topn=1)
    print(
        f"{name}: {type(model).__name__}, {len(model.wv)} words, trained {model.train_count} "
        f"times, nearest to attacks: {nearest} {cosine:.2f}"
    )


def main() -> None:
    """Train with gensim, continue with TFWord2Vec, return to gensim; then from vectors alone."""
    texts = list(LineSentence(datapath("lee_background.cor")))
    first, new = texts[:200], texts[200:]
    options = {"vector_size": 50, "sg": 1, "workers": 1, "seed": 1}
    with tempfile.TemporaryDirectory() as folder:
        saved, vectors = Path(folder, "model"), Path(folder, "vectors.txt")

        old = Word2Vec(first, epochs=20, **options)
        show("gensim", old)
        old.save(str(saved))

        # a file of gensim's class gives a TFWord2Vec
        model = TFWord2Vec.load(str(saved))
        model.build_vocab(new, update=True)
        model.train(new, total_examples=model.corpus_count, epochs=20)
        show("went on", model)

        # to_gensim: a file that loads where this package is not installed
        model.to_gensim().save(str(saved))
        show("back", Word2Vec.load(str(saved)))

        # published vectors are in word2vec's format: the output layer starts from 0
        old.wv.save_word2vec_format(str(vectors))
        loaded = KeyedVectors.load_word2vec_format(str(vectors))
        model = TFWord2Vec.from_vectors(loaded, sg=1, workers=1, seed=1)
        model.partial_fit(new, epochs=20)
        show("vectors alone", model)


if __name__ == "__main__":
    main()
