"""A gensim script that trains with TFWord2Vec: only the import of the class differs.

Run it with ``python examples/drop_in.py``; the corpus, 300 news articles, comes with gensim.
"""

from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec as Word2Vec  # was: from gensim.models import Word2Vec


def main() -> None:
    """Train skip-gram vectors on the Lee corpus and print the neighbours of three words."""
    sentences = LineSentence(datapath("lee_background.cor"))
    model = Word2Vec(sentences, vector_size=50, sg=1, min_count=5, epochs=20, workers=2, seed=1)
    for word in ("attacks", "government", "cricket"):
        neighbours = model.wv.most_similar(word, topn=5)
        print(
            f"{word}: " + ", ".join(f"{neighbour} {cosine:.2f}" for neighbour, cosine in neighbours)
        )


if __name__ == "__main__":
    main()
