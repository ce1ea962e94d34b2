"""Continue training a model from gensim, or from word vectors only.

Run it with ``python examples/continue_gensim.py``; the corpus, 300 news texts, comes with gensim.
It prints the class, the number of words, and a neighbour of four models:

- a model that gensim trained on 200 texts;
- the same model after further training on the remaining 100 texts, including their new words;
- that model, saved and loaded by gensim;
- a model trained on the remaining texts from only the first model's vectors.
"""

import tempfile
from pathlib import Path

from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec


def show(name: str, model: Word2Vec) -> None:
    """Print a model's class, size and nearest neighbour."""
    ((nearest, cosine),) = model.wv.most_similar("attacks", topn=1)
    print(
        f"{name}: {type(model).__name__}, {len(model.wv)} words, trained {model.train_count} "
        f"times, nearest to attacks: {nearest} {cosine:.2f}"
    )


def main() -> None:
    """Train with gensim, continue with TFWord2Vec, return to gensim; then use only vectors."""
    texts = list(LineSentence(datapath("lee_background.cor")))
    first_texts, new_texts = texts[:200], texts[200:]
    options = {"vector_size": 50, "sg": 1, "workers": 1, "seed": 1}
    with tempfile.TemporaryDirectory() as folder:
        model_path = Path(folder, "model")
        vectors_path = Path(folder, "vectors.txt")

        gensim_model = Word2Vec(first_texts, epochs=20, **options)
        show("gensim", gensim_model)
        gensim_model.save(str(model_path))

        # load() returns a TFWord2Vec, although gensim's class has saved the file.
        model = TFWord2Vec.load(str(model_path))
        model.build_vocab(new_texts, update=True)
        model.train(new_texts, total_examples=model.corpus_count, epochs=20)
        show("continued", model)

        # A file that to_gensim() saves can be loaded without this package.
        model.to_gensim().save(str(model_path))
        show("back", Word2Vec.load(str(model_path)))

        # Published vectors are often in word2vec's format. They have no output layer, so it
        # starts from 0.
        gensim_model.wv.save_word2vec_format(str(vectors_path))
        keyed_vectors = KeyedVectors.load_word2vec_format(str(vectors_path))
        model = TFWord2Vec.from_vectors(keyed_vectors, sg=1, workers=1, seed=1)
        model.partial_fit(new_texts, epochs=20)
        show("vectors only", model)


if __name__ == "__main__":
    main()
